"""Rows for Dressage: each is a `TrajectorySegment` of `dressage.proxy.trajectory_store`, as `TrajectoryStore.write_many` takes it.

Masks, log-probabilities and versions are as long as the whole sequence: the prompt has 0, 0.0 and no version. The reward is of the trajectory;
Dressage puts it on the segment with the largest index and shares the advantage among its siblings. `instance_id` is the prompt, which its
denominators weigh equally.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from cowork_gym.trainers.data.exports.outgoing import Outgoing, details, outgoing
from cowork_gym.trainers.data.rollouts import Rollout, Segment

__all__ = ["dressage_rows"]


def dressage_rows(rollouts: Iterable[Rollout]) -> Iterator[dict[str, Any]]:
    """A row for each segment, rollout after rollout, segments in order.

    Args:
        rollouts: Valid ones, with tokens of one tokenizer.

    Raises:
        ValueError: A rollout cannot be exported; see `outgoing`.
    """
    for one in outgoing(rollouts):
        for index, segment in enumerate(one.segments):
            yield _row(one, segment, index)


def _row(one: Outgoing, segment: Segment, index: int) -> dict[str, Any]:
    rollout, read = one.rollout, len(segment.prompt_ids)
    turns = [step.turn for step in segment.steps if step.turn is not None]
    return {
        "uid": f"{rollout.id}-{index}", "session_id": rollout.id, "trajectory_id": rollout.id, "turn_id": str(turns[-1] if turns else ""),
        "instance_id": rollout.group, "segment_index": index, "segment_count": len(one.segments), "messages": [], "tools": None,
        "tokens": [*segment.ids], "full_logprobs": [*[0.0] * read, *segment.logprobs],
        "full_loss_mask": [*[0] * read, *(int(each) for each in segment.mask)], "aligned_response_length": len(segment.response_ids),
        "full_versions": [*[""] * read, *segment.versions], "label": None, "finish_reason": "length" if rollout.truncated else "stop",
        "extra_info": {**details(one, segment), "segment_view": "lineage", "token_build_mode": "tito"},
    }
