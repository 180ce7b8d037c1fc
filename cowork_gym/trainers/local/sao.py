"""SAO as Occamy-1.0 has it (appendix C.2): one rollout a task, a learned critic, compaction-aware advantages, double-sided importance sampling."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from cowork_gym.trainers.algorithms import Reading, compaction_advantages, compaction_returns
from cowork_gym.trainers.data.rollouts import Rollout
from cowork_gym.trainers.local.critic import Critic, fit
from cowork_gym.trainers.local.objective import Signals
from cowork_gym.trainers.local.rows import rows_of
from cowork_gym.trainers.local.update import Update

__all__ = ["Sao", "SaoSettings"]


@dataclass(frozen=True, slots=True)
class SaoSettings:
    """What SAO has beside an update's settings."""

    warmup: int = 20
    """Steps in which only the critic learns (Occamy)."""
    critic_updates: int = 2
    """For each update of the policy (Occamy)."""
    alpha: float = 1.5
    """Of lambda = 1 - 1 / (alpha * optimised tokens of the trajectory) (Occamy)."""
    gamma: float = 1.0
    reading: Reading = Reading.SEGMENT_LOCAL
    value_clip: float = 0.2
    """Ours."""


class Sao:
    """A policy and its critic.

    Args:
        update: Of the policy, under the objective `sao`.
        critic: Begun from the policy.
        optimizer: Over the critic's parameters.
        settings: How.
    """

    def __init__(self, update: Update, critic: Critic, optimizer: torch.optim.Optimizer, settings: SaoSettings | None = None) -> None:
        self.update, self.critic, self.optimizer, self.settings = update, critic, optimizer, settings or SaoSettings()
        self.steps = 0
        """Taken so far, those of the critic alone included."""

    def __call__(self, rollouts: Sequence[Rollout], seed: int) -> dict[str, float]:
        """Learn from rollouts: the critic always, the policy once the critic is warm.

        Returns:
            Metrics of both.
        """
        if not any(one.trained for one in rollouts):
            return {"rows": 0.0}
        how, rows = self.settings, rows_of(rollouts)
        micro = self.update.settings.micro_tokens
        values = self.critic.values(rows, micro)
        rewards = torch.tensor([0.0 if one.reward is None else one.reward for one in rollouts])[rows.rollout]
        ids, places = rows.rollout.tolist(), rows.segment
        found = compaction_advantages(rewards, values, rows.mask, ids, places, gamma=how.gamma, alpha=how.alpha, reading=how.reading)
        returns = compaction_returns(rewards, values, rows.mask, ids, places, gamma=how.gamma, reading=how.reading)
        metrics = fit(
            self.critic, self.optimizer, rows, returns, updates=how.critic_updates, clip=how.value_clip, micro_tokens=micro,
            max_norm=self.update.settings.max_norm,
        )
        self.steps += 1
        if self.steps > how.warmup:
            signals = Signals({"reward": found.advantages}, torch.ones(len(rows), dtype=torch.bool))
            metrics |= self.update(rollouts, seed, signals)
        return metrics
