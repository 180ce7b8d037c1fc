"""The records that a build is given: where they lie, and what is known of each before it is looked into."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cowork_gym.core.episode import Ending, Episode, Turn
from cowork_gym.core.errors import MissingExtra, PackageError, UserError
from cowork_gym.core.record import read_episode
from cowork_gym.core.trajectory import ROOT
from cowork_gym.trainers.data.sft.quality import refused
from cowork_gym.trainers.data.sft.selection import score_of

__all__ = ["Attempt", "Collection", "Survey", "collect", "survey"]

_PARTS = ("episodes", "quarantine")
"""Where a rollout keeps its records."""


class Collection(NamedTuple):
    """Records that were collected together."""

    name: str
    """The folder's name, or the file's; a number tells two of the same name apart."""
    root: Path
    files: tuple[str, ...]
    """From there, sorted."""
    replaces: bool = False
    """Whether its tasks were executed again, so that earlier records of theirs no longer count."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One record, as selection sees it."""

    collection: int
    file: str
    """In its collection."""
    seal: str
    task: str
    release_id: str
    seed: int
    agent: str
    version: str
    """Of the policy's weights, when the episode began."""
    turns: int
    """Of the root run, invalid ones included."""
    invalid: int
    """Those of them that were no message, or had a call that was refused."""
    completion: float | None
    reward: float | None
    fault: str = ""
    """Why it is quarantined; empty when it is not."""
    branched: bool = False
    """Whether it goes on from another episode, so that it is no attempt of its own."""

    @property
    def trial(self) -> str:
        """Which attempt it is: the file's name without its suffix."""
        return Path(self.file).stem


class Survey(NamedTuple):
    """What there is."""

    attempts: tuple[Attempt, ...]
    """In order of collections and files, quarantined ones included."""
    unreadable: tuple[str, ...]
    """A line for each file that is no sealed episode."""


def collect(runs: Iterable[str | Path], replacements: Iterable[str | Path] = ()) -> tuple[Collection, ...]:
    """Find the records of folders and files: of a rollout's directory its episodes and its quarantine, of another folder all `*.jsonl` under it.

    Args:
        runs: Directories of rollouts, other folders, or files, in the order in which copies count.
        replacements: Collections whose tasks were executed again; they come last.

    Raises:
        UserError: There is no such place, it cannot be read, or the same one is named twice.
    """
    places = [(Path(one), False) for one in runs] + [(Path(one), True) for one in replacements]
    taken, named, found = set[Path](), Counter[str](), list[Collection]()
    for place, replaces in places:
        whole = place.resolve()
        if whole in taken:
            raise UserError(f"{place}: named twice")
        taken.add(whole)
        named[whole.name] += 1
        name = whole.name if named[whole.name] == 1 else f"{whole.name}#{named[whole.name]}"
        found.append(Collection(name, *_files(place), replaces))
    return tuple(found)


def _files(place: Path) -> tuple[Path, tuple[str, ...]]:
    try:
        if place.is_file():
            return place.parent, (place.name,)
        if not place.is_dir():
            raise UserError(f"{place}: no such file or folder")
        parts = [place / one for one in _PARTS] if (place / _PARTS[0]).is_dir() else [place]
        found = (one for part in parts for one in part.rglob("*.jsonl") if one.is_file() or one.is_symlink())
        return place, tuple(sorted(one.relative_to(place).as_posix() for one in found))
    except OSError as error:
        raise UserError(f"{error.filename or place}: {error.strerror or error}") from None


def survey(collections: Iterable[Collection]) -> Survey:
    """Read every record once, and keep what selection needs of it.

    Raises:
        MissingExtra: A record has tokens, and the library that reads them is not installed.
    """
    attempts, unreadable = list[Attempt](), list[str]()
    for number, collection in enumerate(collections):
        for file in collection.files:
            try:
                attempts.append(_attempt(read_episode(collection.root / file), number, file))
            except MissingExtra:
                raise
            except PackageError as error:
                where = ": ".join(part for part in (error.where, error.problem) if part)
                unreadable.append(f"{collection.name}/{file}: {where}")
    return Survey(tuple(attempts), tuple(unreadable))


def _attempt(episode: Episode, collection: int, file: str) -> Attempt:
    grade, own = episode.grade, [*_own(episode)]
    return Attempt(
        collection, file, grade.seal if grade else "", sys.intern(episode.task), sys.intern(episode.release_id), episode.seed,
        sys.intern(episode.agent), sys.intern(episode.policy.version if episode.policy else ""), len(own),
        sum(one.action is None or one.invalid is not None or refused(one) for one in own),
        score_of(grade.completion if grade else None), score_of(grade.reward if grade else None), _fault(episode), episode.origin is not None,
    )


def _own(episode: Episode) -> Iterator[Turn]:
    return (one for one in episode.turns if one.run == ROOT)


def _fault(episode: Episode) -> str:
    """Why nothing may be learned from an episode."""
    fault = episode.fault or (episode.grade.fault if episode.grade else None)
    if fault is not None:
        return fault.blame.value
    return "fault" if episode.ending is Ending.FAULT else ""
