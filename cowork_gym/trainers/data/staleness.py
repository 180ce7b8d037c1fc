"""Staleness: how many updates lie between the weights that sampled a token and those that are trained now, and what is too old.

Each token has the version that sampled it: a rollout that was under way while weights changed has several.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from cowork_gym.trainers.data.groups import Group
from cowork_gym.trainers.data.rollouts import Rollout, Segment

__all__ = ["By", "Fresh", "FreshGroups", "Number", "Updates", "fresh", "fresh_groups", "fresh_tokens", "last_versions", "update_of", "updates_of"]

_NUMBERED = re.compile(r"(?:(?:step|update|version|v)[-_:]?)?(\d{1,12})")
Number: TypeAlias = Callable[[str], int | None]
"""Tells after how many updates weights came to be; None where it does not know."""


class By(StrEnum):
    """Which token's version is the rollout's."""

    OLDEST = "oldest"
    """The oldest: no token is too old."""
    LAST = "last"
    """That of the last trained token, as in Dressage: nothing that was finished long ago."""


class Updates(NamedTuple):
    """The updates of the tokens that are trained."""

    oldest: int
    newest: int
    last: int


@dataclass(frozen=True, slots=True)
class Fresh:
    """Rollouts that are new enough."""

    kept: tuple[Rollout, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rollouts that are not, by reason."""


@dataclass(frozen=True, slots=True)
class FreshGroups:
    """Groups that are new enough."""

    kept: tuple[Group, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Groups that are not, by reason."""


def update_of(version: str) -> int | None:
    """The number of a version, such as `12`, `step-12` or `v12`; None for any other text, hashes among them.

    Example:
        >>> update_of("step-12"), update_of("9f31c2"), update_of("")
        (12, None, None)
    """
    found = _NUMBERED.fullmatch(version)
    return int(found[1]) if found else None


def last_versions(observed: Iterable[str]) -> Number:
    """Numbers for versions without one: by the order in which they were first met, as Dressage keeps the last few that it observed."""
    order = {version: number for number, version in enumerate(dict.fromkeys(observed))}
    return order.get


def updates_of(rollout: Rollout, number: Number = update_of) -> Updates | None:
    """The oldest, newest and last update of the tokens that a rollout trains; None where it trains none, or a version has no number."""
    met = [version for one in rollout.live for version, trained in zip(one.versions, one.mask, strict=True) if trained]
    known = {version: number(version) for version in dict.fromkeys(met)}
    values = [value for value in known.values() if value is not None]
    if not met or len(values) < len(known):
        return None
    return Updates(min(values), max(values), known[met[-1]] or 0)


def fresh(rollouts: Iterable[Rollout], now: int, most: int = 3, *, by: By = By.OLDEST, number: Number = update_of) -> Fresh:
    """The rollouts that are at most so many updates old. One whose age is not known is left out, and so is one from the future.

    Args:
        rollouts: With something to train.
        now: How many updates the weights have had that are trained.
        most: The largest difference that is kept; Occamy's is 3.
        by: Which token counts.
        number: Reads versions.
    """
    kept, dropped = list[Rollout](), Counter[str]()
    for one in rollouts:
        why = _stale(one, now, most, by, number)
        if why:
            dropped[why] += 1
        else:
            kept.append(one)
    return Fresh(tuple(kept), dict(dropped))


def fresh_groups(groups: Iterable[Group], now: int, most: int = 3, *, by: By = By.OLDEST, number: Number = update_of) -> FreshGroups:
    """The groups of which no rollout is too old: a group that lost members would be compared with less than it was sampled with.

    Args:
        groups: As `fresh` takes rollouts.
        now: See `fresh`.
        most: See `fresh`.
        by: See `fresh`.
        number: See `fresh`.
    """
    kept, dropped = list[Group](), Counter[str]()
    for group in groups:
        why = next(filter(None, (_stale(one, now, most, by, number) for one in group.rollouts if one.live)), "")
        if why:
            dropped[why] += 1
        else:
            kept.append(group)
    return FreshGroups(tuple(kept), dict(dropped))


def fresh_tokens(rollout: Rollout, now: int, most: int = 3, *, number: Number = update_of) -> Rollout:
    """The rollout with only its tokens trained that are at most so many updates old; the others are context. Its reward stays as it is.

    Args:
        rollout: Of any age.
        now: See `fresh`.
        most: See `fresh`.
        number: See `fresh`. A token whose version has no number is not trained.
    """
    return replace(rollout, segments=tuple(_masked(one, now, most, number) for one in rollout.segments))


def _masked(segment: Segment, now: int, most: int, number: Number) -> Segment:
    if segment.drop_reason:
        return segment
    young = {version: (update := number(version)) is not None and now - most <= update <= now for version in {*segment.versions}}
    mask = tuple(trained and young[version] for trained, version in zip(segment.mask, segment.versions, strict=True))
    return replace(segment, mask=mask) if any(mask) else segment.without_loss("stale")


def _stale(rollout: Rollout, now: int, most: int, by: By, number: Number) -> str:
    """Why a rollout cannot be trained now; empty when it can."""
    span = updates_of(rollout, number)
    if span is None:
        return "nothing to train" if not rollout.live else "unknown version"
    if span.newest > now:
        return f"sampled after update {now}"
    return f"more than {most} updates old" if now - (span.oldest if by is By.OLDEST else span.last) > most else ""
