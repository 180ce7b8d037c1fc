"""Days in texts: those that can be moved by whole weeks, and those that cannot since they do not say everything."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache

__all__ = ["date_end", "moved", "vague_dates"]

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)
_NUMBERS = {"Sept": 9} | {name[:length]: number for number, name in enumerate(_MONTHS, 1) for length in (3, len(name))}
_INITIALS = frozenset(name[0] for name in _MONTHS)
_MONTH = rf"(?P<month>{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_GAP = r"[ \u00a0\n]+"
_FORMS = tuple(map(re.compile, (
    r"(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})(?!\d)",
    r"(?P<year>\d{4}) ?年 ?(?P<number>\d{1,2}) ?月 ?(?P<day>\d{1,2}) ?[日号]",
    rf"(?P<day>\d{{1,2}}){_GAP}{_MONTH},?{_GAP}(?P<year>\d{{4}})(?!\d)",
    rf"{_MONTH}{_GAP}(?P<day>\d{{1,2}}),{_GAP}(?P<year>\d{{4}})(?!\d)",
)))
_ANY_MONTH = rf"(?:{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\b"
_ORDINAL = r"(?:st|nd|rd|th)?"
_VAGUE = re.compile("|".join((
    rf"(?<!\w)\d{{1,2}}{_ORDINAL}(?: of)?{_GAP}{_ANY_MONTH}",
    rf"(?<!\w){_ANY_MONTH}\.?(?: the)?{_GAP}\d{{1,4}}{_ORDINAL}(?!\w)",
    r"(?<![\w./])\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})(?![\w./])",
    r"(?<![\w./])(?:19|20)\d{2}[./]\d{1,2}[./]\d{1,2}(?![\w./])",
    r"(?<![\w-])(?:19|20)\d{2}-(?:0[1-9]|1[0-2])(?:(?![\w-])|-\d(?!\d))",
    r"(?<![A-Za-z0-9])20\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?![A-Za-z0-9])",
    r"(?<![\d.])\d{1,2} ?月(?: ?\d{1,2} ?[日号])?",
    rf"(?<!\w)Q[1-4]{_GAP}\d{{4}}(?!\w)",
)))


def date_end(text: str, start: int) -> int:
    """Where the day ends that begins here; 0 when none does."""
    found = _read(text, start)
    return found[0].end() if found else 0


@lru_cache(maxsize=8192)
def moved(text: str, weeks: int) -> str:
    """A day, written as it was written. One whose other form no calendar has, such as 9999-12-31, stays."""
    found = _read(text, 0)
    if found is None:
        return text
    match, day = found
    padded = match.re is _FORMS[0] or any(match[name].startswith("0") for name in ("number", "day") if name in match.re.groupindex)
    try:
        new = day + timedelta(weeks=weeks)
    except OverflowError:
        return text
    pieces, last = list[str](), 0
    for name in sorted((name for name, value in match.groupdict().items() if value), key=match.start):
        pieces += [text[last : match.start(name)], _spelled(name, match[name], new, padded)]
        last = match.end(name)
    return "".join([*pieces, text[last:]])


def vague_dates(text: str) -> Iterator[str]:
    """What looks like a date or a month in a text without those that can be moved."""
    return (found[0] for found in _VAGUE.finditer(text))


def _read(text: str, start: int) -> tuple[re.Match[str], date] | None:
    if not text[start : start + 1].isdigit() and text[start : start + 1] not in _INITIALS:
        return None
    for form in _FORMS:
        if found := form.match(text, start):
            named = found.groupdict()
            try:
                return found, date(int(named["year"]), int(named.get("number") or _NUMBERS[named["month"]]), int(named["day"]))
            except ValueError:
                continue
    return None


def _spelled(part: str, old: str, day: date, padded: bool) -> str:
    """The year, month or day of another date in the way of the old one."""
    if part == "month":
        name = _MONTHS[day.month - 1]
        return name if old in _MONTHS else name[:3]
    if part == "year":
        return f"{day.year:04d}"
    return f"{day.day if part == 'day' else day.month:0{2 if padded else 1}d}"
