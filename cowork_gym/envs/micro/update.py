"""Update the right one: the ticket that the request describes, among those that look like it."""

from random import Random

from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import Task
from cowork_gym.envs.micro.desk import PRIORITIES, TEAMS, Desk, draw_desk
from cowork_gym.envs.micro.work import Slip, Work, answered, called, changed, written

__all__ = ["asked", "assigned", "form"]

_WORDINGS = (
    "Assign the {status} ticket with the {which} priority to {team}. Tell me its id.",
    "Of all {status} tickets give the one with the {which} priority to {team}. Tell me its id.",
    "Which {status} ticket has the {which} priority? Assign it to {team} and tell me its id.",
)
_ENDS = {"lowest": 0, "highest": -1}


def form(task: Task, generator: Random) -> Task:
    """A form of the task."""
    desk = draw_desk(generator).bare("customer_id")
    return written(task, desk, asked(desk, generator))


def asked(desk: Desk, generator: Random) -> Work:
    """The wish that one ticket goes to another team. The desk is arranged for it."""
    status, which = generator.choice(("open", "pending")), generator.choice([*_ENDS])
    team, target, rival = _arrange(desk, generator, status, which)
    listed = ToolCall("helpdesk_list_tickets", {"status": status})
    checks, outcome = changed("0.5", target, assigned_to=team)
    return Work(
        generator.choice(_WORDINGS).format(status=status, which=which, team=team), (), (listed, assigned(target, team)), target,
        checks=(called("queue_listed", "0.3", "helpdesk_list_tickets"), *checks, answered("id_told", "0.2", target)),
        outcomes=(outcome,),
        slips=(
            Slip("wrong_ticket", "Another ticket of that status is assigned.", (listed, assigned(rival, team)), rival, 0.12),
            Slip("only_says_so", "The ticket is found and not assigned.", (listed,), target, 0.2),
            Slip("both_tickets", "Another ticket is assigned as well.", (listed, assigned(target, team), assigned(rival, team)), target, 0.4),
        ),
    )


def assigned(ticket: str, team: str) -> ToolCall:
    """The call that gives a ticket to a team."""
    return ToolCall("helpdesk_update_ticket", {"ticket_id": ticket, "assigned_to": team})


def _arrange(desk: Desk, generator: Random, status: str, which: str) -> tuple[str, str, str]:
    """Two or three tickets of this status with different priorities.

    Returns:
        The team that none of them is with, the ticket that is meant, and another one.
    """
    chosen = generator.sample([*desk.tickets], generator.randint(2, 3))
    for row in desk.tickets.values():
        row["status"] = "resolved" if row["status"] == status else row["status"]
    team = generator.choice(TEAMS)
    teams = [one for one in TEAMS if one != team]
    for key, priority in zip(chosen, generator.sample(PRIORITIES, len(chosen)), strict=True):
        desk.tickets[key].update(status=status, priority=priority, assigned_to=generator.choice(teams))
    ranked = sorted(chosen, key=lambda one: PRIORITIES.index(desk.tickets[one]["priority"]))
    target = ranked[_ENDS[which]]
    return team, target, generator.choice([one for one in chosen if one != target])
