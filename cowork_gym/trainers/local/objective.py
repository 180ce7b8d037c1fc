"""What an algorithm is to a trainer: advantages from whole groups of rollouts, then token losses from log-probabilities. `objectives` has ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms import Aggregation
from cowork_gym.trainers.data.rollouts import Rollout
from cowork_gym.trainers.local.rows import Rows

__all__ = ["Objective", "Signals", "TokenLoss", "spread_over_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """What the rollouts of a batch say to its tokens.

    Attributes:
        advantages: By name, each [rows, tokens] aligned as `Rows` are; a loss is told all of them.
        trained: [rows] truth values: the row's rollout entered the statistics and is to be learnt from.
        metrics: Numbers for the log.
    """

    advantages: Mapping[str, Tensor]
    trained: Tensor
    metrics: Mapping[str, float] = field(default_factory=dict)

    def take(self, places: Tensor, length: int) -> "Signals":
        """Those of some rows, cut to a length."""
        return Signals({name: one[places, :length] for name, one in self.advantages.items()}, self.trained[places])


@dataclass(frozen=True, slots=True, eq=False)
class TokenLoss:
    """Losses before aggregation.

    Attributes:
        loss: [rows, tokens]; gradients flow.
        metrics: By name, each [rows, tokens]: the mean over live tokens is logged.
    """

    loss: Tensor
    metrics: Mapping[str, Tensor] = field(default_factory=dict)


class Objective(Protocol):
    """An algorithm. Whoever writes one gives these; see `docs/training.md`."""

    @property
    def name(self) -> str:
        """How tables call it."""
        ...

    @property
    def group(self) -> int:
        """The fewest attempts at one form of a task that it can learn from."""
        ...

    @property
    def aggregation(self) -> Aggregation:
        """What weighs the same in the loss."""
        ...

    def signals(self, rollouts: Sequence[Rollout], rows: Rows) -> Signals:
        """Advantages of a batch's tokens.

        Args:
            rollouts: Whole groups, those that do not count among them.
            rows: Their rows, as `rows_of` gives them.
        """
        ...

    def loss(self, logp: Tensor, old_logp: Tensor, rows: Rows, signals: Signals) -> TokenLoss:
        """Token losses of some of the rows.

        Args:
            logp: [rows, tokens] of the policy that learns; 0 in dead positions.
            old_logp: [rows, tokens] of the policy at the start of the update.
            rows: The rows.
            signals: Theirs.
        """
        ...


def spread_over_rows(of_rollouts: Tensor, rows: Rows) -> Tensor:
    """Advantages of rollouts on all tokens of their rows: [rows, tokens] in float32."""
    return of_rollouts.to(torch.float32)[rows.rollout].unsqueeze(1).expand(rows.mask.shape)


