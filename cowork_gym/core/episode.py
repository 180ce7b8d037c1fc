"""One attempt as a value: what was said, what was dispatched, what the world became. `record` has its file form."""

from dataclasses import dataclass, replace
from enum import StrEnum

from cowork_gym.core.errors import FaultRecord
from cowork_gym.core.grade import Grade
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import Message
from cowork_gym.core.snapshot import Change

__all__ = ["SCHEMA_VERSION", "Dispatch", "Ending", "Episode", "StageEnd", "Turn"]

SCHEMA_VERSION = 0
"""Of an episode: one run of one segment."""


class Ending(StrEnum):
    """Why an episode ended."""

    FINAL = "final"
    TURNS = "turns"
    CALLS = "calls"
    TOKENS = "tokens"
    SECONDS = "seconds"
    FAULT = "fault"
    STOPPED = "stopped"
    """The caller ended it."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One tool call as it was dispatched, whether or not it reached a service."""

    id: str
    """Unique in the episode; the call's own id where that is free."""
    tool: str
    status: int
    """HTTP status of the answer; 400 and above counts as an error for robustness."""
    result: str
    """What the agent read: JSON text."""
    sequence: int | None = None
    """The ledger entry, or None when the call was refused at the door."""
    replayed: bool = False
    """Whether the call was a retry, so that the recorded result was returned and nothing was executed."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One assistant message and what came back."""

    index: int
    action: Message | None
    """None when what the agent sent was no message at all."""
    observation: tuple[Message, ...]
    dispatches: tuple[Dispatch, ...] = ()
    invalid: str | None = None
    """Why the action was refused as a whole."""
    raw: str | None = None
    """What the agent sent in place of a message, as text."""
    tokens: int = 0
    """Tokens that the policy produced for it."""
    heard: tuple[str, ...] = ()
    """Facts that the user's reply revealed, by id."""

    @property
    def said(self) -> Message:
        """The action as a message: what was no message is its text."""
        return self.action or Message("assistant", self.raw or "")


@dataclass(frozen=True, slots=True)
class StageEnd:
    """How things stood when a part of a task was closed, just before the world moved on."""

    turns: int
    """Turns until then."""
    entries: int
    """Ledger entries until then."""
    answer: str | None
    """The message that closed it."""
    changes: tuple[Change, ...]
    """Every row that differed from the first state."""
    fingerprint: str
    """Of the state."""


@dataclass(frozen=True)
class Episode:
    """One attempt: one run of one segment, in schema version `SCHEMA_VERSION`."""

    task: str
    release_id: str
    seed: int
    agent: str
    opening: tuple[Message, ...]
    """What `reset` showed: the request."""
    turns: tuple[Turn, ...]
    ledger: Ledger
    changes: tuple[Change, ...]
    """Every row that differs between the first and the last state."""
    start: str
    """Fingerprint of the first state."""
    end: str
    """Fingerprint of the last state."""
    ending: Ending
    answer: str | None = None
    """The final answer; None when the episode was cut off before one."""
    fault: FaultRecord | None = None
    grade: Grade | None = None
    stages: tuple[StageEnd, ...] = ()
    """The parts that were closed, except the last one, which the episode itself ends."""

    @property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """Every dispatch, in order."""
        return tuple(one for turn in self.turns for one in turn.dispatches)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, request first."""
        flow = [*self.opening]
        for turn in self.turns:
            flow += [turn.said, *turn.observation]
        return tuple(flow)

    def with_grade(self, grade: Grade) -> "Episode":
        """The episode with its grade, which stands outside the seal."""
        return replace(self, grade=grade)
