"""How far an episode has come: everything about it that is not in the world, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cowork_gym.core.episode import Ending, Episode, StageEnd, Turn
from cowork_gym.core.errors import FaultRecord
from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import Message
from cowork_gym.core.snapshot import Snapshot
from cowork_gym.core.task import Budgets
from cowork_gym.core.trajectory import ROOT

__all__ = ["Checkpoint", "Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an episode has come."""

    turns: tuple[Turn, ...] = ()
    own: int = 0
    """Of the turns, those of the root run."""
    calls: int = 0
    """Tool calls, refused ones included."""
    invalid: int = 0
    """Actions that were refused as a whole."""
    tokens: int = 0
    attributed: int = 0
    """Of the tokens, those that the turns so far account for, the ones that were begun included."""
    ending: Ending | None = None
    answer: str | None = None
    fault: FaultRecord | None = None
    stages: tuple[StageEnd, ...] = ()
    """The parts of the task that were closed, the last one excepted."""
    record: Episode | None = None
    """The sealed and graded episode, once it has ended."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The root run's conversation so far, without the request."""
        return tuple([message for turn in self.turns if turn.run == ROOT for message in (turn.said, *turn.observation)])

    @property
    def terminated(self) -> bool:
        """Whether the agent ended the episode with a final answer."""
        return self.ending is Ending.FINAL

    @property
    def truncated(self) -> bool:
        """Whether a budget or a fault cut the episode off."""
        return self.ending is not None and not self.terminated

    @property
    def grade(self) -> Grade | None:
        """What the episode earned, once it has ended."""
        return self.record.grade if self.record else None

    def after(self, turn: Turn, budgets: Budgets, seconds: float) -> "Progress":
        """The progress after one more turn; a spent budget ends the episode."""
        calls, turns = self.calls + len(turn.dispatches), (*self.turns, turn)
        own = self.own + (turn.run == ROOT)
        spent = (
            (Ending.TURNS, own >= budgets.turns), (Ending.CALLS, calls >= budgets.calls),
            (Ending.TOKENS, budgets.tokens is not None and self.tokens >= budgets.tokens),
            (Ending.SECONDS, budgets.seconds is not None and seconds >= budgets.seconds),
        )
        ending = self.ending or next((ending for ending, over in spent if over), None)  # a child's turn may have ended it
        invalid = self.invalid + (turn.invalid is not None)
        return replace(self, turns=turns, own=own, calls=calls, invalid=invalid, ending=ending)


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """An environment at one moment."""

    release_id: str
    """Of the task."""
    world: Snapshot
    """Its seed included."""
    progress: Progress
    agent: str
    seconds: float
    """Wall time since the reset."""
    generator: Mapping[str, Any] | None
    """State of the generator from which unseeded resets draw; None when there is none yet."""
