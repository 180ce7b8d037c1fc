"""Capability pools sampled evenly (Navalia, section 3.2), so that no kind of work crowds out the others."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cowork_gym.core.errors import UserError
from cowork_gym.core.ids import generator

__all__ = ["Drawn", "draw_evenly"]


class Drawn(NamedTuple):
    """What was drawn."""

    kept: tuple[int, ...]
    """By index, in order."""
    available: Mapping[str, int]
    """How many each pool had, sorted by pool; an item counts in the one pool that it stands in."""
    taken: Mapping[str, int]


def draw_evenly(pools: Sequence[Sequence[str]], *, seed: int, each: int | None = None) -> Drawn:
    """Draw the same number from every pool.

    An item that belongs to several pools stands in the one that is rarest over all items, ties by name; so it is drawn once. One that belongs to
    none stands in the pool with the empty name.

    Args:
        pools: The pools of each item.
        seed: Decides which items of a pool are drawn; a pool's draw does not depend on the other pools.
        each: How many of each pool; a pool that has fewer gives all. None takes as many as the smallest pool has.

    Raises:
        UserError: `each` is less than 1.
    """
    if each is not None and each < 1:
        raise UserError(f"at least one of each pool is to be drawn, not {each}")
    common = Counter(name for names in pools for name in {*names})
    members: dict[str, list[int]] = {}
    for at, names in enumerate(pools):
        members.setdefault(min(names, key=lambda name: (common[name], name), default=""), []).append(at)
    most = min(map(len, members.values()), default=0) if each is None else each
    taken = {name: _draw(members[name], most, seed, name) for name in sorted(members)}
    kept = sorted(at for ones in taken.values() for at in ones)
    return Drawn(tuple(kept), {name: len(members[name]) for name in taken}, {name: len(ones) for name, ones in taken.items()})


def _draw(members: list[int], most: int, seed: int, name: str) -> list[int]:
    return members if len(members) <= most else generator(seed, "pool", name).sample(members, most)
