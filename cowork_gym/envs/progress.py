"""How far an episode has come: everything about it that is not in the world, as one value."""

from dataclasses import dataclass

from cowork_gym.core.episode import Ending, Turn
from cowork_gym.core.errors import FaultRecord
from cowork_gym.core.grade import Grade
from cowork_gym.core.snapshot import Snapshot
from cowork_gym.core.task import Budgets

__all__ = ["Checkpoint", "Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an episode has come."""

    turns: tuple[Turn, ...] = ()
    calls: int = 0
    """Tool calls, refused ones included."""
    tokens: int = 0
    ending: Ending | None = None
    answer: str | None = None
    fault: FaultRecord | None = None
    grade: Grade | None = None

    @property
    def terminated(self) -> bool:
        """Whether the agent ended the episode with a final answer."""
        return self.ending is Ending.FINAL

    @property
    def truncated(self) -> bool:
        """Whether a budget or a fault cut the episode off."""
        return self.ending is not None and not self.terminated

    @property
    def invalid(self) -> int:
        """How many actions were refused as a whole."""
        return sum(turn.invalid is not None for turn in self.turns)

    def after(self, turn: Turn, budgets: Budgets, seconds: float) -> "Progress":
        """The progress after one more turn; a spent budget ends the episode."""
        calls, turns = self.calls + len(turn.dispatches), (*self.turns, turn)
        spent = (
            (Ending.TURNS, len(turns) >= budgets.turns), (Ending.CALLS, calls >= budgets.calls),
            (Ending.TOKENS, budgets.tokens is not None and self.tokens >= budgets.tokens),
            (Ending.SECONDS, budgets.seconds is not None and seconds >= budgets.seconds),
        )
        ending = next((ending for ending, over in spent if over), None)
        return Progress(turns, calls, self.tokens, ending, self.answer, self.fault, self.grade)


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """An environment at one moment: its world and its progress."""

    world: Snapshot
    progress: Progress
    seed: int
