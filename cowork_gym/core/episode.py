"""One attempt as a value: what was said, what was dispatched, what the world became. `record` has its file form."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from cowork_gym.core.errors import FaultRecord
from cowork_gym.core.grade import Grade
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import Message
from cowork_gym.core.snapshot import Change
from cowork_gym.core.task import Budgets
from cowork_gym.core.trajectory import ROOT, Composition, Origin, PolicyCard, Run

__all__ = ["FIRST_VERSION", "SCHEMA_VERSION", "Dispatch", "Ending", "Episode", "StageEnd", "Turn"]

SCHEMA_VERSION = 1
"""Of an episode as it is made now."""
FIRST_VERSION = 0
"""The oldest that is still read: one run of one segment, without a harness, tokens and the states between turns."""


class Ending(StrEnum):
    """Why an episode ended."""

    FINAL = "final"
    TURNS = "turns"
    CALLS = "calls"
    TOKENS = "tokens"
    SECONDS = "seconds"
    COST = "cost"
    CONTEXT = "context"
    """The conversation no longer fits into the model's context."""
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
    inner: bool = False
    """Whether the harness answered the call itself, so that it has no ledger entry."""


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
    run: int = ROOT
    """The run that took it."""
    state: str = ""
    """Fingerprint of the world after it; empty where no harness recorded it."""

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
    """One attempt: what the world saw of it, and in `runs` what the policy saw of it."""

    task: str
    release_id: str
    seed: int
    agent: str
    opening: tuple[Message, ...]
    """What `reset` showed: the request."""
    turns: tuple[Turn, ...]
    """In the order in which they were completed, those of child runs among them."""
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
    schema_version: int = SCHEMA_VERSION
    budgets: Budgets = field(default_factory=Budgets)
    """Where it would have been cut off."""
    policy: PolicyCard | None = None
    """Who played, as the harness knows it; None when no harness did."""
    composition: Composition | None = None
    """The harness; None when none did."""
    runs: tuple[Run, ...] = ()
    """The root run and its children, by number; empty when no harness recorded them."""
    origin: Origin | None = None
    """For an episode that was branched from another one."""

    @property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """Every dispatch, in order."""
        return tuple(one for turn in self.turns for one in turn.dispatches)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The root run's conversation as the environment had it, request first."""
        flow = [*self.opening]
        for turn in self.turns:
            if turn.run == ROOT:
                flow += [turn.said, *turn.observation]
        return tuple(flow)

    def with_grade(self, grade: Grade) -> "Episode":
        """The episode with its grade, which stands outside the seal."""
        return replace(self, grade=grade)
