"""Rows for slime: each is what `Sample.to_dict` of `slime.utils.types` gives, as far as a finished rollout has it; `Sample.from_dict` reads it.

All segments of a rollout share `rollout_id`. slime divides each sample's token losses by the trained tokens of the whole rollout, so that it
weighs as one however many segments it has. Its own normalisation of rewards counts samples: normalise by `group_index` over one sample a rollout.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from cowork_gym.trainers.data.exports.outgoing import Outgoing, details, outgoing
from cowork_gym.trainers.data.rollouts import Rollout, Segment

__all__ = ["RewardOn", "slime_rows"]


class RewardOn(StrEnum):
    """Which samples of a rollout have its reward."""

    LAST = "last"
    """The last, and the others 0, for hooks that take it from the largest `segment_index`, as that of Dressage does."""
    EVERY = "every"
    """All of them, for hooks that take one reward for each `rollout_id`."""


def slime_rows(rollouts: Iterable[Rollout], reward_on: RewardOn = RewardOn.LAST) -> Iterator[dict[str, Any]]:
    """A row for each segment, rollout after rollout, segments in order.

    Args:
        rollouts: Valid ones, with tokens of one tokenizer.
        reward_on: Which rows have the reward. `metadata.reward` has it in any case.

    Raises:
        ValueError: A rollout cannot be exported; see `outgoing`.
    """
    for one in outgoing(rollouts):
        for index, segment in enumerate(one.segments):
            rewarded = reward_on is RewardOn.EVERY or index == len(one.segments) - 1
            yield _row(one, segment, index, one.reward if rewarded else 0.0)


def _row(one: Outgoing, segment: Segment, index: int, reward: float) -> dict[str, Any]:
    rollout = one.rollout
    return {
        "group_index": one.group, "index": one.number, "rollout_id": one.number, "prompt": "", "tokens": [*segment.ids], "response": "",
        "response_length": len(segment.response_ids), "label": None, "reward": reward, "loss_mask": [int(each) for each in segment.mask],
        "weight_versions": list(dict.fromkeys(version for version in segment.versions if version)), "rollout_log_probs": [*segment.logprobs],
        "remove_sample": False, "status": "truncated" if rollout.truncated else "completed", "session_id": rollout.id,
        "metadata": {
            **details(one, segment), "parent_traj_id": rollout.id, "session_id": rollout.id, "instance_id": rollout.group,
            "segment_index": index, "segment_count": len(one.segments),
        },
    }
