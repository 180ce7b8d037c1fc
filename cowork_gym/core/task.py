"""A task: a frozen, versioned, content-hashed contract with a public and a private half."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Literal

from cowork_gym.core.canonical import digest
from cowork_gym.core.messages import Message
from cowork_gym.core.structure import Structure

__all__ = ["Budgets", "Execution", "PlannedFault", "Stage", "Task", "WorldChange"]


@dataclass(frozen=True, slots=True)
class Budgets:
    """Where an episode is cut off. The episode is then truncated, not terminated."""

    turns: int = 40
    """Assistant messages, invalid ones included."""
    calls: int = 100
    """Tool calls, refused ones included."""
    tokens: int | None = None
    """Tokens that the policy produced, as the harness reports them."""
    seconds: float | None = None
    """Wall time since reset."""


@dataclass(frozen=True, slots=True)
class Execution:
    """A recorded way through a task: a reference, or a negative with its bound."""

    name: str
    actions: tuple[Message, ...]
    """Assistant messages in order; the last one is the final answer, if there is one."""
    max_reward: float | None = None
    """For a negative: the reward that it must stay at or under."""
    why: str = ""
    """For a negative: what it does wrong."""


@dataclass(frozen=True, slots=True)
class WorldChange:
    """One thing that happens to the world without the agent's doing."""

    op: Literal["insert", "update", "delete"]
    table: str
    """Such as `crm.customers`, or `workspace.files`."""
    key: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The whole record, or the fields that change; empty for a deletion."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A later part of a task: a new day, a new request, and what happened in between."""

    day: date
    """It begins at nine in the morning of this day, or at once when the work has taken longer."""
    request: str
    """What the user says then."""
    changes: tuple[WorldChange, ...] = ()
    """What has changed in the world; what the request does not tell of is a silent change."""


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A call that fails by plan."""

    tool: str
    call: int
    """Which of the tool's executed calls, from 1."""
    kind: Literal["timeout_before", "timeout_after", "transient", "rate_limit"]
    """After: the call does its work, and its answer is lost. The others do nothing."""


@dataclass(frozen=True, eq=False)
class Task:
    """A frozen contract. The policy sees the public half: request, visible world, tools and budgets."""

    id: str
    """Such as `M1100`; the environment's id is `cowork/<id up to the first underscore>-v<n>`."""
    version: int
    title: str
    request: str
    """What the user asks for: the first message of an episode."""
    mock_today: date
    services: tuple[str, ...]
    tools: tuple[str, ...]
    budgets: Budgets = Budgets()
    category: str = "general"
    difficulty: str = ""
    language: str = "en"
    structure: Structure = field(default_factory=Structure)
    given: tuple[str, ...] = ()
    """Identifiers that the request may name."""
    notes: str = ""
    world: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] = field(default_factory=dict, repr=False)
    """Records by service and collection, as their author wrote them."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The workspace, by path."""
    contracts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The permitted tools' schemas, by tool name."""
    grading: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Private: the grading contract, which the graders parse."""
    grader_version: str = ""
    stages: tuple[Stage, ...] = field(default=(), repr=False)
    """What follows the first request, in order."""
    faults: tuple[PlannedFault, ...] = field(default=(), repr=False)
    dialogue: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Private: what the user knows and how they answer, which `envs.dialogue` parses. Empty when nobody answers."""
    variation: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Private: what seeds vary, which `envs.variation` parses. Empty when every seed has the same world."""
    references: tuple[Execution, ...] = field(default=(), repr=False)
    """Private: executions that earn 1.0 through the public tools."""
    negatives: tuple[Execution, ...] = field(default=(), repr=False)
    """Private: executions that must earn less, each with its bound."""
    variant: int = 0
    """The seed whose form this is; 0 is the form that its author wrote."""
    base: "Task | None" = field(default=None, repr=False)
    """The task that this is a form of; None for the one that its author wrote."""

    @property
    def instance_id(self) -> str:
        """The release and, for another form than the author's, its seed."""
        return f"{self.release_id}#{self.variant}" if self.base else self.release_id

    @cached_property
    def release_id(self) -> str:
        """A hash over everything that decides the outcome, tool schemas and grader version included; equal for all forms of a task."""
        if self.base is not None:
            return self.base.release_id
        budgets = [self.budgets.turns, self.budgets.calls, self.budgets.tokens, self.budgets.seconds]
        decides = {
            "id": self.id, "version": self.version, "request": self.request, "mock_today": self.mock_today.isoformat(),
            "services": self.services, "tools": self.tools, "budgets": budgets, "world": self.world, "files": self.files,
            "contracts": self.contracts, "grading": self.grading, "grader_version": self.grader_version,
            "stages": [{**asdict(one), "day": one.day.isoformat()} for one in self.stages], "faults": [asdict(one) for one in self.faults],
            "dialogue": self.dialogue, "variation": self.variation,
        }
        return f"{self.id}@{self.version}:{digest(decides)[:16]}"
