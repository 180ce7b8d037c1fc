"""Rows for SkyRL in its step-wise form, and the `GeneratorOutput` that a batch of them makes.

The rows of a trajectory stand together and the last one has `is_last_step`. SkyRL takes the advantage from the last row and copies it to the
others, which works for estimators of the outcome (GRPO, RLOO, MAXRL). Choose a loss that is a mean over tokens: a mean over sequences weighs a
trajectory by how many rows it has.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cowork_gym.trainers.data.exports.outgoing import details, outgoing
from cowork_gym.trainers.data.rollouts import Rollout

__all__ = ["skyrl_output", "skyrl_rows"]


def skyrl_rows(rollouts: Iterable[Rollout]) -> Iterator[dict[str, Any]]:
    """A row for each segment, rollout after rollout, segments in order. The reward is on the last one, the others have 0.

    Args:
        rollouts: Valid ones, with tokens of one tokenizer.

    Raises:
        ValueError: A rollout cannot be exported; see `outgoing`.
    """
    for one in outgoing(rollouts):
        for index, segment in enumerate(one.segments):
            last = index == len(one.segments) - 1
            yield {
                "prompt_token_ids": [*segment.prompt_ids], "response_ids": [*segment.response_ids], "rewards": one.reward if last else 0.0,
                "loss_masks": [int(each) for each in segment.mask], "stop_reasons": "length" if one.rollout.truncated else "stop",
                "rollout_logprobs": [*segment.logprobs],
                "trajectory_ids": {"instance_id": one.rollout.group, "repetition_id": one.repetition}, "is_last_step": last,
                "env_metrics": details(one, segment),
            }


def skyrl_output(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows as columns under the names of `GeneratorOutput`, of which `trajectory_ids` are still mappings: make each a `TrajectoryID`.

    Raises:
        ValueError: There is no row, or the last trajectory is not whole.
    """
    every = [*rows]
    if not every or not every[-1]["is_last_step"]:
        raise ValueError("the rows do not end with the last one of a trajectory")
    return {**{name: [row[name] for row in every] for name in every[0]}, "rollout_metrics": None}
