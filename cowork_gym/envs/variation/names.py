"""Names that are written in Latin letters: the words that vary, and every way in which they are written."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

__all__ = ["Kind", "Pairs", "ascii_word", "joined_pairs", "latin_words", "word_pairs"]

Pairs = Iterator[tuple[str, str]]
"""What stands in the package, and what stands in its place."""


class Kind(StrEnum):
    """What a name is of."""

    COMPANY = "company"
    """Its first word varies, wherever it stands; what kind of company it is stays."""
    PERSON = "person"
    """The first and the last word vary, wherever they stand."""
    FIRST_NAME = "first_name"
    LAST_NAME = "last_name"
    PRODUCT = "product"
    """As for a company."""
    CITY = "city"
    """The whole text varies."""
    STREET = "street"
    """The whole text varies."""

    @property
    def whole(self) -> bool:
        """Whether the text varies as a whole."""
        return self in (Kind.CITY, Kind.STREET)


_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def ascii_word(word: str) -> str:
    """A word as mail addresses have it: `Müller-Ağa` is `mulleraga`."""
    plain = unicodedata.normalize("NFD", word.lower().translate(_LETTERS))
    return "".join(letter for letter in plain if letter.isalnum() and letter.isascii())


def latin_words(name: str, kind: Kind) -> Mapping[str, str]:
    """The words of a name that vary, each with what Faker calls another one."""
    words = [word for word in name.split() if ascii_word(word)]
    if kind is Kind.PERSON and len(words) > 1:
        return {words[0]: "first_name", words[-1]: "last_name"}
    return {words[0]: "first_name" if kind in (Kind.PERSON, Kind.FIRST_NAME) else "last_name"} if words else {}


def word_pairs(word: str, new: str) -> Pairs:
    """The ways to write a word: with and without accents, in small letters and in capitals."""
    plain = ascii_word(word)
    for one in (word, plain.capitalize(), word.lower().translate(_UMLAUTS).capitalize()):
        if one != one.lower():
            yield one, new.upper() if one.isupper() and len(one) > 1 else new
        yield one.lower(), new.lower()
        yield one.upper(), new.upper()


def joined_pairs(name: str, kind: Kind, new: Mapping[str, str]) -> Pairs:
    """The ways to write a name without blanks, as in addresses, and with an initial.

    Args:
        name: The name.
        kind: What it is of.
        new: The word that takes the place of each word that varies.
    """
    words = [word for word in name.split() if ascii_word(word)]
    changed = [new.get(word, word) for word in words]
    if kind is Kind.PERSON and len(words) > 1:
        yield from zip(_initials(words[0], words[-1]), _initials(changed[0], changed[-1]), strict=True)
    elif kind in (Kind.COMPANY, Kind.PRODUCT):
        yield from zip(_slugs(words), _slugs(changed), strict=True)


def _initials(first: str, last: str) -> Iterator[str]:
    given, family = ascii_word(first), ascii_word(last)
    yield f"{first[0]}. {last}"
    yield from (f"{given[0]}.{family}", f"{given[0]}{family}", f"{family}.{given[0]}", f"{family}{given[0]}", f"{given}{family}", f"{family}{given}")


def _slugs(words: Sequence[str]) -> Iterator[str]:
    for end in range(2, len(words) + 1):
        slug = "".join(map(ascii_word, words[:end]))
        yield from (slug, slug.capitalize(), slug.upper())
