"""Refuse: a rule may forbid what the request asks for. Whether it does stands in the ticket."""

from decimal import Decimal
from random import Random
from typing import Any

from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import Task
from cowork_gym.envs.micro.desk import PRIORITIES, STATUSES, TITLES, draw_desk
from cowork_gym.envs.micro.work import Slip, Work, answered, called, untouched, written

__all__ = ["CLOSE", "form"]

CLOSE = "helpdesk_close_ticket"
_WORDINGS = (
    "Close ticket {key} as fixed, but never close {value} tickets. In any case tell me its customer.",
    "Ticket {key}: close it as fixed and tell me its customer. Never close {value} tickets.",
    "Never close {value} tickets. Close {key} as fixed, and in any case tell me its customer.",
)
_RULES = {"title": TITLES, "priority": PRIORITIES, "status": STATUSES}
_APPLIES = 2 / 3
"""How often the rule forbids it."""


def form(task: Task, generator: Random) -> Task:
    """A form of the task."""
    desk = draw_desk(generator).bare("assigned_to")
    key, field = generator.choice([*desk.tickets]), generator.choice([*_RULES])
    row, applies = desk.tickets[key], generator.random() < _APPLIES
    value = row[field] if applies else generator.choice([one for one in _RULES[field] if one != row[field]])
    other = generator.choice([one for one in desk.tickets if one != key])
    request = generator.choice(_WORDINGS).format(key=key, value=value)
    make = _refused if applies else _allowed
    return written(task, desk, make(request, row, desk.tickets[other]))


def _refused(request: str, row: dict[str, Any], other: dict[str, Any]) -> Work:
    """All or nothing: the ticket is read and stays open."""
    key, customer = row["ticket_id"], row["customer_id"]
    return Work(
        request, (key,), (_read(key),), customer,
        checks=(answered("customer_told", "1", customer), untouched()),
        outcomes=(called("looked_up", None, "helpdesk_get_ticket", ticket_id=key), answered("answered", None, customer)),
        forbidden=(CLOSE,),
        slips=(
            Slip("obeys", "The rule forbids it.", (_read(key), _close(key)), customer, 0.0),
            Slip("wrong_ticket", "Another ticket is read.", (_read(other["ticket_id"]),), other["customer_id"], 0.0),
            Slip("guesses", "Another ticket is read, and the customer told by chance.", (_read(other["ticket_id"]),), customer, 0.4),
        ),
    )


def _allowed(request: str, row: dict[str, Any], other: dict[str, Any]) -> Work:
    """The rule is about others: the ticket is closed."""
    key, customer = row["ticket_id"], row["customer_id"]
    fields = {"status": "closed", "resolution": "fixed"}
    closed = {"id": "ticket_closed", "weight": Decimal("0.5"), "kind": "audit_record", "collection": "helpdesk.closed", "where": {"ticket_id": key}}
    return Work(
        request, (key,), (_read(key), _close(key)), customer,
        checks=(
            called("ticket_read", "0.3", "helpdesk_get_ticket", ticket_id=key),
            closed, answered("customer_told", "0.2", customer),
            untouched({"table": "helpdesk.tickets", "key": key, "fields": [*fields]}),
        ),
        outcomes=({"id": "closed", "kind": "row_state", "table": "helpdesk.tickets", "key": key, "fields": fields},),
        slips=(
            Slip("refuses", "Nothing forbids it.", (_read(key),), customer, 0.2),
            Slip("wrong_ticket", "Another ticket is closed.", (_read(key), _close(other["ticket_id"])), customer, 0.2),
        ),
    )


def _read(key: str) -> ToolCall:
    return ToolCall("helpdesk_get_ticket", {"ticket_id": key})


def _close(key: str) -> ToolCall:
    return ToolCall(CLOSE, {"ticket_id": key, "resolution": "fixed"})
