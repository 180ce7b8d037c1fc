"""The split: which tasks are held out for validation. Fixed by the release's name, even over categories, and no pair of twins is parted."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from cowork_gym.core.errors import UserError
from cowork_gym.core.ids import generator

__all__ = ["hold_out"]


def hold_out(categories: Mapping[str, str], pairs: Iterable[tuple[str, str]], fraction: float, name: str) -> frozenset[str]:
    """The tasks to hold out.

    Each category gives its share, rounded by the largest remainders, of groups of tasks that must stay together; neither side is empty.
    The same tasks under the same name are always divided in the same way.

    Args:
        categories: The category of each task, by id.
        pairs: Tasks that must be on the same side.
        fraction: The share to hold out.
        name: The release's, which seeds the choice.

    Raises:
        UserError: The fraction is not between 0 and 1, or so many tasks are alike that nothing can be held out.
    """
    if not 0 < fraction < 1:
        raise UserError(f"the share to hold out is a number between 0 and 1, not {fraction:g}")
    groups = _groups(sorted(categories), pairs)
    if len(groups) < 2:
        raise UserError(f"nothing can be held out: {len(categories)} task{'s' * (len(categories) != 1)}, all of them alike")
    strata: dict[str, list[list[str]]] = defaultdict(list)
    for group in groups:
        strata[categories[group[0]]].append(group)
    wanted = _shares({category: sum(map(len, members)) for category, members in strata.items()}, fraction)
    held = {one for category in sorted(strata) for one in _draw(strata[category], wanted[category], name, category)}
    least = min(groups, key=lambda group: (len(group), generator(0, name, "split", *group).random()))
    if not held:  # no group was so small that it fitted
        held = {*least}
    return frozenset(held - {*least} if len(held) == len(categories) else held)


def _groups(ids: Sequence[str], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The tasks in groups, such that each pair is in one of them."""
    groups = {one: [one] for one in ids}
    for one, other in pairs:
        if groups[one] is not groups[other]:
            groups[one] += groups[other]
            for member in groups[other]:
                groups[member] = groups[one]
    return sorted({id(group): sorted(group) for group in groups.values()}.values())


def _shares(sizes: Mapping[str, int], fraction: float) -> dict[str, int]:
    """How many tasks each category gives (Hamilton's method: whole parts first, then the largest remainders)."""
    total = max(round(fraction * sum(sizes.values())), 1)
    shares = {category: int(fraction * size) for category, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda category: (shares[category] - fraction * sizes[category], category))
    for category in by_remainder[: max(total - sum(shares.values()), 0)]:
        shares[category] += 1
    return shares


def _draw(groups: list[list[str]], wanted: int, name: str, category: str) -> list[str]:
    """Groups of a category, in an order of chance, as long as they fit."""
    order, drawn = sorted(groups), list[str]()
    generator(0, name, "split", category).shuffle(order)
    for group in order:
        if len(drawn) + len(group) <= wanted:
            drawn += group
    return drawn
