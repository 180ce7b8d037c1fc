"""How texts are seen: spellings that a reader cannot tell apart are one. What a text matcher compares has been through here."""

import unicodedata

__all__ = ["fold", "normalise"]

_MARKS = 30
"""Marks on one letter; from Unicode's stream-safe format (UAX #15), as is what breaks a longer run of them."""
_JOINER = "\u034f"
_INVISIBLE = dict.fromkeys((0xAD, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A), 0xFEFF))
_DASHES = dict.fromkeys((*range(0x2010, 0x2016), 0x2043, 0x2212), "-")


def fold(text: str) -> str:
    """NFKC, which makes every blank a blank, with one sort of dash and without invisible characters; case and line ends stay."""
    return unicodedata.normalize("NFKC", _stream_safe(text.translate(_INVISIBLE))).translate(_DASHES)


def normalise(text: str) -> str:
    """A folded text without regard to case, each run of white space one space."""
    return " ".join(unicodedata.normalize("NFKC", fold(text).casefold()).split())


def _stream_safe(text: str) -> str:
    """A text without long runs of combining marks, which take a time that grows with the square of their number to put in order."""
    if text.isascii():
        return text
    letters, run = list[str](), 0
    for letter in text:
        run = run + 1 if unicodedata.combining(unicodedata.normalize("NFKD", letter)[0]) else 0
        if run > _MARKS:
            letters.append(_JOINER)
            run = 1
        letters.append(letter)
    return "".join(letters)
