"""Rollouts from directories of sealed episodes, one episode in memory at a time, with a count of whatever is left out and why."""

import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cowork_gym.core.canonical import decode
from cowork_gym.core.errors import MissingExtra, PackageError, UserError, told
from cowork_gym.core.forms import take
from cowork_gym.core.record import read_episode
from cowork_gym.trainers.data.groups import Group
from cowork_gym.trainers.data.recorded import Conversion, form_id, rollout_of
from cowork_gym.trainers.data.rollouts import Rollout

__all__ = ["Counts", "RolloutReader"]

_LOG = logging.getLogger(__name__)
_SLOT = re.compile(r"(?P<task>.+)-s(?P<seed>\d+)-t(?P<trial>\d+)\.jsonl")
_PLAIN = Conversion()
_Form: TypeAlias = tuple[str, str, int]
"""A task, its release and the seed of its world."""


@dataclass(slots=True)
class Counts:
    """What was read, and what of it was left out."""

    episodes: int = 0
    """Files that were opened."""
    rollouts: int = 0
    """That were given out."""
    segments: int = 0
    """With something to train, of those rollouts."""
    tokens: int = 0
    """To be trained, of those segments."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Episodes that were left out, by reason."""
    dropped_segments: Counter[str] = field(default_factory=Counter)
    """Segments of the rollouts that are not trained, by reason."""


class RolloutReader:
    """The rollouts of one or more directories, in the order of task, form and trial.

    Iterating gives those that count in statistics and have something to train. Each time anew, what is left out is counted: episodes that are
    quarantined, not graded, unreadable, or without a token to train, and segments that are for audit only.

    Args:
        places: Directories of rollouts, folders of episode files, or single files.
        conversion: How episodes become rollouts.

    Raises:
        UserError: A place is not there, or is named twice.
    """

    def __init__(self, places: Sequence[str | Path], conversion: Conversion = _PLAIN) -> None:
        self._places, self._conversion = [Path(one) for one in places], conversion
        met = set[Path]()
        for place in self._places:
            if not place.exists():
                raise UserError(f"{place}: there is no such directory or file")
            if (whole := _records(place).resolve()) in met:
                raise UserError(f"{place}: named twice")
            met.add(whole)
        self.counts = Counts()
        self._first: tuple[str, Path] | None = None

    def __iter__(self) -> Iterator[Rollout]:
        """Rollouts to train.

        Raises:
            PackageError: Two episodes have token ids of different tokenizers; the text names both.
            MissingExtra: There are tokens, and the library that reads them is not installed.
        """
        for path, one in self._rollouts():
            self._check_tokenizer(path, one)
            self._note(one)
            if one.live:
                yield self._counted(one)

    def outcomes(self) -> Iterator[Rollout]:
        """Rollouts that have a reward, also those without tokens and those of several tokenizers: what pass rates are taken from.

        Raises:
            MissingExtra: As when iterating.
        """
        for _, one in self._rollouts():
            if one.valid:
                yield self._counted(one)
            else:
                self.counts.dropped[one.drop_reason] += 1

    def groups(self, size: int | None = None) -> Iterator[Group]:
        """Rollouts by group, those of one form of a task in memory at a time. Last come the planned forms that have no episode at all.

        A graded rollout without a token to train is in its group: its reward counts in the statistics, as that of any other attempt.

        Args:
            size: How many rollouts make a group complete; None takes the number of trials that was planned, where the directories agree.

        Raises:
            PackageError: As when iterating; or the episodes of a form do not stand together, as they do in directories of rollouts.
        """
        plans = [_plan(place / "rollout.json") for place in self._places]
        numbers = {one.get("n") for one in plans}
        size = numbers.pop() if size is None and len(numbers) == 1 else size
        met, form, open_ = set[_Form](), None, dict[str, Group]()
        for path, one in self._rollouts():
            self._check_tokenizer(path, one)
            if (here := (one.task, one.release_id, one.seed)) != form:
                yield from open_.values()
                form, open_ = here, {}
                if here in met:
                    raise PackageError(path, "", f"the episodes of {one.task} in form {one.seed} do not stand together among the files")
                met.add(here)
            group = open_.get(one.group) or Group(one.group, *here, size=size)
            if any(each.id == one.id for each in group.rollouts):
                self.counts.dropped["the same episode again"] += 1
            else:
                self._note(one)
                group = group.with_one(self._counted(one)) if one.valid else group
            open_[one.group] = group
        yield from open_.values()
        yield from (Group(form_id(*one), *one, size=size) for one in _forms(plans) if one not in met)

    def _rollouts(self) -> Iterator[tuple[Path, Rollout]]:
        """Each file that can be read, with its rollout. Counting begins anew."""
        self.counts, self._first = Counts(), None
        waiting = sum(1 for place in self._places for _ in (place / "quarantine").glob("*.jsonl"))
        self.counts.dropped.update({"in quarantine": waiting} if waiting else {})
        for path in self._files():
            self.counts.episodes += 1
            try:
                episode = read_episode(path)
            except MissingExtra:
                raise
            except PackageError as error:
                _LOG.warning("left out: %s", error)
                self.counts.dropped["unreadable"] += 1
                continue
            yield path, rollout_of(episode, self._conversion, trial=path.stem)

    def _files(self) -> Iterator[Path]:
        """The episode files of all places, trials of one form together. All that is kept of them meanwhile is their names."""
        found = list[tuple[str, int, int, int, str]]()
        places = [_records(place) for place in self._places]
        for number, place in enumerate(places):
            for name in [place.name] if place.is_file() else (one.name for one in os.scandir(place) if one.name.endswith(".jsonl")):
                slot = _SLOT.fullmatch(name)
                task, seed, trial = (slot["task"], int(slot["seed"]), int(slot["trial"])) if slot else (name, -1, 0)
                found.append((sys.intern(task), seed, trial, number, name))
        found.sort()
        yield from (place if (place := places[number]).is_file() else place / name for *_, number, name in found)

    def _check_tokenizer(self, path: Path, one: Rollout) -> None:
        """Hold what can be trained against the tokenizer of what came before."""
        if not one.live:
            return
        name, there = self._first = self._first or (one.tokenizer, path)
        if name != one.tokenizer:
            raise PackageError(path, "", f"its tokenizer is {one.tokenizer or 'unknown'}, and that of {there} is {name or 'unknown'}")

    def _note(self, one: Rollout) -> None:
        """Count a rollout that does not count in statistics, or that has nothing to train."""
        if not one.valid:
            self.counts.dropped[one.drop_reason] += 1
        elif not one.live:
            why = one.segments[-1].drop_reason if one.segments else "no runs"
            self.counts.dropped[f"nothing to train: {why}"] += 1

    def _counted(self, one: Rollout) -> Rollout:
        counts = self.counts
        counts.rollouts += 1
        counts.segments += len(one.live)
        counts.tokens += one.trained
        counts.dropped_segments.update(segment.drop_reason for segment in one.segments if segment.drop_reason)
        return one


def _records(place: Path) -> Path:
    """Where the episode files of a place lie."""
    return place / "episodes" if (place / "episodes").is_dir() else place


def _plan(path: Path) -> Mapping[str, Any]:
    """What was to be played; nothing where nobody planned it.

    Raises:
        PackageError: The file is no plan of a rollout.
    """
    if not path.is_file():
        return {}
    try:
        plan = decode(path.read_bytes())
        take({name: plan[name] for name in ("n", "seeds", "releases")}, n=int, seeds=list, releases=dict)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PackageError(path, "", f"not the plan of a rollout: {told(error)}") from None
    return plan if isinstance(plan, dict) else {}


def _forms(plans: Sequence[Mapping[str, Any]]) -> list[_Form]:
    """The forms that were to be played, each once."""
    every = (
        (task, release, seed) for plan in plans for task, release in plan.get("releases", {}).items() for seed in plan.get("seeds", ())
    )
    return list(dict.fromkeys(every))
