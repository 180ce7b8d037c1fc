"""How the user sees a text: folded, small, without accents; and whether a phrase stands in it as a word."""

import re
import unicodedata
from functools import lru_cache

from cowork_gym.graders.matchers import normalise

__all__ = ["CJK", "is_visible", "mentions", "simplify"]

CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
"""Letters of scripts that put no blank between words, as a range for a character class. Hangul is among them for its particles."""

_LETTER = rf"[^\W_{CJK}]"
_QUOTES = str.maketrans("‘’ʼ“”", "'''\"\"")
_BLANK = r"[\s_-]{1,3}"


def simplify(text: str) -> str:
    """A text without regard to case, width, accents, kinds of quotes and white space."""
    letters = unicodedata.normalize("NFD", normalise(text).translate(_QUOTES))
    return unicodedata.normalize("NFC", "".join(letter for letter in letters if unicodedata.category(letter) != "Mn"))


def is_visible(text: str) -> bool:
    """Whether every letter of a text can be seen, is a blank, or ends a line."""
    return all(letter.isprintable() or letter == "\n" or unicodedata.category(letter) == "Zs" for letter in text)


def mentions(text: str, phrase: str) -> bool:
    """Whether a phrase stands in a simplified text, not as a part of a longer word.

    Args:
        text: The text, simplified.
        phrase: Words with blanks, hyphens or underscores between them; a last `*` stands for any ending.
    """
    return _pattern(phrase).search(text) is not None


@lru_cache(8192)
def _pattern(phrase: str) -> re.Pattern[str]:
    folded = simplify(phrase)
    written, open_end = folded.removesuffix("*"), folded.endswith("*")
    body = _BLANK.join(re.escape(word) for word in re.split(r"[\s_-]+", written) if word)
    left = rf"(?<!{_LETTER})" if re.match(_LETTER, written) else ""
    right = rf"(?!{_LETTER})" if re.search(rf"{_LETTER}\Z", written) and not open_end else ""
    return re.compile(left + body + right)
