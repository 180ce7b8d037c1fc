"""A piece of work on a desk, before it becomes the form of a task: what is asked, how it is done, and how it goes wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from cowork_gym.core.messages import Message, ToolCall, final, message
from cowork_gym.core.task import Execution, PlannedFault, Task
from cowork_gym.envs.micro.desk import Desk

__all__ = ["Slip", "Work", "answered", "called", "changed", "untouched", "written"]


@dataclass(frozen=True, slots=True)
class Slip:
    """One wrong decision, played to the end with calls that are well formed."""

    name: str
    why: str
    calls: tuple[ToolCall, ...]
    answer: str
    most: float
    """What it may earn."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is asked, how it is done, and how it goes wrong."""

    request: str
    given: tuple[str, ...]
    """The ids that the request names."""
    calls: tuple[ToolCall, ...]
    answer: str
    checks: tuple[Mapping[str, Any], ...]
    outcomes: tuple[Mapping[str, Any], ...]
    slips: tuple[Slip, ...]
    """The first one is what a demonstrator does who errs."""
    forbidden: tuple[str, ...] = ()


def called(id: str, weight: str | None, tool: str, **arguments: Any) -> dict[str, Any]:
    """The check that a call was made; without a weight it is an outcome."""
    kind = {"kind": "tool_called_with", "tool": tool, "arguments": arguments} if arguments else {"kind": "tool_called", "tool": tool}
    return _weighed(id, weight, kind)


def answered(id: str, weight: str | None, answer: str) -> dict[str, Any]:
    """The check that the final answer is this text and nothing else."""
    return _weighed(id, weight, {"kind": "answer", "matches": {"text": answer}})


def untouched(*allowed: Mapping[str, Any]) -> dict[str, Any]:
    """The guardrail that nothing changes but what is allowed."""
    return {"id": "rest_unchanged", "kind": "unchanged", "allow": list(allowed)}


def changed(weight: str, ticket: str, **fields: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The checks that a ticket was changed so and nothing else was, and the outcome."""
    record = {"kind": "audit_record", "collection": "helpdesk.updated_tickets", "where": {"ticket_id": ticket, **fields}}
    allowed = {"table": "helpdesk.tickets", "key": ticket, "fields": [*fields]}
    state = {"kind": "row_state", "table": "helpdesk.tickets", "key": ticket, "fields": fields}
    return [_weighed("ticket_updated", weight, record), untouched(allowed)], {"id": "done", **state}


def written(task: Task, desk: Desk, work: Work, *, faults: Iterable[PlannedFault] = ()) -> Task:
    """The form of a task that asks for a piece of work.

    Args:
        task: The task, as its author wrote it.
        desk: The records.
        work: What is to be done with them.
        faults: Calls that fail by plan.
    """
    grading: dict[str, Any] = {"schema_version": 1, "checks": list(work.checks), "outcomes": list(work.outcomes)}
    if work.forbidden:
        grading["forbidden_tools"] = list(work.forbidden)
    return replace(
        task, request=work.request, given=work.given, faults=tuple(faults), world=desk.world(task.services), grading=grading,
        references=(Execution("straight", _actions(work.calls, work.answer)),),
        negatives=tuple(Execution(one.name, _actions(one.calls, one.answer), one.most, one.why) for one in work.slips),
    )


def _actions(calls: Iterable[ToolCall], answer: str) -> tuple[Message, ...]:
    return (*(message(None, one) for one in calls), final(answer))


def _weighed(id: str, weight: str | None, check: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": id, **check} if weight is None else {"id": id, "weight": Decimal(weight), **check}
