"""The agent that does not look again: what it says in the later parts of a task, if it takes the world for what it was."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from difflib import SequenceMatcher
from typing import Any

from cowork_gym.core.canonical import canonical
from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.snapshot import Change
from cowork_gym.core.task import Execution
from cowork_gym.envs.dialogue.spelling import CJK
from cowork_gym.graders.evidence import Row
from cowork_gym.synthesis.identifiers import Identifiers, texts_in

__all__ = ["Moved", "moved_between", "stale"]

_PIECE = re.compile(rf"[^\W{CJK}](?:[^\W{CJK}]|[.,@/+-](?=[^\W{CJK}]))*|[{CJK}]")
"""A word with what holds it together, or a letter of a script that puts no blank between words."""
_TELLING = 4
"""Letters of a word without digits that is replaced wherever it stands."""
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Moved:
    """What an agent that does not look again does not know."""

    values: Mapping[str, Any]
    """What numbers were before the world moved, by the canonical text of what they are now."""
    words: Mapping[str, str]
    """The same for words in texts; what was not there at all is unknown."""
    new: frozenset[str]
    """The keys of the records that have come."""

    def __len__(self) -> int:
        return len(self.values) + len(self.words) + len(self.new)

    def before(self, value: Any) -> Any:
        """A value as it would be written by one who knows only the world before."""
        if isinstance(value, Mapping):
            return {name: self.before(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.before(item) for item in value]
        if isinstance(value, str):
            return self._pattern.sub(lambda found: self.words[found[0]], value) if self.words else value
        return value if value is None or isinstance(value, bool) else self.values.get(canonical(value), value)

    @property
    def _pattern(self) -> re.Pattern[str]:
        known = "|".join(re.escape(one) for one in sorted(self.words, key=len, reverse=True))
        return re.compile(rf"(?<![^\W{CJK}])(?<![^\W{CJK}][.-])(?:{known})(?!-?[^\W{CJK}])(?!\.\d)")


def moved_between(before: Mapping[tuple[str, str], Row | None], changes: tuple[Change, ...], told: str, seen: str) -> Moved:
    """What a move of the world changed silently.

    Args:
        before: The rows that changed as they were, by table and key.
        changes: The rows that differ from the first state after the move.
        told: What the user has said: whatever stands there is known.
        seen: What the agent had read before the move.
    """
    values, words, new = dict[str, Any](), dict[str, str](), set[str]()
    for change in changes:
        old, row = before.get((change.table, change.key)) or {}, change.after or {}
        if row and not old and change.key not in told:
            new.add(change.key)
        for name, value in row.items():
            was = old.get(name)
            if isinstance(value, str) and value != was:
                for one, other in _renewed(was if isinstance(was, str) else "", value):
                    if one not in told and (other is not None or one not in seen):
                        words.setdefault(one, other or _UNKNOWN)
            elif isinstance(value, int | float | Decimal) and not isinstance(value, bool) and value != was and str(value) not in told:
                values[canonical(value)] = was or 0
    numbers = {canonical(number): _number(other) or 0 for word, other in words.items() if (number := _number(word)) is not None}
    return Moved({**numbers, **values}, words, frozenset(new))


def stale(script: Execution, episode: Episode, moved: list[Moved], reads: Callable[[str], bool]) -> Execution:
    """A reference as an agent would say it that does not look again after the world has moved.

    In the later parts it reads nothing, writes what was true before, and makes no call that names a record that is new.

    Args:
        script: What the reference says.
        episode: Its record, for where the parts end.
        moved: What each move changed, in order.
        reads: Whether a tool only reads.
    """
    ends, actions = [stage.turns for stage in episode.stages], list[Message]()
    for at, action in enumerate(script.actions):
        missed = moved[: sum(at >= end for end in ends)]
        calls = tuple(_calls(action, missed, reads))
        if calls or not action.tool_calls:
            actions.append(replace(action, content=_before(action.content, missed), tool_calls=calls))
    return replace(script, name=f"{script.name}/stale", actions=tuple(actions))


def _calls(action: Message, missed: list[Moved], reads: Callable[[str], bool]) -> Iterator[ToolCall]:
    new = Identifiers(key for one in missed for key in one.new)
    for call in action.tool_calls:
        arguments = call.decoded()
        if not missed or not (reads(call.name) or any(new.known(text) for text in texts_in(arguments))):
            yield replace(call, arguments=_before(arguments, missed))


def _before(value: Any, missed: list[Moved]) -> Any:
    for one in reversed(missed):
        value = one.before(value)
    return value


def _renewed(old: str, new: str) -> Iterator[tuple[str, str | None]]:
    """The words and passages of a text that are new in it, each with what stood in their place."""
    before, after = [*_PIECE.finditer(old)], [*_PIECE.finditer(new)]
    matcher = SequenceMatcher(None, [one[0] for one in before], [one[0] for one in after], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind not in ("insert", "replace"):
            continue
        passage = new[after[c].start() : after[d - 1].end()]
        pairs: list[tuple[str, str | None]] = [(passage, old[before[a].start() : before[b - 1].end()] if b > a else None)]
        pairs += [(one[0], before[a + at][0] if b - a == d - c else None) for at, one in enumerate(after[c:d])]
        yield from (pair for pair in pairs if _telling(pair[0]))


def _telling(word: str) -> bool:
    return len(word) >= (2 if any(letter.isdigit() or not letter.isascii() for letter in word) else _TELLING)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
