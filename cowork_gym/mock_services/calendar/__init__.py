"""The calendar: events with their attendees, and rooms that hold one event at a time."""

from cowork_gym.mock_services.calendar.records import Event, Instant, Room
from cowork_gym.mock_services.calendar.service import Calendar, Days

__all__ = ["Calendar", "Days", "Event", "Instant", "Room"]
