"""The calendar's records: events and rooms, and which event is in which room."""

import datetime
import re
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationInfo, WithJsonSchema, field_validator

from cowork_gym.core.clock import parse_time
from cowork_gym.mock_services.kit import Caseless, Field, Labels, Record

__all__ = ["Event", "Instant", "Room", "folded", "is_called", "is_in", "names"]


def _instant(text: str) -> str:
    try:
        moment = parse_time(text)
        if datetime.date.fromisoformat(text[:10]).isoformat() != text[:10] or text[10:11] not in ("T", " "):
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(f"should be a day with a time such as 2026-03-10T15:00:00Z, not {text[:60]!r}") from None
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


Instant = Annotated[str, AfterValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})]
"""A moment, ISO 8601, in UTC where it names no zone; kept to the second in UTC, so that texts order as moments do."""


class Event(Record, table=True):
    """An entry of the calendar. Its times are in UTC, however they were written."""

    __tablename__ = "calendar_events"
    event_id: str = Field(primary_key=True)
    title: str
    start_time: Instant
    end_time: Instant
    attendees: list[str] = Field(default_factory=list, sa_type=Labels)
    location: str | None = None
    room_id: str | None = None
    organizer: str | None = None
    status: str | None = Field(default=None, sa_type=Caseless)
    description: str | None = None

    @field_validator("end_time")
    @classmethod
    def _after_start(cls, end: str, info: ValidationInfo) -> str:
        if end <= info.data.get("start_time", ""):
            raise ValueError("should be after start_time")
        return end


class Room(Record, table=True):
    """A room that can be booked."""

    __tablename__ = "calendar_rooms"
    room_id: str = Field(primary_key=True)
    name: str
    capacity: int | None = None
    notes: str | None = None


def is_in(event: Any, room: Any) -> bool:
    """Whether an event takes up a room. A record may name the room by its location alone."""
    held = event.room_id == room.room_id if event.room_id is not None else is_called(room, event.location or "")
    return held and folded(event.status or "") not in {"cancelled", "canceled"}


def is_called(room: Any, text: str) -> bool:
    """Whether a text is a room's name or id."""
    return folded(text) in {folded(room.room_id), folded(room.name)}


def folded(text: str) -> str:
    """A name as it is compared: in any case, without spaces around it."""
    return text.strip().casefold()


def names(text: str) -> set[str]:
    """What somebody is called: all of `Ann <ann@example.com>`, its name, and its address."""
    return {folded(part) for part in (text, *re.split("[<>]", text))} - {""}
