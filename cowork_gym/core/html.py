"""HTML for notebooks: one table form that every display shares, all text escaped."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["shorten", "table"]


def shorten(text: str, limit: int = 160) -> str:
    """The text, cut with an ellipsis where it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table; cells are escaped, line breaks kept."""
    title = f"<caption style='text-align:left'><b>{escape(caption)}</b></caption>" if caption else ""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    style = "text-align:left;vertical-align:top;white-space:pre-wrap"
    lines = "".join("<tr>" + "".join(f"<td style='{style}'>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{title}<tr>{names}</tr>{lines}</table>"
