"""The agent that does not look again: what it says in the later parts of a task, if it takes the world for what it was."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from cowork_gym.core.canonical import canonical
from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.snapshot import Change
from cowork_gym.core.task import Execution
from cowork_gym.graders.evidence import Row
from cowork_gym.synthesis.identifiers import Identifiers, texts_in

__all__ = ["Moved", "moved_between", "stale"]

_TELLING = 4
"""Letters of a text that is taken for a changed value wherever it stands; a shorter one must be the whole argument."""


class Moved:
    """What an agent that does not look again does not know.

    Args:
        now: What values were before the world moved, by the canonical text of what they are now.
        new: The keys of the records that have come.
    """

    def __init__(self, now: Mapping[str, tuple[Any, Any]], new: frozenset[str]) -> None:
        self._values, self.new = now, new
        words = {str(value): str(old) for value, old in now.values() if isinstance(value, str) and len(value) >= _TELLING and isinstance(old, str)}
        self._words = words
        self._pattern = re.compile("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in sorted(words, key=len, reverse=True))) if words else None

    def __len__(self) -> int:
        return len(self._values) + len(self.new)

    def before(self, value: Any) -> Any:
        """A value as it would be written by one who knows only the world before."""
        if isinstance(value, Mapping):
            return {name: self.before(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.before(item) for item in value]
        if value is not None and not isinstance(value, bool) and (known := self._values.get(canonical(value))) is not None:
            return known[1]
        if isinstance(value, str) and self._pattern is not None:
            return self._pattern.sub(lambda found: self._words[found[0]], value)
        return value


def moved_between(before: Mapping[tuple[str, str], Row | None], changes: tuple[Change, ...], told: str) -> Moved:
    """What a move of the world changed silently.

    Args:
        before: The rows that changed as they were, by table and key.
        changes: The rows that differ from the first state after the move.
        told: What the user has said; values and keys that stand there are known.
    """
    values, new = dict[str, tuple[Any, Any]](), set[str]()
    for change in changes:
        old, row = before.get((change.table, change.key)), change.after
        if row is None:
            continue
        if old is None:
            new |= set() if change.key in told else {change.key}
            continue
        for name, value in row.items():
            was = old.get(name)
            if was is not None and was != value and not isinstance(value, bool | list | dict) and str(value) not in told:
                values[canonical(value)] = (value, was)
    return Moved(values, frozenset(new))


def stale(script: Execution, episode: Episode, moved: list[Moved], reads: Callable[[str], bool]) -> Execution:
    """A reference as an agent would say it that does not look again after the world has moved.

    In the later parts it reads nothing, writes old values for those that changed, and makes no call that names a record that is new.

    Args:
        script: What the reference says.
        episode: Its record, for where the parts end.
        moved: What each move changed, in order.
        reads: Whether a tool only reads.
    """
    ends, actions = [stage.turns for stage in episode.stages], list[Message]()
    for at, action in enumerate(script.actions):
        known = moved[: sum(at >= end for end in ends)]
        calls = tuple(_calls(action, known, reads))
        if not known or calls or not action.tool_calls:
            content = action.content
            for one in reversed(known):
                content = None if content is None else one.before(content)
            actions.append(replace(action, content=content, tool_calls=calls))
    return replace(script, name=f"{script.name}/stale", actions=tuple(actions))


def _calls(action: Message, known: list[Moved], reads: Callable[[str], bool]) -> Iterator[ToolCall]:
    new = frozenset[str]().union(*(one.new for one in known))
    for call in action.tool_calls:
        arguments: Any = call.decoded()
        if known and (reads(call.name) or any(Identifiers(new).known(text) for text in texts_in(arguments))):
            continue
        for one in reversed(known):
            arguments = one.before(arguments)
        yield replace(call, arguments=arguments)
