"""Join: which of two customers is at risk, what their ticket is about, and which article says so."""

from random import Random

from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import Task
from cowork_gym.envs.micro.desk import Desk, draw_desk
from cowork_gym.envs.micro.work import Slip, Work, answered, called, changed, written

__all__ = ["form"]

_WORDINGS = (
    "Customer {a} or {b} is at risk. Find the article with the title of their ticket and set its id as resolution. Tell me the ticket id.",
    "Which of {a} and {b} is at risk? Resolution of their ticket: the id of the article with its title. Tell me the ticket id.",
    "One of {a} and {b} is at risk. Set the resolution of their ticket to the id of the article with its title. Tell me the ticket id.",
)


def form(task: Task, generator: Random) -> Task:
    """A form of the task."""
    desk = draw_desk(generator).bare("assigned_to", "customer_id")
    pair, risky, other = _arrange(desk, generator)
    first = [_look(pair[0])] if risky == pair[1] else []
    path, ticket, article = _path(desk, risky)
    strayed, stray_ticket, stray_article = _path(desk, other)
    checks, outcome = changed("0.5", ticket, resolution=article)
    wrong = next(key for key in desk.articles if key not in (article, stray_article))
    return written(task, desk, Work(
        generator.choice(_WORDINGS).format(a=pair[0], b=pair[1]), tuple(pair), (*first, *path), ticket,
        checks=(
            called("customer_read", "0.1", "crm_get_customer", customer_id=risky),
            called("ticket_read", "0.1", "helpdesk_get_ticket", ticket_id=ticket),
            called("article_found", "0.1", "kb_search", query=desk.tickets[ticket]["title"]),
            *checks, answered("id_told", "0.2", ticket),
        ),
        outcomes=(outcome,),
        slips=(
            Slip("wrong_customer", "The other customer's ticket is resolved.", tuple(strayed), stray_ticket, 0.0),
            Slip("wrong_article", "The article has another title.", (*first, *path[:-1], _resolve(ticket, wrong)), ticket, 0.2),
            Slip("only_says_so", "All is read and nothing changed.", (*first, *path[:-1]), ticket, 0.2),
        ),
    ))


def _arrange(desk: Desk, generator: Random) -> tuple[list[str], str, str]:
    """Two customers whose tickets have different titles, one of them at risk.

    Returns:
        Both as the request names them, the one at risk, and the other.
    """
    risky, other = generator.sample([*desk.customers], 2)
    desk.customers[risky]["status"] = "at_risk"
    titles = generator.sample([row["title"] for row in desk.articles.values()], 2)
    for customer, title in zip((risky, other), titles, strict=True):
        desk.tickets[desk.customers[customer]["ticket"]]["title"] = title
    return generator.sample([risky, other], 2), risky, other


def _path(desk: Desk, customer: str) -> tuple[list[ToolCall], str, str]:
    """The calls from a customer to their ticket's resolution, the ticket, and the article."""
    ticket = desk.customers[customer]["ticket"]
    title = desk.tickets[ticket]["title"]
    article = next(key for key, row in desk.articles.items() if row["title"] == title)
    read, search = ToolCall("helpdesk_get_ticket", {"ticket_id": ticket}), ToolCall("kb_search", {"query": title})
    return [_look(customer), read, search, _resolve(ticket, article)], ticket, article


def _look(customer: str) -> ToolCall:
    return ToolCall("crm_get_customer", {"customer_id": customer})


def _resolve(ticket: str, article: str) -> ToolCall:
    return ToolCall("helpdesk_update_ticket", {"ticket_id": ticket, "resolution": article})
