"""A desk of a few records, drawn anew for each form. An id is a letter and two digits, and words come from short lists."""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

__all__ = ["PRIORITIES", "STATUSES", "TEAMS", "TITLES", "Desk", "Row", "draw_desk", "draw_ids"]

Row = dict[str, Any]
"""A record, as its author would write it."""

TITLES = ("access", "billing", "export", "login", "mobile", "sync")
PRIORITIES = ("low", "medium", "high", "critical")
"""From the lowest to the highest."""
STATUSES = ("open", "pending", "resolved")
TEAMS = ("ops", "sales", "web")
_TIERS = ("basic", "plus", "gold")
_NAMES = ("Ada", "Ben", "Eva", "Ian", "Leo", "Mia")


class Desk(NamedTuple):
    """The records by their ids. Every customer has a ticket of their own, and every title an article."""

    tickets: dict[str, Row]
    customers: dict[str, Row]
    articles: dict[str, Row]

    def bare(self, *fields: str) -> "Desk":
        """The desk without fields of tickets that a task does not ask for: what is read is shorter."""
        return self._replace(tickets={key: {name: one for name, one in row.items() if name not in fields} for key, row in self.tickets.items()})

    def world(self, services: Sequence[str]) -> dict[str, dict[str, list[Row]]]:
        """The records of some services, as a package has them."""
        records = {"crm": {"customers": self.customers}, "helpdesk": {"tickets": self.tickets}, "kb": {"articles": self.articles}}
        return {service: {name: [*rows.values()] for name, rows in records[service].items()} for service in services}


def draw_ids(letter: str, count: int, generator: Random) -> list[str]:
    """Different ids such as T57."""
    return [f"{letter}{number}" for number in generator.sample(range(10, 100), count)]


def draw_desk(generator: Random) -> Desk:
    """A desk of four or five tickets, as many customers, and three articles."""
    count = generator.randint(4, 5)
    tickets, people = draw_ids("T", count, generator), draw_ids("C", count, generator)
    titles, names = generator.sample(TITLES, 3), generator.sample(_NAMES, count)
    return Desk(
        {key: {
            "ticket_id": key, "title": generator.choice(titles), "description": "", "customer_id": owner, "priority": generator.choice(PRIORITIES),
            "status": generator.choice(STATUSES), "assigned_to": generator.choice(TEAMS),
        } for key, owner in zip(tickets, people, strict=True)},
        {key: {"customer_id": key, "name": name, "tier": generator.choice(_TIERS), "status": "active", "ticket": ticket}
         for key, name, ticket in zip(people, names, tickets, strict=True)},
        {key: {"article_id": key, "title": title, "content": ""} for key, title in zip(draw_ids("K", len(titles), generator), titles, strict=True)},
    )
