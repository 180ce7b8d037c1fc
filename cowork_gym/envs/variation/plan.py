"""What is the same for all seeds of a task: what is looked for, and what must not be made twice. Worked out once for each task."""

from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import NamedTuple

from cowork_gym.core.task import Task
from cowork_gym.envs.variation.amounts import amount_pairs
from cowork_gym.envs.variation.corpus import Corpus, corpus_of
from cowork_gym.envs.variation.finder import Finder
from cowork_gym.envs.variation.form import ALL, Variation, parse_variation
from cowork_gym.envs.variation.identifiers import id_pairs, record_ids, tokens_in
from cowork_gym.envs.variation.naming import Naming

__all__ = ["FILE", "Claim", "Plan", "plan_of"]

FILE = "private/variation.yaml"
_MOST_WEEKS, _LAST_DAY = 40, date(2999, 12, 31)


class Claim(NamedTuple):
    """A text that varies."""

    text: str
    where: str
    """The field that declares it."""
    meaning: str
    """Equal for equal texts that vary alike."""


@dataclass(frozen=True)
class Plan:
    """How a task varies."""

    task: Task
    variation: Variation

    @cached_property
    def corpus(self) -> Corpus:
        """What stands in the package."""
        return corpus_of(self.task, self.variation.extra())

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The identifiers that are redrawn, sorted."""
        listed = self.variation.ids
        return tuple(sorted({one for one in listed if one != ALL} | (record_ids(self.task) if ALL in listed else set())))

    @cached_property
    def tokens(self) -> frozenset[str]:
        """What no new identifier may be."""
        return tokens_in(text for _, text in self.corpus.texts)

    @cached_property
    def naming(self) -> Naming:
        """The names."""
        return Naming(self.variation.names)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The texts that have alternatives."""
        return tuple(text for alternatives in self.variation.choose for text in alternatives[0])

    @cached_property
    def weeks(self) -> range:
        """By how many weeks its days may move: the last of them stays within the years that a task may have."""
        if self.variation.dates is None:
            return range(1)
        last = max([self.task.mock_today, *(stage.day for stage in self.task.stages)])
        return range(1, min(_MOST_WEEKS, (_LAST_DAY - last).days // 7) + 1)

    @cached_property
    def claims(self) -> tuple["Claim", ...]:
        """Every text that is looked for, save for those that have alternatives."""
        ids = [Claim(old, f"ids ({id})", new) for id in self.ids for old, new in id_pairs(id, id)]
        names = [Claim(text, "names", meaning) for text, meaning in self.naming.meanings()]
        amounts = [
            Claim(text, f"amounts.{name}", name) for name, one in self.variation.amounts.items() for text, _ in amount_pairs(one, one.value)
        ]
        return (*ids, *names, *amounts)

    @cached_property
    def inner(self) -> Finder:
        """Finds what varies within alternatives."""
        return Finder((one.text for one in self.claims), dates=self.variation.dates is not None)

    @cached_property
    def finder(self) -> Finder:
        """Finds everything that varies."""
        if not self.choices:
            return self.inner
        return Finder([*self.choices, *(one.text for one in self.claims)], dates=self.variation.dates is not None)


@lru_cache(maxsize=128)
def plan_of(task: Task) -> Plan:
    """The plan of a task, as its author wrote it.

    Raises:
        PackageError: Its variation is not of the form.
    """
    return Plan(task, parse_variation(task.variation, FILE))
