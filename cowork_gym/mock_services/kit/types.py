"""Argument types that several services use; each checks strictly and says what it wants."""

import datetime
from collections import Counter
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from cowork_gym.core.clock import parse_time

__all__ = ["Amount", "Count", "Day", "Ids", "Text", "Time"]


def _day(text: str) -> str:
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"should be a date such as 2026-03-10, not {text!r}") from None
    return day.isoformat()


def _time(text: str) -> str:
    try:
        parse_time(text)
        if datetime.date.fromisoformat(text[:10]).isoformat() != text[:10]:
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(f"should be a day or a time such as 2026-03-10T15:00:00Z, not {text!r}") from None
    return text


def _distinct(ids: list[str]) -> list[str]:
    if twice := [one for one, times in Counter(ids).items() if times > 1]:
        raise ValueError(f"should name each id once, but repeats {', '.join(twice)}")
    return ids


def _amount(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("should be a number")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


Day = Annotated[str, AfterValidator(_day), WithJsonSchema({"type": "string", "format": "date", "description": "YYYY-MM-DD"})]
"""A calendar day, `YYYY-MM-DD`."""
Amount = Annotated[Decimal, BeforeValidator(_amount), WithJsonSchema({"type": "number"})]
"""An exact number; a text is refused."""
Time = Annotated[str, AfterValidator(_time)]
"""A day or a moment that begins with its day, ISO 8601, as written: `2026-03-10`, `2026-03-10T15:00:00+08:00`."""
Count = Annotated[int, Field(ge=1, le=200)]
"""How many results to return."""
Text = Annotated[str, Field(min_length=1)]
"""A text that is not empty."""
Ids = Annotated[list[Text], Field(min_length=1, json_schema_extra={"uniqueItems": True}), AfterValidator(_distinct)]
"""Ids of one or more records, none of them twice."""
