"""Groups: the attempts whose rewards are compared. Which are complete, which have something to learn from, and what has still to be played.

Dynamic sampling (DAPO, arXiv:2503.14476; Navalia, section 3.3) keeps a group whose outcomes differ. It asks the raw outcome, never a reward that
was shaped, for example by length: a penalty alone would make a group of failures look worth learning from.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from cowork_gym.trainers.data.rollouts import Rollout, same_tokenizer

__all__ = ["Group", "Refill", "Sampled", "Split", "grouped", "sample_dynamically", "split_complete"]

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Group:
    """Rollouts of one form of a task, from the same beginning.

    Raises:
        ValueError: A rollout is another group's, is not valid, or stands there twice.
    """

    id: str
    task: str
    release_id: str
    seed: int
    rollouts: tuple[Rollout, ...] = ()
    size: int | None = None
    """How many make it complete; None where nobody planned that."""

    def __post_init__(self) -> None:
        for one in self.rollouts:
            if one.group != self.id:
                raise ValueError(f"rollout {one.id} belongs to group {one.group}, not to {self.id}")
            if not one.valid:
                raise ValueError(f"rollout {one.id} in group {self.id} is dropped ({one.drop_reason}): it enters no statistic")
        if len({one.id for one in self.rollouts}) < len(self.rollouts):
            raise ValueError(f"a rollout stands in group {self.id} twice")

    @property
    def lacking(self) -> int:
        """How many rollouts it has too few."""
        return max((self.size or 0) - len(self.rollouts), 0)

    @property
    def complete(self) -> bool:
        """Whether it has as many rollouts as planned, and one at least."""
        return bool(self.rollouts) and not self.lacking

    def with_one(self, rollout: Rollout) -> "Group":
        """The group with one more rollout."""
        return replace(self, rollouts=(*self.rollouts, rollout))


@dataclass(frozen=True, slots=True)
class Refill:
    """Trials that are to be played for a group."""

    group: str
    task: str
    release_id: str
    seed: int
    trials: int


@dataclass(frozen=True, slots=True)
class Split:
    """Groups by whether they are complete."""

    complete: tuple[Group, ...]
    incomplete: tuple[Group, ...]

    @property
    def refill(self) -> tuple[Refill, ...]:
        """What the incomplete ones lack."""
        return tuple(_refill(one) for one in self.incomplete)


@dataclass(frozen=True, slots=True)
class Sampled:
    """What dynamic sampling leaves."""

    kept: tuple[Group, ...]
    """Complete groups whose outcomes differ."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Groups that teach nothing, by reason."""
    refill: tuple[Refill, ...] = ()
    """What incomplete groups lack; nothing is decided on them before."""
    short: int = 0
    """How many groups a full batch still lacks, the incomplete ones not counted."""


def grouped(rollouts: Iterable[Rollout], size: int | None = None) -> list[Group]:
    """Valid rollouts by group, in the order in which groups are met. Those that are dropped make their group smaller, and nothing else.

    Args:
        rollouts: In any order.
        size: How many make a group complete.

    Raises:
        ValueError: Two have token ids of different tokenizers, one comes twice, or each of several groups has one member although `size` asks
            for more: then what stands in `group` is an id of the rollout.
    """
    members: dict[str, list[Rollout]] = {}
    for one in rollouts:
        members.setdefault(one.group, []).append(one)
    kept = {id: [one for one in each if one.valid] for id, each in members.items()}
    list(same_tokenizer(one for each in kept.values() for one in each if one.live))
    if size is not None and size > 1 and len(members) > 1 and all(len(each) == 1 for each in members.values()):
        raise ValueError(f"each of {len(members)} groups has one rollout, and {size} were asked for: they are grouped by what is the rollout's own")
    first = {id: each[0] for id, each in members.items()}
    return [Group(id, first[id].task, first[id].release_id, first[id].seed, tuple(each), size) for id, each in kept.items()]


def split_complete(groups: Iterable[Group]) -> Split:
    """Groups by whether they have as many rollouts as planned."""
    every = [*groups]
    return Split(tuple(one for one in every if one.complete), tuple(one for one in every if not one.complete))


def sample_dynamically(
    groups: Iterable[Group], *, raw: Callable[[Rollout], float | None] = lambda one: one.reward, batch: int | None = None,
    tolerance: float = _TOLERANCE,
) -> Sampled:
    """The groups that have something to learn from: those whose largest and smallest raw outcome differ.

    Attempts that were cut off count with their outcome. A group of which some outcome is missing is decided on the others.

    Args:
        groups: Complete ones and others.
        raw: The outcome, as it was graded; by default the reward of the record.
        batch: How many groups make a batch; None takes all there are.
        tolerance: What differs by no more than this is the same.
    """
    split, kept, dropped = split_complete(groups), list[Group](), Counter[str]()
    for group in split.complete:
        known = [value for value in map(raw, group.rollouts) if value is not None]
        if len(known) < 2:
            dropped["fewer than two outcomes"] += 1
        elif max(known) - min(known) <= tolerance:
            dropped[f"every outcome is {known[0]:g}"] += 1
        elif batch is not None and len(kept) == batch:
            dropped["the batch is full"] += 1
        else:
            kept.append(group)
    return Sampled(tuple(kept), dict(dropped), split.refill, 0 if batch is None else batch - len(kept))


def _refill(group: Group) -> Refill:
    return Refill(group.id, group.task, group.release_id, group.seed, max(group.lacking, 1))
