"""Look up: one field of one ticket or customer whose id the request names."""

from random import Random
from typing import NamedTuple

from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import Task
from cowork_gym.envs.micro.desk import TEAMS, Desk, Row, draw_desk
from cowork_gym.envs.micro.work import Slip, Work, answered, called, untouched, written

__all__ = ["asked", "form"]

_WORDINGS = (
    "What is the {field} of {noun} {key}? Answer with one word.", "Tell me the {field} of {noun} {key} in one word.",
    "Look up {noun} {key}. One word: what is its {field}?",
)


class _Noun(NamedTuple):
    tool: str
    fields: dict[str, str]
    """What the request says, and the field of the record."""


_NOUNS = {
    "ticket": _Noun("helpdesk_get_ticket", {
        "title": "title", "priority": "priority", "status": "status", "customer": "customer_id", "team": "assigned_to",
    }),
    "customer": _Noun("crm_get_customer", {"name": "name", "tier": "tier", "ticket": "ticket"}),
}


def form(task: Task, generator: Random) -> Task:
    """A form of the task."""
    desk = draw_desk(generator)
    return written(task, desk, asked(desk, generator, [*_NOUNS]))


def asked(desk: Desk, generator: Random, nouns: list[str]) -> Work:
    """A question about the desk, to which not all records give the same answer."""
    noun = generator.choice(nouns)
    rows, (tool, fields) = desk.tickets if noun == "ticket" else desk.customers, _NOUNS[noun]
    field = generator.choice([one for one, name in fields.items() if len({row[name] for row in rows.values()}) > 1])
    key, name = generator.choice([*rows]), fields[field]
    value, argument = rows[key][name], f"{noun}_id"
    other = generator.choice([one for one in rows if rows[one][name] != value])
    read, strayed = (ToolCall(tool, {argument: one}) for one in (key, other))
    wrong = _another(rows[key], value, generator)
    return Work(
        generator.choice(_WORDINGS).format(field=field, noun=noun, key=key), (key,), (read,), value,
        checks=(called("record_read", "0.3", tool, **{argument: key}), answered("value_told", "0.7", value), untouched()),
        outcomes=(called("looked_up", None, tool, **{argument: key}), answered("answered", None, value)),
        slips=(
            Slip("wrong_field", "Another field of the right record is told.", (read,), wrong, 0.12),
            Slip("wrong_record", "Another record is read, and its field told.", (strayed,), rows[other][name], 0.0),
            Slip("guesses", "Another record is read, and the value told by chance.", (strayed,), value, 0.28),
            Slip("meddles", "A ticket is assigned that nobody spoke of.", (read, _meddling(desk)), value, 0.4),
        ),
    )


def _meddling(desk: Desk) -> ToolCall:
    ticket, team = next((key, one) for key, row in desk.tickets.items() for one in TEAMS if one != row["assigned_to"])
    return ToolCall("helpdesk_update_ticket", {"ticket_id": ticket, "assigned_to": team})


def _another(row: Row, value: str, generator: Random) -> str:
    """The value of another field, the record's own id excepted."""
    own = next(iter(row.values()))
    return str(generator.choice([one for one in row.values() if one not in ("", value, own)]))
