"""What a text says, piece by piece: numbers, codes, names, quotations, dates and words, in Latin letters and in Chinese ones."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cowork_gym.envs.dialogue.everyday import CHINESE, CHINESE_TURNING, COUNTING, EVERYDAY, TURNING
from cowork_gym.envs.dialogue.spelling import CJK, simplify
from cowork_gym.graders.matchers.folding import fold
from cowork_gym.mock_services.kit.stem import stem

__all__ = ["Piece", "pieces"]

_NUMERALS = "零〇一二两三四五六七八九十百千万亿半几"
_PIECE = re.compile(
    r"(?P<quoted>\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|「[^」\n]{1,200}」|『[^』\n]{1,200}』|《[^》\n]{1,200}》|`[^`\n]{1,200}`)"
    rf"|(?P<counted>(?:周|星期|礼拜)[一二三四五六日天末]|[今明昨前后]天|第?[{_NUMERALS}]+[{CJK}]?)"
    rf"|(?P<latin>(?:(?<!\w)[+-](?=\d))?[^\W{CJK}]+(?:(?:(?<=\d),(?=\d)|[.:@/+#&'’-])[^\W{CJK}]+)*)"
    rf"|(?P<sign>[%‰€$£¥₹₩])|(?P<han>[{CJK}])"
)
_NUMBER = re.compile(r"([+-]?)(\d[\d,]*)(\.\d+)?(?:st|nd|rd|th)?")
_CODE = re.compile(r"[\d_@/+#&:.]")
_UNIT = re.compile(rf" ?([{CJK}])")
_SMALL_TALK = re.compile(r"[一两](?:[下些点起样定直]|[方边])")
_SHORT = {"ca": "can", "wo": "will", "sha": "shall"}


class Piece(NamedTuple):
    """One thing that a text says."""

    written: str
    kind: str
    """`number`, `code`, `word`, `counted` (of Chinese numerals and days), `sign`, `han` (a Chinese letter) or `quoted`."""
    text: str
    """How it is compared: a number by its value, a word by its stem."""
    bears: bool
    """Whether it bears load: whoever tells the text must tell it. For a Chinese letter that is not known."""
    plain: bool = False
    """Whether it tells nothing."""
    turns: bool = False
    """Whether it affirms, denies or bounds what stands beside it."""

    @property
    def meaning(self) -> tuple[str, str]:
        """What it says, however it is written."""
        return self.kind, self.text


def pieces(text: str) -> Iterator[Piece]:
    """The pieces of a text, in order; a quotation is followed by what is in it."""
    seen = fold(text)
    for match in _PIECE.finditer(seen):
        kind, written = match.lastgroup or "", match[0]
        if kind == "quoted":
            yield Piece(written, "quoted", simplify(written[1:-1]), True)
            yield from pieces(written[1:-1])
        elif kind == "latin":
            unit = _UNIT.match(seen, match.end())
            yield from _latin(written, unit[1] if unit else "")
        elif kind == "han":
            turns = written in CHINESE_TURNING
            yield Piece(written, kind, written, turns, written in CHINESE, turns)
        else:
            plain = _SMALL_TALK.fullmatch(written) is not None
            yield Piece(written, kind, simplify(written), not plain, plain)


def _latin(written: str, unit: str) -> Iterator[Piece]:
    """A number, with the Chinese letter behind it since 3月 is not 3天; a code; or words."""
    number = _NUMBER.fullmatch(written)
    if number is not None:
        whole, fraction = number[2].replace(",", "").lstrip("0"), (number[3] or "").rstrip("0").rstrip(".")
        yield Piece(written, "number", f"{number[1].replace('+', '')}{whole or '0'}{fraction}{unit}", True)
    elif _CODE.search(written):
        yield Piece(written, "code", simplify(written), True)
    else:
        for part in written.split("-"):
            yield from _words(part)


def _words(part: str) -> Iterator[Piece]:
    """A word, and behind a contraction that denies what it denies."""
    word = simplify(part)
    base, _, ending = word.partition("'")
    denied = word == "cannot" or (ending == "t" and base.endswith("n"))
    if denied:
        base = _SHORT.get(base[:-1], base[:-1]) if ending else "can"
    found = stem(base)
    plain, turns = found in EVERYDAY, found in TURNING
    if base:
        yield Piece(part, "word", found, turns or found in COUNTING or (part[:1].isupper() and not plain and not denied), plain, turns)
    if denied:
        yield Piece(part, "word", "not", True, turns=True)
