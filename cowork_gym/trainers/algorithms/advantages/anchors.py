"""Anchors of steps: the key under which steps of different rollouts count as taken in the same state."""

import hashlib
from collections.abc import Iterable, Sequence
from enum import StrEnum

__all__ = ["AnchorForm", "anchor_keys", "seen_so_far"]


class AnchorForm(StrEnum):
    """When two steps are taken in the same state."""

    WORLD = "world"
    """When the environment is in the same state. Reads do not change it, so steps before and after a read are the same state."""
    WORLD_AND_SEEN = "world_and_seen"
    """When the agent has seen the same information as well."""


def seen_so_far(observations: Sequence[Iterable[str]]) -> list[str]:
    """For each step a hash of the information that the agent had seen before it.

    Information is a set: neither the order of reading nor repetition changes what is known.

    Args:
        observations: For each step what it returned; step 0 has seen nothing yet.
    """
    seen: set[str] = set()
    hashes = []
    for returned in observations:
        hashes.append(hashlib.sha256("".join(sorted(seen)).encode()).hexdigest())
        seen.update(hashlib.sha256(one.encode()).hexdigest() for one in returned)
    return hashes


def anchor_keys(world: Sequence[str | None], seen: Sequence[str | None] | None = None, form: AnchorForm = AnchorForm.WORLD) -> list[str | None]:
    """The key of each step; None where what it needs is missing, which empty text is as well: so records say that nobody knows the state.

    Args:
        world: [steps] fingerprints of the environment before each step.
        seen: [steps] hashes of what was seen, see `seen_so_far`; needed by that form.
        form: When two steps are taken in the same state.

    Raises:
        ValueError: The form needs hashes of what was seen and there are none, or not as many as steps.
    """
    if AnchorForm(form) is AnchorForm.WORLD:
        return [state or None for state in world]
    if seen is None or len(seen) != len(world):
        raise ValueError(f"the form {AnchorForm.WORLD_AND_SEEN} needs a hash of what was seen for each of {len(world)} steps")
    return [f"{state}:{known}" if state and known else None for state, known in zip(world, seen, strict=True)]
