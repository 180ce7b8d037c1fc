"""Seeded identifiers and generators: the only place in which randomness enters the package."""

import hashlib
import random

__all__ = ["generator", "seeded_id"]


def seeded_id(seed: int, prefix: str, number: int) -> str:
    """The id of the `number`-th record that an episode makes under a prefix.

    Unpredictable for an agent, equal for equal seeds, and never that of another number of the same prefix.
    """
    tail = hashlib.sha256(f"{seed}:{prefix}:{number}".encode()).hexdigest()[:6]
    return f"{prefix}{number:03d}-{tail}"


def generator(seed: int, *names: object) -> random.Random:
    """A generator of its own for each purpose, so that one use does not shift another's numbers."""
    text = ":".join(map(str, (seed, *names)))
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))
