"""Which records become data: copies, records that were replaced, tasks that may not be trained on, and the marks that an attempt must reach."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cowork_gym.trainers.data.sft.attempts import Attempt, Collection
from cowork_gym.trainers.data.sft.catalog import Card
from cowork_gym.trainers.data.sft.recipes import Recipe
from cowork_gym.trainers.data.sft.selection import Label, Record, admit, label, mean_score

__all__ = ["Authorisation", "Chosen", "choose"]


@dataclass(frozen=True, slots=True)
class Authorisation:
    """What releases say that their tasks may be used for.

    Where releases are given, a task that none of them has is not authorised either: nothing is that is not said.
    """

    uses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By release id of the task. A task of several releases has the uses that all of them authorise."""
    releases: tuple[str, ...] = ()
    """The releases, as they are cited."""
    authors: tuple[str, ...] = ()
    """Who wrote the tasks."""
    teachers: tuple[str, ...] = ()
    """Who made the demonstrations that the releases tell of."""

    def problem(self, task: str, release_id: str, use: str) -> str:
        """Why a task may not be used; empty when it may be, or nothing is said of any task.

        Another release of a task counts when it holds the task back: the world is the same.
        """
        held = any(use not in uses for one, uses in self.uses.items() if one.partition("@")[0] == task)
        if held:
            return "not_authorised"
        return "undeclared_release" if self.releases and release_id not in self.uses else ""


class Chosen(NamedTuple):
    """What was chosen."""

    attempts: tuple[Attempt, ...]
    """In order."""
    counts: Mapping[str, int]
    """The others, by reason, sorted."""
    labels: Mapping[str, int]
    """Tasks by label; those without readable attempts under `none`. Empty where nothing was labelled."""


def choose(
    attempts: Sequence[Attempt], collections: Sequence[Collection], cards: Callable[[Attempt], Card | None], recipe: Recipe,
    authorisation: Authorisation | None = None,
) -> Chosen:
    """Choose the records that become data. Each that does not is counted under the first reason that holds.

    Args:
        attempts: All of them, in the order in which copies count.
        collections: Where they are from.
        cards: What is known of an attempt's task; None where its release is not installed.
        recipe: What is asked of them.
        authorisation: What their tasks may be used for; None where nobody says.
    """
    counts, may = Counter[str](), authorisation or Authorisation()
    latest = _latest(attempts, collections)
    current = _counted(attempts, lambda one: "superseded" if one.collection < latest.get(one.task, -1) else "", counts)
    graded = _counted(current, _ungraded, counts)
    own = _without_copies(graded, recipe.copies, counts)
    allowed = _counted(own, lambda one: may.problem(one.task, one.release_id, recipe.use), counts)
    means = _means(allowed) if recipe.thresholds else {}
    qualified = _counted(allowed, lambda one: _short(one, cards(one), recipe), counts)
    if recipe.best != "none":
        qualified = _best(qualified, cards, recipe.best == "dialogue", counts)
    labels: Mapping[str, int] = {}
    if recipe.thresholds is not None:
        named = {release: label(mean, recipe.thresholds) for release, mean in means.items()}
        labels = Counter(one.value if one else "none" for one in named.values())
        qualified = _admitted(qualified, named, counts)
    return Chosen(tuple(qualified), dict(sorted(counts.items())), dict(sorted(labels.items())))


def _counted(attempts: Iterable[Attempt], why: Callable[[Attempt], str], counts: Counter[str]) -> list[Attempt]:
    kept = []
    for one in attempts:
        if reason := why(one):
            counts[reason] += 1
        else:
            kept.append(one)
    return kept


def _latest(attempts: Sequence[Attempt], collections: Sequence[Collection]) -> Mapping[str, int]:
    """The last replacement collection that has a task, quarantined or not: it was executed again, so what was before is outdated."""
    return {one.task: one.collection for one in attempts if collections[one.collection].replaces}


def _ungraded(one: Attempt) -> str:
    if one.fault:
        return "quarantined"
    return "no_score" if one.reward is None else ""


def _without_copies(attempts: Iterable[Attempt], copies: str, counts: Counter[str]) -> list[Attempt]:
    seals, seen, kept = set[str](), set[tuple[str, ...]](), list[Attempt]()
    for one in attempts:
        key = (one.task, one.trial) if copies == "trial" else (one.task, one.trial, one.release_id, one.agent, one.version)
        if one.seal in seals or key in seen:
            counts["duplicate"] += 1
            continue
        seals.add(one.seal)
        seen.add(key)
        kept.append(one)
    return kept


def _means(attempts: Iterable[Attempt]) -> Mapping[str, float | None]:
    """The mean completion of each release of a task over its own attempts; branches begin where others led."""
    scores: dict[str, list[float | None]] = {}
    for one in attempts:
        ones = scores.setdefault(one.release_id, [])
        if not one.branched:
            ones.append(one.completion)
    return {release: mean_score(ones) for release, ones in scores.items()}


def _short(one: Attempt, card: Card | None, recipe: Recipe) -> str:
    """What an attempt falls short of."""
    if one.reward is None or one.reward < recipe.rewards.least(card.category if card else ""):
        return "below_reward"
    if one.turns < recipe.min_turns:
        return "too_few_turns"
    return "invalid_calls" if recipe.valid_calls and one.invalid else ""


def _best(attempts: Sequence[Attempt], cards: Callable[[Attempt], Card | None], dialogues_only: bool, counts: Counter[str]) -> list[Attempt]:
    """The highest-scoring attempt of each task: by reward, then by completion; of equal ones the first."""
    best: dict[str, Attempt] = {}
    for one in attempts:
        other = best.get(one.task)
        if other is None or _marks(one) > _marks(other):
            best[one.task] = one

    def beaten(one: Attempt) -> str:
        card = cards(one)
        concerned = not dialogues_only or (card is not None and card.category == "dialogue")
        return "not_best" if concerned and one is not best[one.task] else ""

    return _counted(attempts, beaten, counts)


def _marks(one: Attempt) -> tuple[float, float]:
    return (one.reward or 0.0, one.completion or 0.0)


def _admitted(attempts: Sequence[Attempt], named: Mapping[str, Label | None], counts: Counter[str]) -> list[Attempt]:
    found = admit([Record(one.task, named[one.release_id]) for one in attempts])
    counts.update(found.counts)
    return [attempts[at] for at in found.kept]
