"""Which tasks are worth demonstrating: labels by mean completion, and which of the labelled records an export admits (CoworkEnv, appendix E)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from cowork_gym.core.errors import UserError

__all__ = [
    "REWARDS", "Admitted", "Label", "Record", "Rewards", "Thresholds", "admit", "label", "mean_score", "prefix_of", "published_label",
    "read_score", "score_of",
]


class Label(StrEnum):
    """What a task is to the teacher that was let at it several times."""

    KEEP = "KEEP"
    TRIVIAL = "TRIVIAL"
    """Solved nearly always: one record of each family of names is enough."""
    UNSOLVABLE = "UNSOLVABLE"
    """Hardly ever solved: set aside."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where the labels begin. Both defaults are ours: the paper's equation is lost.

    Raises:
        UserError: They are not in order, or not from 0 to 1.
    """

    unsolvable: float = 0.2
    """A mean below this is UNSOLVABLE."""
    trivial: float = 0.95
    """A mean of this or above is TRIVIAL."""

    def __post_init__(self) -> None:
        if not 0 <= self.unsolvable <= self.trivial <= 1:
            raise UserError(f"thresholds are two numbers from 0 to 1, the lower one first, not {self.unsolvable:g} and {self.trivial:g}")


REWARDS: Mapping[str, float] = {"mixed": 0.5, "multi_service": 0.8, "safety": 0.8, "document_extraction": 0.999, "clawmark": 0.3}
"""The published thresholds on rewards, by export."""


@dataclass(frozen=True, slots=True)
class Rewards:
    """The least reward of a demonstration.

    Raises:
        UserError: One is no number from 0 to 1.
    """

    default: float = 0.0
    by_category: tuple[tuple[str, float], ...] = ()
    """Of tasks of a category, in place of the default."""

    def __post_init__(self) -> None:
        for value in (self.default, *(value for _, value in self.by_category)):
            if not 0 <= value <= 1:
                raise UserError(f"a reward is a number from 0 to 1, not {value:g}")

    def least(self, category: str) -> float:
        """For tasks of a category."""
        return dict(self.by_category).get(category, self.default)


def score_of(value: Any) -> float | None:
    """A recorded score as a number; None when it is missing, cannot be read as a number, or is none from 0 to 1."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and 0 <= number <= 1 else None


def read_score(record: Any) -> float | None:
    """The score of an attempt: its completion, and its reward only where the record has no completion at all.

    A completion that is there and cannot be read is not replaced by the reward: the attempt is unreadable.

    Args:
        record: A mapping with `completion` or `reward`, or the score itself.
    """
    if not isinstance(record, Mapping):
        return score_of(record)
    return score_of(record["completion"] if "completion" in record else record.get("reward"))


def mean_score(attempts: Iterable[Any]) -> float | None:
    """The mean over the readable attempts of a task; None when there is none.

    Args:
        attempts: As `read_score` takes them.
    """
    scores = [score for one in attempts if (score := read_score(one)) is not None]
    return math.fsum(scores) / len(scores) if scores else None


def label(mean: float | None, thresholds: Thresholds | None = None) -> Label | None:
    """The label of a task with that mean; a task without readable attempts has none."""
    if mean is None:
        return None
    limits = thresholds or Thresholds()
    if mean >= limits.trivial:
        return Label.TRIVIAL
    return Label.UNSOLVABLE if mean < limits.unsolvable else Label.KEEP


def published_label(mean: float | None, tolerance: float = 1e-9) -> Label | None:
    """The label as far as the paper tells it: a mean of 0.8 is KEEP (its task M133). Of other means nothing is known."""
    return Label.KEEP if mean is not None and abs(mean - 0.8) <= tolerance else None


def prefix_of(path: str) -> str:
    """The final component of a path up to its first underscore: names that share it are variants of one task.

    Example:
        >>> prefix_of("runs/M1003_ticket_kb_resolution")
        'M1003'
    """
    return PurePosixPath(path.replace("\\", "/")).name.partition("_")[0]


class Record(NamedTuple):
    """A labelled record, as far as admission looks at it."""

    name: str
    """The task's name, or a path that ends with it."""
    label: Label | None
    trial: str | None = None
    """Which attempt it is; None where nobody said, so that it is no copy of another one."""


class Admitted(NamedTuple):
    """What an export admits."""

    kept: tuple[int, ...]
    """By index, in order."""
    counts: Mapping[str, int]
    """The others, by reason."""


def admit(records: Sequence[Record], *, one_a_prefix: bool = True) -> Admitted:
    """The records that an export takes: all of KEEP tasks, the first of each prefix of TRIVIAL ones, no others.

    Of records with the same task name and trial, the first counts.

    Args:
        records: Those that qualify otherwise, in the order of their collections.
        one_a_prefix: Whether TRIVIAL records share an allowance of one a prefix.
    """
    kept, counts = list[int](), Counter[str]()
    trials, prefixes = set[tuple[str, str]](), set[str]()
    for at, one in enumerate(records):
        name, prefix = PurePosixPath(one.name.replace("\\", "/")).name, prefix_of(one.name)
        if one.trial is not None and (name, one.trial) in trials:
            counts["duplicate"] += 1
            continue
        if one.trial is not None:
            trials.add((name, one.trial))
        if one.label is None or one.label is Label.UNSOLVABLE:
            counts["no_label" if one.label is None else "unsolvable"] += 1
        elif one.label is Label.TRIVIAL and one_a_prefix and prefix in prefixes:
            counts["trivial_prefix"] += 1
        else:
            kept.append(at)
            if one.label is Label.TRIVIAL:
                prefixes.add(prefix)
    return Admitted(tuple(kept), dict(counts))
