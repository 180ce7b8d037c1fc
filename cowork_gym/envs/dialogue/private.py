"""What the user never says: texts, however they are spaced and spelled, and expressions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainValidator

from cowork_gym.envs.dialogue.spelling import mentions, simplify
from cowork_gym.graders.matchers import MatcherError, show
from cowork_gym.graders.matchers.patterns import compile_pattern

__all__ = ["Private", "PrivateField"]

_GAPS = re.compile(r"[\W_]+")
_TELLING = 6
"""Bytes of a text that is looked for without its gaps too; a shorter one, of less than two Chinese letters, would be found in other words."""


@dataclass(frozen=True, slots=True)
class Private:
    """Something that must not be said."""

    written: str
    expression: re.Pattern[str] | None = None
    """Stands for the text."""

    def stands_in(self, text: str) -> bool:
        """Whether a text says it."""
        seen = simplify(text)
        if self.expression is not None:
            return self.expression.search(seen) is not None
        tight = _GAPS.sub("", simplify(self.written))
        return mentions(seen, self.written) or (len(tight.encode()) >= _TELLING and tight in _GAPS.sub("", seen))


def _read(value: Any) -> Private:
    if isinstance(value, Mapping) and [*value] == ["regex"] and isinstance(value["regex"], str):
        try:
            pattern = compile_pattern(value["regex"])
        except MatcherError as error:
            raise MatcherError(str(error), ".regex") from None
        if pattern.search(""):
            raise MatcherError("finds something in every text", ".regex")
        return Private(value["regex"], re.compile(pattern.pattern, pattern.flags | re.IGNORECASE))
    if not isinstance(value, str) or not _GAPS.sub("", simplify(value)):
        raise ValueError(f"expected a text or {{regex: …}}, not {show(value)}")
    return Private(value)


PrivateField = Annotated[Private, PlainValidator(_read)]
"""As its author wrote it: a text, or `{regex: …}`."""
