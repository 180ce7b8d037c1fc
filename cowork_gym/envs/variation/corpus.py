"""What stands in a package: every text that varies with its place, every number, and the names of fields, which never vary."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from cowork_gym.core.task import Task
from cowork_gym.envs.variation.parts import Change, changed, changed_parts
from cowork_gym.graders.matchers import MATCHERS
from cowork_gym.graders.numerals import exact, numbers_in

__all__ = ["Corpus", "corpus_of"]


@dataclass(frozen=True)
class Corpus:
    """The texts and numbers of a package."""

    texts: tuple[tuple[str, str], ...]
    """Each with its place, such as `world/kb.yaml`."""
    typed: frozenset[Decimal]
    """The numbers that are no texts, without their sign."""
    fields: frozenset[str]
    """Names of fields, arguments and matchers."""

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """Every number, those that texts mention included."""
        return self.typed | {abs(number) for _, text in self.texts for number in numbers_in(text)}

    def holds(self, text: str) -> bool:
        """Whether a text stands anywhere, in any case, even within a word."""
        return text.lower() in self._whole

    @cached_property
    def _whole(self) -> str:
        return "\n".join(text for _, text in self.texts).lower()


def corpus_of(task: Task, extra: Iterable[tuple[str, Any]] = ()) -> Corpus:
    """The corpus of a package.

    Args:
        task: The task, as its author wrote it.
        extra: Further values, each with its place.
    """
    texts, typed = dict[tuple[str, str], None](), set[Decimal]()

    def at(place: str) -> Change:
        def note(value: Any) -> Any:
            if isinstance(value, str):
                texts[place, value] = None
            elif (number := exact(value)) is not None:
                typed.add(abs(number))
            return value

        return note

    changed_parts(task, at)
    for place, value in extra:
        changed(value, at(place))
    return Corpus(tuple(texts), frozenset(typed), frozenset({*MATCHERS, *_fields(task)}))


def _fields(task: Task) -> Iterator[str]:
    for collections in task.world.values():
        yield from _names([*collections.values()])
    yield from (name for stage in task.stages for change in stage.changes for name in _names(change.fields))
    calls = (call for execution in task.references for action in execution.actions for call in action.tool_calls)
    yield from (name for call in calls for name in _names(call.arguments))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield name
            yield from _names(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _names(one)
