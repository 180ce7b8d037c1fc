"""Stems of English words, by Porter's rules as SQLite's FTS5 has them: what its index compares, told without it."""

from collections.abc import Callable
from functools import lru_cache

__all__ = ["stem"]

_LEAST, _MOST = 3, 64
"""Bytes of a word that has a stem; others stand for themselves."""


def _rules(text: str) -> tuple[tuple[bytes, bytes], ...]:
    pairs = (rule.split(":") for rule in text.split())
    return tuple((ending.encode(), instead.encode()) for ending, instead in pairs)


_AFTER_ED = _rules("at:ate bl:ble iz:ize")
_DERIVED = _rules(
    "ational:ate tional:tion enci:ence anci:ance izer:ize logi:log bli:ble alli:al entli:ent eli:e ousli:ous ization:ize ation:ate ator:ate "
    "alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble",
)
_SHORTER = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
_DROPPED = _rules(
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:",
)


@lru_cache(65536)
def stem(word: str) -> str:
    """The stem of a word in small letters without accents.

    Source: M. F. Porter, An algorithm for suffix stripping, Program 14(3), 1980, with the two changes of its author's own program.

    Example:
        >>> stem("rotation"), stem("rotate"), stem("ssl")
        ('rotat', 'rotat', 'ssl')
    """
    text = word.encode()
    if not _LEAST <= len(text) <= _MOST:
        return word
    text = _participle(_plural(text))
    if text.endswith(b"y") and _has_vowel(text[:-1]):
        text = text[:-1] + b"i"
    for rules, allowed in ((_DERIVED, _is_long), (_SHORTER, _is_long), (_DROPPED, _may_drop)):
        text = _replaced(text, rules, allowed)
    if text.endswith(b"e") and (_syllables(text[:-1]) > 1 or (_syllables(text[:-1]) == 1 and not _is_short(text[:-1]))):
        text = text[:-1]
    return (text[:-1] if text.endswith(b"ll") and _syllables(text[:-1]) > 1 else text).decode(errors="replace")


def _plural(text: bytes) -> bytes:
    if text.endswith((b"sses", b"ies")) and len(text) > (4 if text.endswith(b"sses") else 3):
        return text[:-2]
    return text[:-1] if text.endswith(b"s") and not text.endswith(b"ss") else text


def _participle(text: bytes) -> bytes:
    if text.endswith(b"eed") and len(text) > 3:
        return text[:-1] if _syllables(text[:-3]) else text
    ending = next((one for one in (b"ed", b"ing") if text.endswith(one)), b"")
    rest = text.removesuffix(ending)
    if not ending or not _has_vowel(rest):
        return text
    if (longer := _replaced(rest, _AFTER_ED, lambda _, __: True)) != rest:
        return longer
    if rest[-1:] == rest[-2:-1] and rest[-1:] not in (b"a", b"e", b"i", b"o", b"u", b"l", b"s", b"z"):
        return rest[:-1]
    return rest + b"e" if _syllables(rest) == 1 and _is_short(rest) else rest


def _replaced(text: bytes, rules: tuple[tuple[bytes, bytes], ...], allowed: Callable[[bytes, bytes], bool]) -> bytes:
    """The text with the first ending that it has replaced, if what stands before it allows that."""
    for ending, instead in rules:
        if text.endswith(ending) and len(text) > len(ending):
            before = text[: -len(ending)]
            return before + instead if allowed(before, ending) else text
    return text


def _is_long(before: bytes, ending: bytes) -> bool:
    return _syllables(before) > 0


def _may_drop(before: bytes, ending: bytes) -> bool:
    return _syllables(before) > 1 and (ending != b"ion" or before.endswith((b"s", b"t")))


def _shape(text: bytes) -> str:
    """`c` for each consonant and `v` for each vowel; a y is a vowel after a consonant."""
    shape = ""
    for letter in text:
        vowel = letter in b"aeiou" or (letter == ord("y") and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _syllables(text: bytes) -> int:
    """How often a consonant follows a vowel: Porter's measure m."""
    return _shape(text).count("vc")


def _is_short(text: bytes) -> bool:
    """Whether it ends in consonant, vowel, consonant, the last one no w, x or y: Porter's *o."""
    return _shape(text).endswith("cvc") and not text.endswith((b"w", b"x", b"y"))


def _has_vowel(text: bytes) -> bool:
    return any(letter in b"aeiou" or (letter == ord("y") and at > 0) for at, letter in enumerate(text))
