"""Segments as tensors: one row each, padded on the right, with everything that a loss needs aligned to the token that is predicted."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from cowork_gym.trainers.data.rollouts import Rollout, Segment

__all__ = ["Rows", "rows_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of a batch. Position t of the aligned tensors is about token t + 1, which the model predicts at t.

    Attributes:
        ids: [rows, length] token ids.
        attention: [rows, length] 1 where there is a token.
        mask: [rows, length - 1] truth values: the token is trained.
        rollout_logp: [rows, length - 1] log-probabilities under the policy that sampled; 0 where nothing was.
        step: [rows, length - 1] the number of the step among all steps of the batch; -1 outside of steps.
        rollout: [rows] the number of the row's rollout in the batch.
        segment: [rows] the index of the segment in its rollout.
        weight: [rows] of each of its tokens' loss.
    """

    ids: Tensor
    attention: Tensor
    mask: Tensor
    rollout_logp: Tensor
    step: Tensor
    rollout: Tensor
    segment: Tensor
    weight: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, places: Tensor) -> "Rows":
        """Some of the rows, without the columns that only others need."""
        length = int(self.attention[places].sum(1).max()) if len(places) else 1
        kept = {one.name: getattr(self, one.name)[places] for one in fields(self)}
        whole, aligned = ("ids", "attention"), ("mask", "rollout_logp", "step")
        cut = {name: kept[name][:, :length] for name in whole} | {name: kept[name][:, : length - 1] for name in aligned}
        return Rows(**{**kept, **cut})

    def to(self, device: Any) -> "Rows":
        """The same on a device."""
        return Rows(**{one.name: getattr(self, one.name).to(device) for one in fields(self)})


def rows_of(rollouts: Sequence[Rollout]) -> Rows:
    """The rows of all segments that are trained, in order; those of rollouts that do not count, and dropped segments, give none.

    Raises:
        ValueError: There is nothing to train.
    """
    found: list[tuple[int, Segment, int]] = []
    steps = 0
    for number, rollout in enumerate(rollouts):
        for segment in rollout.live:
            found.append((number, segment, steps))
            steps += len(segment.steps)
    if not found:
        raise ValueError("no rollout has a token to train")
    length = max(len(one.ids) for _, one, _ in found)
    rows = [_row(segment, first, length) for _, segment, first in found]
    ids, attention, mask, logp, step = (torch.tensor(column) for column in zip(*rows, strict=True))
    return Rows(
        ids, attention, mask, logp, step, torch.tensor([number for number, _, _ in found]), torch.tensor([one.index for _, one, _ in found]),
        torch.tensor([one.weight for _, one, _ in found]),
    )


def _row(segment: Segment, first: int, length: int) -> tuple[list[int], list[int], list[bool], list[float], list[int]]:
    """Ids, attention, mask, log-probabilities and steps of a segment."""
    size, behind = len(segment.ids), length - len(segment.ids)
    before = max(len(segment.prompt_ids) - 1, 0)  # of the first token nothing is predicted
    cut = 1 - min(len(segment.prompt_ids), 1)
    numbers = [-1] * len(segment.response_ids)
    for at, step in enumerate(segment.steps, first):
        numbers[step.start : step.end] = [at] * (step.end - step.start)
    return (
        [*segment.ids, *[0] * behind], [1] * size + [0] * behind, [False] * before + [*segment.mask[cut:]] + [False] * behind,
        [0.0] * before + [*segment.logprobs[cut:]] + [0.0] * behind, [-1] * before + numbers[cut:] + [-1] * behind,
    )
