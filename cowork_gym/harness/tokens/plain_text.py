"""Text that spells a control token stays text: a tokenizer that is never fooled by what users and tools write."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from cowork_gym.core.errors import UserError

__all__ = ["ANCHOR", "PlainText", "common"]

_LEAD, _FIRST = "\U000f5afe", 0xF6000
ANCHOR = _LEAD + chr(_FIRST - 1)
"""A text that no message contains once it went through `PlainText.protect`."""


class PlainText:
    """A copy of a fast tokenizer in which every text that spells a token of its own has a stand-in of two private-use characters.

    The stand-ins are put into messages before a template renders them and are tokens of the copy, so the rendered text is encoded whole, as
    the tokenizer itself would encode it; then they give way to the ids that their text has as mere text. Messages that contain the
    private-use character itself are no exception: it has a stand-in too. A character for which the vocabulary has nothing but a control token
    (SmolLM2 lacks bytes, which read as the end of the text) gives way to a replacement character. Threads may share one.
    """

    def __init__(self, tokenizer: Any, template: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise UserError(f"chat formats need a fast tokenizer, not {type(tokenizer).__name__}")
        self._copy = deepcopy(tokenizer.backend_tokenizer)
        self._copy.no_padding()
        self._copy.no_truncation()
        names = sorted((name, str(value)) for name, value in tokenizer.special_tokens_map.items())
        parts = (self._copy.to_str(), repr(names), template)
        self.fingerprint = hashlib.sha256(b"".join(hashlib.sha256(part.encode()).digest() for part in parts)).hexdigest()
        added = self._copy.get_added_tokens_decoder()
        self.control = {token.content: id for id, token in added.items() if token.special}
        """The tokens that are never text, by what they look like."""
        marks = {token.content for token in added.values() if token.content in template and not re.search(r"\s", token.content)}
        self._outside = _alternatives({_LEAD, *self.control, *marks})
        self._inside = _alternatives({_LEAD, *self.control})
        self.control_pattern = _alternatives(self.control)
        """Finds the tokens that are never text."""
        unknown = getattr(self._copy.model, "unk_token", None)
        self._unknown = self.control.get(unknown) if unknown else None
        self._gaps: dict[str, bool] = {}
        self._replacement = "?" if self._is_gap("\ufffd") else "\ufffd"
        self._give_stand_ins([_LEAD, *sorted({*self.control, *marks})], set(added))

    def _give_stand_ins(self, texts: Sequence[str], added: set[int]) -> None:
        self._stand_in = {text: _LEAD + chr(_FIRST + at) for at, text in enumerate(texts)}
        plain = [self._as_text(text, added) for text in texts]
        self._copy.encode_special_tokens = False
        self._copy.add_special_tokens(list(self._stand_in.values()))  # as such they are found before the text is normalised
        self._plain = {self._copy.token_to_id(stand_in): ids for stand_in, ids in zip(self._stand_in.values(), plain, strict=True)}

    def _as_text(self, text: str, added: set[int]) -> tuple[int, ...]:
        """The ids of a token's spelling as mere text, as they stand within other text."""
        self._copy.encode_special_tokens = True
        before = self._ids("x")
        for ids in self._spellings(text):
            if not added.intersection(ids) and self._text((*before, *ids)) == self._text(before) + text:
                return ids
        if text == _LEAD:
            return self._ids(self._replacement)
        raise UserError(f"this tokenizer cannot write {text!r} as mere text")

    def _spellings(self, text: str) -> Iterator[tuple[int, ...]]:
        yield self._ids(text)
        yield (*self._ids(text[:1]), *self._ids(text[1:]))
        yield tuple(id for letter in text if (id := self._copy.token_to_id(letter)) is not None)
        yield tuple(id for letter in text for id in self._ids(letter))

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._copy.encode(text, add_special_tokens=False).ids)

    def _text(self, ids: Sequence[int]) -> str:
        return str(self._copy.decode(list(ids), skip_special_tokens=False))

    def protect(self, value: Any, *, outside: bool) -> Any:
        """A JSON value, copied, with a stand-in for every text in it that spells a token.

        Args:
            value: A message's field.
            outside: Whether it comes from users or tools. Theirs may not spell the tokens that the template sets marks with either, such as
                `<tool_call>`, even where the tokenizer does not call them special.
        """
        if isinstance(value, str):
            value = self._without_gaps(value)
            return (self._outside if outside else self._inside).sub(lambda found: self._stand_in[found.group()], value)
        if isinstance(value, Mapping):
            return {self.protect(key, outside=outside): self.protect(item, outside=outside) for key, item in value.items()}
        return [self.protect(item, outside=outside) for item in value] if isinstance(value, list | tuple) else value

    def _without_gaps(self, text: str) -> str:
        if self._unknown is None:
            return text
        return text.translate({ord(one): self._replacement for one in set(text) - {_LEAD} if self._is_gap(one)})

    def _is_gap(self, character: str) -> bool:
        if character not in self._gaps:
            self._gaps[character] = self._unknown is not None and self._unknown in self._ids(character)
        return self._gaps[character]

    def encode(self, rendered: str) -> tuple[int, ...]:
        """The ids of a rendered text, its stand-ins as the text that they stand for."""
        ids = self._ids(rendered)
        if self._plain.keys().isdisjoint(ids):
            return ids
        return tuple(one for id in ids for one in self._plain.get(id, (id,)))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, control tokens included; ids that the tokenizer does not have are left out."""
        return self._text([id for id in ids if id not in self._plain])


def _alternatives(texts: set[str] | Mapping[str, int]) -> re.Pattern[str]:
    """A pattern that finds any of the texts, the longest first; one that finds nothing when there are none."""
    return re.compile("|".join(re.escape(text) for text in sorted(texts, key=lambda text: (-len(text), text))) or r"(?!)")


def common(one: str, other: str, tokens: re.Pattern[str]) -> int:
    """The length of what two texts begin with alike, no token of either cut in two."""
    alike = (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    length = next(alike, min(len(one), len(other)))
    cuts = (found.start() for text in (one, other) for found in tokens.finditer(text) if found.start() < length < found.end())
    return min(cuts, default=length)
