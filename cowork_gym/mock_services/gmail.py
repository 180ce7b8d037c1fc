"""Mail: one person's mailbox with threads, labels, read state and drafts."""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator
from pydantic import Field as Bounds
from typing_extensions import TypedDict

from cowork_gym.core.clock import parse_time
from cowork_gym.mock_services.kit import Effect, ErrorKind, Field, Labels, Record, Service, ToolError, View, given, summary, tool
from cowork_gym.mock_services.kit.types import Count, Text, Time

__all__ = [
    "OWNER", "SENT", "Addresses", "Days", "Draft", "DraftSaved", "Gmail", "Message", "MessageChanged", "MessageList", "MessageSent",
    "MessageSummary", "Thread",
]

OWNER = "me"
"""Whom the mailbox belongs to, as its own mails name them."""
SENT = "SENT"
"""The label of mails that were sent from here."""
_ADDRESS = re.compile(r"[^\s<>@]+@[^\s<>@]+|[^<>@]*<[^\s<>@]+@[^\s<>@]+>")


def _addresses(text: str) -> str:
    """Addresses, each followed by a comma and a space.

    Raises:
        ValueError: One of them is no address.
    """
    found = [one.strip() for one in text.split(",")]
    if wrong := [one for one in found if not _ADDRESS.fullmatch(one)]:
        raise ValueError(f"should be mail addresses such as ann@example.com, separated by commas, not {wrong[0][:60]!r}")
    return ", ".join(found)


Addresses = Annotated[str, AfterValidator(_addresses), Bounds(examples=["ann@example.com"])]
"""One mail address or several, separated by commas."""
Days = Annotated[int, Bounds(ge=1, le=3650)]
"""How many days to look back."""


class Message(Record, table=True):
    """A mail, received or sent."""

    wire: ClassVar = {"sender": "from", "recipients": "to"}
    message_id: str = Field(primary_key=True)
    thread_id: str
    sender: str
    recipients: str
    subject: str
    date: Time
    is_read: bool = False
    labels: list[str] = Field(default_factory=list, sa_type=Labels)
    in_reply_to: str | None = None
    body: str

    @classmethod
    def from_fixture(cls, fixture: Mapping[str, Any]) -> dict[str, Any]:
        """A mail that names no thread begins one under its own id."""
        known = super().from_fixture(fixture)
        return {"thread_id": known.get("message_id"), **known}


class Draft(Record, table=True):
    """A mail that was not sent."""

    wire: ClassVar = {"recipients": "to"}
    draft_id: str = Field(primary_key=True)
    recipients: str
    subject: str
    body: str
    reply_to_message_id: str | None = None
    timestamp: str


MessageSummary = TypedDict(
    "MessageSummary", {"message_id": str, "thread_id": str, "from": str, "subject": str, "date": str, "is_read": bool, "labels": list[str]},
)
"""What the list shows of a mail."""


class MessageList(TypedDict):
    """Mails, newest first, and how many there are beyond those listed too."""

    messages: list[MessageSummary]
    total: int


class Thread(TypedDict):
    """A conversation, oldest mail first."""

    thread_id: str
    messages: list[View]
    total: int


class MessageSent(TypedDict):
    """A mail that went out."""

    status: Literal["sent"]
    message: View


class DraftSaved(TypedDict):
    """A draft that was kept."""

    status: Literal["draft_saved"]
    draft: View


class MessageChanged(TypedDict):
    """A mail's labels and read state after a change."""

    status: Literal["updated"]
    message: MessageSummary


class Gmail(Service):
    """Mailbox: threads, labels, read state, drafts, sending and replying. A mail that is dated after now has not arrived yet."""

    name = "gmail"
    tables = (Message, Draft)
    aliases: ClassVar = {"sent": "sent_messages"}

    @tool(Effect.READ)
    def list_messages(self, days_back: Days = 7, max_results: Count = 20, label: Text | None = None, unread_only: bool = False) -> MessageList:
        """List mails of the last days in short form, newest first, sent ones (label SENT) included. gmail_get_message has the text.

        Args:
            days_back: How many days to look back from now; 7 unless given.
            max_results: How many mails to list at most; 20 unless given. The total counts the others too.
            label: Only mails with this label, in any case.
            unread_only: Only mails that were not read.
        """
        now = self.now
        since = now - timedelta(days=days_back)
        rows = [row for row in self.store.find(Message, **given(is_read=False if unread_only else None)) if since <= parse_time(row.date) <= now]
        if label is not None:
            rows = [row for row in rows if label.casefold() in _folded(row.labels)]
        rows.sort(key=lambda row: parse_time(row.date), reverse=True)
        return {"messages": [summary(MessageSummary, Message.shown(row)) for row in rows[:max_results]], "total": len(rows)}

    @tool(Effect.READ, marks=["is_read"])
    def get_message(self, message_id: str) -> View:
        """Open one mail with its text. This marks it as read.

        Args:
            message_id: The mail's id, as gmail_list_messages gives it.
        """
        return Message.shown(self._arrived(self.store.update(Message, message_id, is_read=True)))

    @tool(Effect.READ, marks=["is_read"])
    def get_thread(self, thread_id: str) -> Thread:
        """Open all mails of a conversation with their texts, oldest first. This marks them as read.

        Args:
            thread_id: The conversation's id, as gmail_list_messages gives it.

        Raises:
            ToolError: There is no such conversation.
        """
        found = [row for row in self.store.find(Message, thread_id=thread_id) if self._has_arrived(row)]
        if not found:
            raise ToolError(f"Thread {thread_id} not found", ErrorKind.NOT_FOUND)
        rows = [self.store.update(Message, row.message_id, is_read=True) for row in found]
        rows.sort(key=lambda row: parse_time(row.date))
        return {"thread_id": thread_id, "messages": [Message.shown(row) for row in rows], "total": len(rows)}

    @tool(Effect.WRITE, audit="sent_messages")
    def send_message(self, to: Addresses, subject: str, body: Text) -> MessageSent:
        """Send a new mail at once. It cannot be taken back.

        Args:
            to: The address, or several separated by commas.
            subject: The subject.
            body: The text.
        """
        return self._send(to, subject, body)

    @tool(Effect.WRITE, audit="sent_messages")
    def reply_message(self, message_id: str, body: Text) -> MessageSent:
        """Reply at once to the sender of a mail, in its thread and under its subject. It cannot be taken back.

        A reply to a mail that was sent from this mailbox goes to those whom that mail went to.

        Args:
            message_id: The mail to reply to.
            body: The text.
        """
        first = self._arrived(self.store.get(Message, message_id))
        subject = first.subject if first.subject.lower().startswith("re:") else f"Re: {first.subject}"
        to = first.recipients if first.sender == OWNER else first.sender
        return self._send(to, subject, body, thread_id=first.thread_id, in_reply_to=message_id)

    @tool(Effect.WRITE, audit="drafts")
    def save_draft(self, to: Addresses, subject: str, body: Text, reply_to_message_id: str | None = None) -> DraftSaved:
        """Save a mail as a draft. Nothing is sent.

        Args:
            to: The address, or several separated by commas.
            subject: The subject.
            body: The text.
            reply_to_message_id: The mail that the draft answers, if there is one.
        """
        if reply_to_message_id is not None:
            self._arrived(self.store.get(Message, reply_to_message_id))
        row = self.store.insert(
            Draft, draft_id=self.store.new_id("DRF"), recipients=to, subject=subject, body=body, reply_to_message_id=reply_to_message_id,
            timestamp=self.stamp,
        )
        self.audit(Draft.shown(row))
        return {"status": "draft_saved", "draft": Draft.shown(row)}

    @tool(Effect.WRITE, audit="labelled")
    def modify_labels(self, message_id: str, add: list[Text] | None = None, remove: list[Text] | None = None) -> MessageChanged:
        """Add labels to a mail or remove them; at least one must be given. Labels are the same in any case.

        Adding a label that is there, or removing one that is not, changes nothing. SENT can be neither added nor removed.

        Args:
            message_id: The mail.
            add: Labels to add.
            remove: Labels to remove.

        Raises:
            ToolError: There is no such mail, no label was given, one stands on both sides, or one is SENT.
        """
        come, gone = _folded(add or ()), _folded(remove or ())
        if not come and not gone:
            raise ToolError("nothing to change: name labels to add or to remove")
        if both := sorted(come & gone):
            raise ToolError(f"a label cannot be both added and removed: {', '.join(both)}")
        if SENT.casefold() in come | gone:
            raise ToolError("the label SENT is the mailbox's own", ErrorKind.PERMISSION)
        present = self.store.get(Message, message_id).labels
        labels = {one.casefold(): one for one in [*(add or ()), *present] if one.casefold() not in gone}
        return self._change(message_id, "labels", [*labels.values()])

    @tool(Effect.WRITE, audit="marked")
    def mark_read(self, message_id: str, is_read: bool = True) -> MessageChanged:
        """Mark a mail as read, or as unread, without opening it.

        Args:
            message_id: The mail.
            is_read: False marks it as unread.
        """
        return self._change(message_id, "is_read", is_read)

    def _send(self, to: str, subject: str, body: str, *, thread_id: str | None = None, in_reply_to: str | None = None) -> MessageSent:
        message_id = self.store.new_id("MSG")
        row = self.store.insert(
            Message, message_id=message_id, thread_id=thread_id or message_id, sender=OWNER, recipients=to, subject=subject, body=body,
            date=self.stamp, labels=[SENT], is_read=True, in_reply_to=in_reply_to,
        )
        message = Message.shown(row)
        self.audit({**message, "timestamp": self.stamp})
        return {"status": "sent", "message": message}

    def _arrived(self, row: Any) -> Any:
        """The mail, which must be there already; what was done to one that is not is undone with the call.

        Raises:
            ToolError: It is dated after now.
        """
        if not self._has_arrived(row):
            raise ToolError(f"Message {row.message_id} not found", ErrorKind.NOT_FOUND)
        return row

    def _has_arrived(self, row: Any) -> bool:
        return parse_time(row.date) <= self.now

    def _change(self, message_id: str, column: str, value: Any) -> MessageChanged:
        row = self._arrived(self.store.update(Message, message_id, **{column: value}))
        message = summary(MessageSummary, Message.shown(row))
        self.audit({**message, "timestamp": self.stamp})
        return {"status": "updated", "message": message}


def _folded(labels: Iterable[str]) -> set[str]:
    return {one.casefold() for one in labels}
