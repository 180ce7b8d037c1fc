"""The calendar: events with their attendees, and rooms that hold one event at a time."""

import datetime
from collections.abc import Set
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field as Bounds
from typing_extensions import TypedDict

from cowork_gym.core.clock import parse_time
from cowork_gym.mock_services.calendar.records import Event, Instant, Room, folded, is_called, is_in, names
from cowork_gym.mock_services.kit import Effect, ErrorKind, Service, ToolError, View, given, tool
from cowork_gym.mock_services.kit.types import Day, Text

__all__ = ["Calendar", "Days", "EventChanged", "EventCreated", "EventDeleted", "EventList", "RoomList", "UserEvents"]

Days = Annotated[int, Bounds(ge=1, le=366)]
"""How many days to look at."""


class EventList(TypedDict):
    """Whole events, ordered by their start."""

    events: list[View]
    total: int


class UserEvents(TypedDict):
    """One person's events of a day, ordered by their start."""

    user: str
    events: list[View]
    total: int


class RoomList(TypedDict):
    """Whole rooms, ordered by id."""

    rooms: list[View]
    total: int


class EventCreated(TypedDict):
    """A new event."""

    status: Literal["created"]
    event: View


class EventChanged(TypedDict):
    """An event after an update."""

    status: Literal["updated"]
    event: View


class EventDeleted(TypedDict):
    """An event as it was before it was deleted."""

    status: Literal["deleted"]
    event: View


class Calendar(Service):
    """Shared calendar: everybody's events, and rooms to hold them in. A room takes one event at a time; people are not checked."""

    name = "calendar"
    tables = (Event, Room)
    aliases: ClassVar = {"deleted": "deleted_events"}

    @tool(Effect.READ)
    def list_events(self, date: Day, days: Days = 1) -> EventList:
        """List everybody's events with every field, ordered by start: all that take place at some time of the days. Times and days are UTC.

        Args:
            date: The first day, YYYY-MM-DD.
            days: How many days, the first one included; 1 unless given.
        """
        rows = self._during(date, days)
        return {"events": [Event.shown(row) for row in rows], "total": len(rows)}

    @tool(Effect.READ)
    def get_event(self, event_id: str) -> View:
        """Get one event with every field on record. Times are UTC.

        Args:
            event_id: The event's id, as calendar_list_events gives it.
        """
        return Event.shown(self.store.get(Event, event_id))

    @tool(Effect.READ)
    def get_user_events(self, user: Text, date: Day) -> UserEvents:
        """List the events of one day that a person attends or organises, ordered by start. Times and days are UTC.

        Args:
            user: The person's name or mail address as the events have it; it matches as a whole, in any case.
            date: The day, YYYY-MM-DD.
        """
        wanted = folded(user)
        rows = [row for row in self._during(date, 1) if any(wanted in names(one) for one in (*row.attendees, row.organizer or ""))]
        return {"user": user, "events": [Event.shown(row) for row in rows], "total": len(rows)}

    @tool(Effect.READ)
    def list_rooms(self) -> RoomList:
        """List the rooms that can be booked, ordered by id, with capacity and notes. calendar_list_events shows when they are taken."""
        rows = self.store.find(Room)
        return {"rooms": [Room.shown(row) for row in rows], "total": len(rows)}

    @tool(Effect.WRITE, audit="created_events")
    def create_event(
        self, title: Text, start_time: Instant, end_time: Instant, attendees: list[Text] | None = None, location: str | None = None,
        room_id: Text | None = None, description: Text | None = None,
    ) -> EventCreated:
        """Create an event. A room must be free for the whole time and have space for all attendees; whether they have time is not checked.

        Args:
            title: The title.
            start_time: When it begins, ISO 8601, such as 2026-03-10T15:00:00Z or 2026-03-10T16:00:00+01:00; without a zone it is UTC.
            end_time: When it ends, in the same form; after the start.
            attendees: Names or mail addresses of those who take part.
            location: The place in words. A room's name or id books that room.
            room_id: The room to book, as calendar_list_rooms gives it.
            description: What it is about.

        Raises:
            ToolError: It ends before it begins, there is no such room, or the room is taken or too small.
        """
        row = self.store.insert(
            Event, event_id=self.store.new_id("EVT"), title=title, start_time=start_time, end_time=end_time, attendees=attendees or [],
            status="confirmed", description=description, **self._place(room_id, location),
        )
        event = self._kept(row, {"start_time", "attendees", "room_id"})
        return {"status": "created", "event": event}

    @tool(Effect.WRITE, audit="updated_events")
    def update_event(
        self, event_id: str, title: Text | None = None, start_time: Instant | None = None, end_time: Instant | None = None,
        attendees: list[Text] | None = None, location: str | None = None, room_id: Text | None = None, description: Text | None = None,
    ) -> EventChanged:
        """Change an event. What is not given stays as it is; at least one change must be given. To move an event, give both times.

        A room must be free for the whole new time and have space for all attendees; whether they have time is not checked.

        Args:
            event_id: The event to change.
            title: The new title.
            start_time: When it begins, ISO 8601, such as 2026-03-10T15:00:00Z; without a zone it is UTC.
            end_time: When it ends, in the same form; after the start.
            attendees: The new attendees, in place of all present ones; an empty list removes them.
            location: The new place in words. A room's name or id books that room; any other text, an empty one too, frees the present room.
            room_id: The room to book, as calendar_list_rooms gives it, in place of the present place.
            description: What it is about, in place of the present text.

        Raises:
            ToolError: There is no such event or room, no change was given, it ends before it begins, or the room is taken or too small.
        """
        changes = given(title=title, start_time=start_time, end_time=end_time, attendees=attendees, description=description)
        if room_id is not None or location is not None:
            changes |= self._place(room_id, location)
        if not changes:
            raise ToolError("nothing to change: give at least one of title, start_time, end_time, attendees, location, room_id, description")
        event = self._kept(self.store.update(Event, event_id, **changes), changes.keys())
        return {"status": "updated", "event": event}

    @tool(Effect.WRITE, audit="deleted_events")
    def delete_event(self, event_id: str) -> EventDeleted:
        """Delete an event for everybody, and free its room. It cannot be taken back.

        Args:
            event_id: The event to delete.
        """
        event = Event.shown(self.store.get(Event, event_id))
        self.store.delete(Event, event_id)
        self.audit({**event, "timestamp": self.stamp})
        return {"status": "deleted", "event": event}

    def _during(self, date: str, days: int) -> list[Any]:
        first, span = parse_time(date), datetime.timedelta(days=days)

        def within(row: Any) -> bool:
            return parse_time(row.start_time) - first < span and parse_time(row.end_time) > first

        return [row for row in self.store.find(Event, order="start_time") if within(row)]

    def _place(self, room_id: str | None, location: str | None) -> dict[str, str | None]:
        """Where an event is to be, as values of its columns.

        Raises:
            ToolError: There is no such room, or the location is another one, or that of several.
        """
        named = [room for room in self.store.find(Room) if location and is_called(room, location)]
        if room_id is None and len(named) > 1:
            raise ToolError(f"location {location!r} is the name of several rooms; give room_id: {', '.join(room.room_id for room in named)}")
        if room_id is None and not named:
            return {"location": location or None, "room_id": None}
        room = named[0] if room_id is None else self.store.get(Room, room_id)
        if named and room not in named:
            raise ToolError(f"location {location!r} is another room than {room_id}; leave one of them out")
        return {"location": room.name if named or not location else location, "room_id": room.room_id}

    def _kept(self, row: Any, changed: Set[str]) -> View:
        """The event after a change, which must be possible; the call's record. What is not possible is undone with the call."""
        if row.end_time <= row.start_time:
            raise ToolError(f"end_time {row.end_time} is not after start_time {row.start_time}")
        for room in filter(partial(is_in, row), self.store.find(Room)):
            if changed & {"attendees", "room_id"} and room.capacity is not None and len(row.attendees) > room.capacity:
                raise ToolError(f"{room.name} has space for {room.capacity}, not for {len(row.attendees)} attendees")
            if changed & {"start_time", "end_time", "room_id"}:
                self._check_free(room, row)
        event = Event.shown(row)
        self.audit({**event, "timestamp": self.stamp})
        return event

    def _check_free(self, room: Any, event: Any) -> None:
        for row in self.store.find(Event, order="start_time"):
            at_once = row.start_time < event.end_time and event.start_time < row.end_time
            if at_once and row.event_id != event.event_id and is_in(row, room):
                raise ToolError(f"{room.name} is taken by {row.event_id} from {row.start_time} to {row.end_time}", ErrorKind.CONFLICT)
