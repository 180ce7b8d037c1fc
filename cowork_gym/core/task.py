"""A task: a frozen, versioned, content-hashed contract with a public and a private half."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from cowork_gym.core.canonical import digest
from cowork_gym.core.messages import Message

__all__ = ["Budgets", "Execution", "Task"]


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
    capabilities: tuple[str, ...] = ()
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
    references: tuple[Execution, ...] = field(default=(), repr=False)
    """Private: executions that earn 1.0 through the public tools."""
    negatives: tuple[Execution, ...] = field(default=(), repr=False)
    """Private: executions that must earn less, each with its bound."""

    @cached_property
    def release_id(self) -> str:
        """A hash over everything that decides the outcome, tool schemas and grader version included."""
        budgets = [self.budgets.turns, self.budgets.calls, self.budgets.tokens, self.budgets.seconds]
        decides = {
            "id": self.id, "version": self.version, "request": self.request, "mock_today": self.mock_today.isoformat(),
            "services": self.services, "tools": self.tools, "budgets": budgets, "world": self.world, "files": self.files,
            "contracts": self.contracts, "grading": self.grading, "grader_version": self.grader_version,
        }
        return f"{self.id}@{self.version}:{digest(decides)[:16]}"
