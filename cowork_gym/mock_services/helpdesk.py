"""The helpdesk: a queue of support tickets."""

from typing import ClassVar, Literal, NotRequired

from typing_extensions import TypedDict

from cowork_gym.mock_services.kit import Caseless, Effect, ErrorKind, Field, Labels, Record, Service, ToolError, View, given, summary, tool
from cowork_gym.mock_services.kit.types import Text

__all__ = ["Helpdesk", "Priority", "Status", "Ticket", "TicketChanged", "TicketClosed", "TicketList", "TicketSummary"]

Priority = Literal["low", "medium", "high", "critical"]
"""How urgent a ticket is."""
Status = Literal["open", "in_progress", "investigating", "pending", "resolved"]
"""What a ticket may be set to; it is closed by a tool of its own."""


class Ticket(Record, table=True):
    """A support ticket."""

    stamps: ClassVar = frozenset({"updated_at"})
    ticket_id: str = Field(primary_key=True)
    title: str
    description: str
    reporter: str | None = None
    department: str | None = None
    customer_id: str | None = None
    priority: str = Field(default="medium", sa_type=Caseless)
    status: str = Field(default="open", sa_type=Caseless)
    category: str | None = Field(default=None, sa_type=Caseless)
    tags: list[str] | None = Field(default=None, sa_type=Labels)
    assigned_to: str | None = None
    resolution: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class TicketSummary(TypedDict):
    """What the list shows of a ticket."""

    ticket_id: str
    title: str
    reporter: NotRequired[str]
    department: NotRequired[str]
    priority: str
    status: str
    created_at: NotRequired[str]


class TicketList(TypedDict):
    """Tickets, ordered by id."""

    tickets: list[TicketSummary]
    total: int


class TicketChanged(TypedDict):
    """A ticket after an update."""

    status: Literal["updated"]
    ticket: View


class TicketClosed(TypedDict):
    """A ticket after it was closed."""

    status: Literal["closed"]
    ticket: View


class Helpdesk(Service):
    """Support desk: tickets with priority, category, tags, assignment and resolution."""

    name = "helpdesk"
    tables = (Ticket,)

    @tool(Effect.READ)
    def list_tickets(self, status: Text = "open", priority: Priority | None = None, category: Text | None = None) -> TicketList:
        """List tickets in short form, ordered by id: the open ones unless another status is given. Several filters must all hold.

        Filters match a whole value in any case. helpdesk_get_ticket has description, customer, tags and every other field.

        Args:
            status: Only tickets with this status, such as open, resolved or closed; all for every status.
            priority: Only tickets of this priority.
            category: Only tickets of this category.
        """
        wanted = given(status=None if status.lower() == "all" else status, priority=priority, category=category)
        rows = self.store.find(Ticket, **wanted)
        return {"tickets": [summary(TicketSummary, Ticket.shown(row)) for row in rows], "total": len(rows)}

    @tool(Effect.READ)
    def get_ticket(self, ticket_id: str) -> View:
        """Get one ticket with every field on record.

        Args:
            ticket_id: The ticket's id, as helpdesk_list_tickets gives it.
        """
        return Ticket.shown(self.store.get(Ticket, ticket_id))

    @tool(Effect.WRITE, audit="updated_tickets")
    def update_ticket(
        self, ticket_id: str, priority: Priority | None = None, tags: list[Text] | None = None, category: Text | None = None,
        assigned_to: Text | None = None, status: Status | None = None, resolution: Text | None = None,
    ) -> TicketChanged:
        """Change a ticket. What is not given stays as it is; at least one change must be given. helpdesk_close_ticket closes a ticket.

        Args:
            ticket_id: The ticket to change.
            priority: The new priority.
            tags: The new tags, in place of all present ones; an empty list removes them.
            category: The new category.
            assigned_to: The person or team who takes the ticket.
            status: The new status. A closed ticket is opened again by any of them.
            resolution: How the problem was, or is to be, solved; in place of the present text.

        Raises:
            ToolError: There is no such ticket, or no change was given.
        """
        changes = given(priority=priority, tags=tags, category=category, assigned_to=assigned_to, status=status, resolution=resolution)
        if not changes:
            raise ToolError("nothing to change: give at least one of priority, tags, category, assigned_to, status, resolution")
        ticket = Ticket.shown(self.store.update(Ticket, ticket_id, **changes, updated_at=self.stamp))
        self.audit(ticket)
        return {"status": "updated", "ticket": ticket}

    @tool(Effect.WRITE, audit="closed")
    def close_ticket(self, ticket_id: str, resolution: Text) -> TicketClosed:
        """Close a ticket with its resolution. A ticket that is closed already is left as it is, and the call fails.

        Args:
            ticket_id: The ticket to close.
            resolution: How the problem was solved.

        Raises:
            ToolError: There is no such ticket, or it is closed.
        """
        if self.store.get(Ticket, ticket_id).status.lower() == "closed":
            raise ToolError(f"Ticket {ticket_id} is closed already", ErrorKind.CONFLICT)
        ticket = Ticket.shown(self.store.update(Ticket, ticket_id, status="closed", resolution=resolution, updated_at=self.stamp))
        self.audit(ticket)
        return {"status": "closed", "ticket": ticket}
