"""What makes a task the same as another one: hashes of its parts, and how much of their wording two requests share."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cowork_gym.core.canonical import digest
from cowork_gym.core.task import Task
from cowork_gym.graders.matchers.folding import normalise
from cowork_gym.synthesis.release.form import Identity

__all__ = ["NEAR", "Profile", "identify", "in_common", "shingles"]

NEAR = 0.5
"""From which share of common shingles on two requests are nearly the same."""
_LENGTH = 3
_TOKEN = re.compile(r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A word, or one letter of a script that is written without spaces."""


class Profile(NamedTuple):
    """A task as far as it is compared."""

    id: str
    identity: Identity
    wording: frozenset[str]
    """The shingles of what its user says."""


def identify(task: Task, structure: str) -> Identity:
    """The hashes of a task's parts.

    Args:
        task: The task.
        structure: The digest of its structural signature.
    """
    said = [normalise(task.request), *(normalise(one.request) for one in task.stages)]
    world = {
        f"{service}.{collection}": sorted(digest(record) for record in records)
        for service, collections in task.world.items() for collection, records in collections.items() if records
    }
    grader = [task.grading, task.dialogue]
    return Identity(digest(said), digest([world, task.files]) if world or task.files else "", digest(task.contracts), digest(grader), structure)


def shingles(*texts: str) -> frozenset[str]:
    """Every run of three words in some texts; of a text that has fewer, all of it."""
    return frozenset(run for text in texts for run in _runs(_TOKEN.findall(text.casefold())))


def in_common(one: Profile, other: Profile) -> Iterator[tuple[str, float]]:
    """The parts that two tasks have in common, each with how much they are alike."""
    ours, theirs = one.identity, other.identity
    if ours.request == theirs.request:
        yield "request", 1.0
    elif (share := _shared(one.wording, other.wording)) >= NEAR:
        yield "near-request", round(share, 3)
    for part in ("world", "tools", "grader", "structure"):
        if getattr(ours, part) and getattr(ours, part) == getattr(theirs, part):
            yield part, 1.0


def _runs(words: list[str]) -> Iterator[str]:
    for at in range(max(len(words) - _LENGTH + 1, 1)):
        yield " ".join(words[at : at + _LENGTH])


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the smaller set that the other one has (the overlap coefficient of Szymkiewicz and Simpson)."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
