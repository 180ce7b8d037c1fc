"""Rollouts that nobody played, of the shape that a test asks for."""

from collections.abc import Sequence

from cowork_gym.core.episode import Ending
from cowork_gym.core.trajectory import Purpose
from cowork_gym.trainers.data import Rollout, Segment, Step


def made(id: str, reward: float | None, group: str = "T/1/s0", *, sizes: Sequence[int] = (2,), version: str = "step-1") -> Rollout:
    """A rollout with a segment of each size, all of whose tokens are trained except the second of three or more. None is dropped by a fault."""
    segments = []
    for index, size in enumerate(sizes):
        mask = tuple(at != 1 or size < 3 for at in range(size))
        logprobs, versions = tuple(-0.5 * yes for yes in mask), tuple(version if yes else "" for yes in mask)
        steps = (Step(0, size, index, Purpose.ACT, "a", "i", index),)
        segments.append(Segment(id, 0, index, len(sizes), (1, index), tuple(range(10, 10 + size)), mask, logprobs, versions, steps))
    return Rollout(
        id, group, "T", "1", int(group.rpartition("s")[2]), 0, "t", reward, {}, None if reward is None else float(reward >= 0.75), len(sizes),
        Ending.FINAL, False, tuple(segments), drop_reason="quarantined: timeout" if reward is None else "",
    )
