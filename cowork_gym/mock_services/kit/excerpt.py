"""Excerpts: the part of a text that shows why a search found it."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from unicodedata import combining, normalize

from cowork_gym.mock_services.kit.stem import stem
from cowork_gym.mock_services.kit.tables import terms

__all__ = ["excerpt"]

_WORD = re.compile("[0-9a-z]+")


def excerpt(text: str, query: str, width: int = 160) -> str:
    """The stretch of a text with the most of a query's words, its beginning when it has none.

    Args:
        text: What was found.
        query: What was searched for; words match by their stems, in any case and without accents, as in the search.
        width: Characters, at most, without the `…` where the text is cut.
    """
    if len(text) <= width:
        return text
    reach = width * 3 // 4
    hit = _densest(_hits(text, query), reach)
    start = max(0, min(hit - (width - reach), len(text) - width))
    end = start + width
    if start:
        start = max(start, text.find(" ", start - 1, hit) + 1)
    if end < len(text):
        end = max(text.rfind(" ", hit + reach // 2, end + 1), 0) or end
    return ("…" if start else "") + " ".join(text[start:end].split()) + ("…" if end < len(text) else "")


def _densest(hits: list[tuple[int, str]], reach: int) -> int:
    """The place from which most words are within reach, the first of several such; 0 without hits."""
    def within(first: int) -> int:
        return len({term for _, term in hits[first : bisect_left(hits, (hits[first][0] + reach,))]})

    return hits[max(range(len(hits)), key=within)][0] if hits else 0


def _hits(text: str, query: str) -> list[tuple[int, str]]:
    """Where the words of a query stand in a text, first one first."""
    letters, places = _folded(text)
    return sorted((places[at], term) for term in terms(query) for at in _places(letters, _folded(term)[0]))


def _places(letters: str, term: str) -> Iterator[int]:
    """Where a term stands in a folded text. A stem is the beginning of its word, but perhaps for its last letter."""
    stems = [stem(word) for word in _WORD.findall(term)] if term.isascii() else []
    between = "[^0-9a-z]+".join(re.escape(one[:-1]) + "[0-9a-z]+" for one in stems)
    for match in re.finditer(f"(?<![0-9a-z]){between}" if stems else re.escape(term), letters):
        if not stems or [stem(word) for word in _WORD.findall(match[0])] == stems:
            yield match.start()


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """A text without case and accents, and the place in the text of each of its characters."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded = [*map(_letters, text)]
    return "".join(folded), [at for at, letters in enumerate(folded) for _ in letters]


@lru_cache(4096)
def _letters(character: str) -> str:
    return "".join(letter for letter in normalize("NFKD", character).casefold() if not combining(letter))
