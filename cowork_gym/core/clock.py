"""Simulated time: a function of how many calls the ledger holds, never of the wall."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from cowork_gym.core.errors import UserError

__all__ = ["Clock", "parse_time"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Time in a world. It moves by one tick with each call in the ledger, so it is restored and forked with it."""

    start: datetime
    """When the episode begins, in UTC."""
    tick: timedelta = timedelta(seconds=1)
    """How long a call takes in simulated time."""

    @classmethod
    def on(cls, day: date) -> "Clock":
        """The clock of an episode that begins at nine in the morning, UTC.

        Raises:
            UserError: The year is not from 1900 to 2999: dates around it could not be reckoned with.
        """
        if not 1900 <= day.year <= 2999:
            raise UserError(f"an episode begins in a year from 1900 to 2999, not on {day.isoformat()}")
        return cls(datetime.combine(day, time(9), UTC))

    def at(self, sequence: int) -> datetime:
        """The time at which the call with this ledger sequence happens."""
        return self.start + self.tick * sequence

    def stamp(self, sequence: int) -> str:
        """`at` in ISO 8601 with a `Z`, as records carry it."""
        return self.at(sequence).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def parse_time(text: str) -> datetime:
    """A record's timestamp or date as an aware UTC datetime; a time without a zone is taken as UTC.

    Raises:
        ValueError: The text is not ISO 8601.
    """
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
