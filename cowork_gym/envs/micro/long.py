"""A long way: a chain of tickets, each of which names the next; at its end one from the beginning is needed again."""

from random import Random

from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import Task
from cowork_gym.envs.micro.desk import PRIORITIES, TEAMS, TITLES, Desk, Row, draw_ids
from cowork_gym.envs.micro.update import assigned
from cowork_gym.envs.micro.work import Slip, Work, answered, called, changed, written

__all__ = ["END", "form"]

END = "none"
"""What the last ticket of the chain has for its next one."""
_WORDINGS = (
    "Begin with ticket {key} and go on to its next ticket until there is none. Assign the one with the most hours to {team}. Tell me its id.",
    "From ticket {key} follow next until it is none. Give the ticket with the most hours to {team} and tell me its id.",
)
_LENGTH = (10, 14)
_EARLY = 4
"""One of so many first tickets is the one that is needed at the end."""
_ASIDE = 2
"""Tickets that are not of the chain."""
_MOST = 9


def form(task: Task, generator: Random) -> Task:
    """A form of the task."""
    team = generator.choice(TEAMS)
    count = generator.randint(*_LENGTH)
    ids = draw_ids("T", count + _ASIDE, generator)
    chain, at = ids[:count], generator.randrange(1, _EARLY)
    rows = _rows(ids, chain, at, generator)
    target, second = chain[at], max((one for one in chain if one != chain[at]), key=lambda one: int(rows[one]["hours"]))
    reads = tuple(ToolCall("helpdesk_get_ticket", {"ticket_id": one}) for one in chain)
    checks, outcome = changed("0.5", target, assigned_to=team)
    middle, end = chain[count // 2], chain[-1]
    return written(task, Desk(rows, {}, {}), Work(
        generator.choice(_WORDINGS).format(key=chain[0], team=team), (chain[0],), (*reads, assigned(target, team)), target,
        checks=(
            called("middle_read", "0.15", "helpdesk_get_ticket", ticket_id=middle), called("end_read", "0.15", "helpdesk_get_ticket", ticket_id=end),
            *checks, answered("id_told", "0.2", target),
        ),
        outcomes=(outcome, called("followed", None, "helpdesk_get_ticket", ticket_id=end)),
        slips=(
            Slip("wrong_ticket", "Another one of the chain is assigned.", (*reads, assigned(second, team)), second, 0.12),
            Slip("stops_early", "The chain is not followed to its end.", (*reads[: count // 2 + 1], assigned(target, team)), target, 0.34),
            Slip("only_says_so", "The ticket is found and not assigned.", reads, target, 0.2),
        ),
    ))


def _rows(ids: list[str], chain: list[str], at: int, generator: Random) -> dict[str, Row]:
    """The tickets. The one of the chain at this place has the most hours; those aside may have more."""
    most = generator.randint(4, _MOST)
    following = dict(zip(chain, [*chain[1:], END], strict=True))
    rows = {key: {
        "ticket_id": key, "title": generator.choice(TITLES), "description": "", "priority": generator.choice(PRIORITIES),
        "status": "open", "hours": generator.randint(1, most - 1), "next": following.get(key, END),
    } for key in ids}
    for key in ids[len(chain) :]:
        rows[key]["hours"] = _MOST
    rows[chain[at]]["hours"] = most
    return rows
