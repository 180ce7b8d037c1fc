"""The directory: people of the company and of its partners, and short messages to them."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, NotRequired
from unicodedata import combining, normalize

from pydantic import Field as Bounds
from typing_extensions import TypedDict

from cowork_gym.mock_services.kit import Caseless, Effect, ErrorKind, Field, Record, Service, ToolError, View, given, summary, tool
from cowork_gym.mock_services.kit.types import Text

__all__ = [
    "Contact", "ContactChanged", "ContactList", "ContactSummary", "Contacts", "ContactsFound", "Email", "Message", "MessageSent", "Status",
]

Email = Annotated[str, Bounds(pattern=r"^[^\s<>@,]+@[^\s<>@,]+$", examples=["ann@example.com"])]
"""One bare mail address."""
Status = Literal["active", "left"]
"""Whether somebody is still there."""
_SEARCHED = ("contact_id", "name", "email", "phone", "title", "department", "company")


class Contact(Record, table=True):
    """A person."""

    stamps: ClassVar = frozenset({"updated_at"})
    contact_id: str = Field(primary_key=True)
    name: str
    email: str | None = None
    phone: str | None = None
    department: str | None = Field(default=None, sa_type=Caseless)
    title: str | None = None
    company: str | None = None
    manager: str | None = None
    location: str | None = None
    notes: str | None = None
    status: str = Field(default="active", sa_type=Caseless)
    updated_at: str | None = None


class Message(Record, table=True):
    """A message that was sent to somebody."""

    message_id: str = Field(primary_key=True)
    contact_id: str
    message: str
    timestamp: str


class ContactSummary(TypedDict):
    """What the list shows of a person."""

    contact_id: str
    name: str
    title: NotRequired[str]
    department: NotRequired[str]
    company: NotRequired[str]
    email: NotRequired[str]
    status: str


class ContactList(TypedDict):
    """People in short form, ordered by id."""

    contacts: list[ContactSummary]
    total: int


class ContactsFound(TypedDict):
    """People with every field, ordered by id."""

    contacts: list[View]
    total: int


class ContactChanged(TypedDict):
    """A person's record after an update."""

    status: Literal["updated"]
    contact: View


class MessageSent(TypedDict):
    """A message that went out."""

    status: Literal["sent"]
    record: View


class Contacts(Service):
    """Directory: people with department, title, company and manager, and messages to them."""

    name = "contacts"
    tables = (Contact, Message)
    aliases: ClassVar = {"messages": "sent_messages"}

    @tool(Effect.READ)
    def search(self, query: Text, department: Text | None = None) -> ContactsFound:
        """Find people by parts of their name, mail address, phone, title, department, company or id. Each has every field on record.

        Every word of the query must occur in one of these, in any case, with or without accents. People who have left are found too.

        Args:
            query: Words or parts of words, such as a first name.
            department: Only people of this department; the whole name, in any case.

        Raises:
            ToolError: The query has no word.
        """
        words = _folded(query).split()
        if not words:
            raise ToolError("the query has no word to search for; contacts_list lists everybody")
        rows = [row for row in self.store.find(Contact, **given(department=department)) if _has(row, words)]
        return {"contacts": [Contact.shown(row) for row in rows], "total": len(rows)}

    @tool(Effect.READ)
    def list(self, department: Text | None = None) -> ContactList:
        """List everybody in short form, ordered by id, those who have left included. contacts_get has phone, manager and notes.

        Args:
            department: Only people of this department; the whole name, in any case.
        """
        rows = self.store.find(Contact, **given(department=department))
        return {"contacts": [summary(ContactSummary, Contact.shown(row)) for row in rows], "total": len(rows)}

    @tool(Effect.READ)
    def get(self, contact_id: str) -> View:
        """Get one person with every field on record.

        Args:
            contact_id: The person's id, as contacts_search gives it.
        """
        return Contact.shown(self.store.get(Contact, contact_id))

    @tool(Effect.WRITE, audit="sent_messages")
    def send_message(self, contact_id: str, message: Text) -> MessageSent:
        """Send somebody a short message at once. It cannot be taken back, and it does not reach people who have left.

        Args:
            contact_id: The person's id, as contacts_search gives it.
            message: The text.

        Raises:
            ToolError: There is no such person, or the person has left.
        """
        contact = self.store.get(Contact, contact_id)
        if contact.status.lower() == "left":
            raise ToolError(f"{contact.name} ({contact_id}) has left and gets no messages", ErrorKind.CONFLICT)
        row = self.store.insert(Message, message_id=self.store.new_id("MSG"), contact_id=contact_id, message=message, timestamp=self.stamp)
        record = Message.shown(row)
        self.audit(record)
        return {"status": "sent", "record": record}

    @tool(Effect.WRITE, audit="updated_contacts")
    def update(
        self, contact_id: str, name: Text | None = None, email: Email | None = None, phone: Text | None = None, department: Text | None = None,
        title: Text | None = None, company: Text | None = None, manager: Text | None = None, location: Text | None = None,
        notes: Text | None = None, status: Status | None = None,
    ) -> ContactChanged:
        """Change what is on record of a person. What is not given stays as it is; at least one change must be given.

        Args:
            contact_id: The person's id, as contacts_search gives it.
            name: The new name.
            email: The new mail address.
            phone: The new phone number.
            department: The new department.
            title: The new title.
            company: The company, for people of partners.
            manager: The contact_id of the person's manager.
            location: Where the person works.
            notes: The new notes, in place of the present ones.
            status: Whether the person is there or has left.

        Raises:
            ToolError: There is no such person or manager, no change was given, or somebody would manage themselves.
        """
        changes = given(
            name=name, email=email, phone=phone, department=department, title=title, company=company, manager=manager, location=location,
            notes=notes, status=status,
        )
        if not changes:
            raise ToolError("nothing to change: give contact_id and at least one other argument")
        if manager is not None and self.store.get(Contact, manager).contact_id == contact_id:
            raise ToolError("manager: nobody is their own manager")
        contact = Contact.shown(self.store.update(Contact, contact_id, **changes, updated_at=self.stamp))
        self.audit(contact)
        return {"status": "updated", "contact": contact}


def _has(contact: Any, words: Sequence[str]) -> bool:
    texts = [_folded(getattr(contact, name) or "") for name in _SEARCHED]
    return all(any(word in text for text in texts) for word in words)


def _folded(text: str) -> str:
    """A text without case and accents."""
    return "".join(one for one in normalize("NFKD", text).casefold() if not combining(one))
