"""The algorithms as a trainer uses them, by name. The maths is that of `trainers.algorithms`; here stands what goes into it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms import (
    COWORK_ENV,
    DIS_DEFAULT,
    Aggregation,
    GroupAdvantages,
    Normaliser,
    RowClass,
    clipped_surrogate,
    dis_loss,
    dr_grpo_advantages,
    gdpo_advantages,
    gigpo_advantages,
    grpo_advantages,
    gspo_token_loss,
    hdpo_advantages,
    ppo_loss,
    rloo_advantages,
    token_ratio,
)
from cowork_gym.trainers.algorithms.groups import Missing
from cowork_gym.trainers.data.anchors import AnchorForm, clusters
from cowork_gym.trainers.data.rollouts import Rollout
from cowork_gym.trainers.local.objective import Objective, Signals, TokenLoss, spread_over_rows
from cowork_gym.trainers.local.rows import Rows

__all__ = ["OBJECTIVES", "Dapo", "Dis", "DrGrpo", "Gdpo", "GiGpo", "Grpo", "Gspo", "Hdpo", "Rloo"]

_REWARD = "reward"


@dataclass(frozen=True, slots=True)
class Grpo:
    """GRPO with CoworkEnv's floor of the standard deviation, PPO's clip and token mean."""

    eps_low: float = 0.2
    eps_high: float = 0.2
    normaliser: Normaliser = COWORK_ENV
    name: str = "grpo"
    group: int = 2
    aggregation: Aggregation = Aggregation.TOKEN_MEAN

    def signals(self, rollouts: Sequence[Rollout], rows: Rows) -> Signals:
        """One advantage a rollout."""
        return _signals(self._advantages(*_columns(rollouts)), rows)

    def _advantages(self, rewards: Sequence[float | None], groups: Sequence[str], classes: Sequence[RowClass]) -> GroupAdvantages:
        return grpo_advantages(rewards, groups, normaliser=self.normaliser, classes=classes)

    def loss(self, logp: Tensor, old_logp: Tensor, rows: Rows, signals: Signals) -> TokenLoss:
        """The clipped surrogate."""
        found = ppo_loss(logp, old_logp, signals.advantages[_REWARD], rows.mask, eps_low=self.eps_low, eps_high=self.eps_high)
        return TokenLoss(found.token_loss, {"clip_fraction": found.clipped.float(), "ratio": found.ratio})


@dataclass(frozen=True, slots=True)
class DrGrpo(Grpo):
    """Without a standard deviation, and token losses summed, over a constant."""

    name: str = "dr_grpo"
    aggregation: Aggregation = Aggregation.SEQ_MEAN_TOKEN_SUM_NORM

    def _advantages(self, rewards: Sequence[float | None], groups: Sequence[str], classes: Sequence[RowClass]) -> GroupAdvantages:
        return dr_grpo_advantages(rewards, groups, classes=classes)


@dataclass(frozen=True, slots=True)
class Dapo(Grpo):
    """With a wider upper bound; groups without variance are left out by dynamic sampling before."""

    eps_high: float = 0.28
    name: str = "dapo"


@dataclass(frozen=True, slots=True)
class Rloo(Grpo):
    """Each reward against the mean of the others."""

    name: str = "rloo"
    aggregation: Aggregation = Aggregation.SEQ_MEAN_TOKEN_SUM

    def signals(self, rollouts: Sequence[Rollout], rows: Rows) -> Signals:
        """One advantage a rollout."""
        rewards, groups, classes = _columns(rollouts)
        found = rloo_advantages(rewards, groups, classes=classes)
        return Signals({_REWARD: spread_over_rows(found.advantages, rows)}, found.counted[rows.rollout])


@dataclass(frozen=True, slots=True)
class Gspo(Grpo):
    """GRPO's advantages with ratios of whole sequences."""

    eps_low: float = 3e-4
    eps_high: float = 4e-4
    name: str = "gspo"
    aggregation: Aggregation = Aggregation.SEQ_MEAN_TOKEN_MEAN

    def loss(self, logp: Tensor, old_logp: Tensor, rows: Rows, signals: Signals) -> TokenLoss:
        """The token form, whose gradient is that of the sequence form."""
        found = gspo_token_loss(logp, old_logp, signals.advantages[_REWARD], rows.mask, eps_low=self.eps_low, eps_high=self.eps_high)
        return TokenLoss(found.token_loss, {"ratio": found.ratio.unsqueeze(1).expand(rows.mask.shape)})


@dataclass(frozen=True, slots=True)
class Gdpo(Grpo):
    """Each component of the reward normalised by itself, then the batch."""

    components: tuple[str, ...] = ("completion", "safety", "robustness")
    weights: tuple[float, ...] | None = None
    name: str = "gdpo"

    def signals(self, rollouts: Sequence[Rollout], rows: Rows) -> Signals:
        """One advantage a rollout."""
        _, groups, classes = _columns(rollouts)
        components = [[one.components.get(name) if one.valid else 0.0 for name in self.components] for one in rollouts]
        found = gdpo_advantages(components, groups, weights=self.weights, classes=classes)
        metrics = {f"zero_variance/{name}": float(count) for name, count in zip(self.components, found.zero_variance, strict=True)}
        return Signals({_REWARD: spread_over_rows(found.advantages, rows)}, found.counted[rows.rollout], metrics)


@dataclass(frozen=True, slots=True)
class GiGpo(Grpo):
    """The rollout's advantage, and each step's against others from the same anchor."""

    gamma: float = 0.95
    omega: float = 1.0
    anchor: AnchorForm = AnchorForm.COMBINED
    name: str = "gigpo"

    def signals(self, rollouts: Sequence[Rollout], rows: Rows) -> Signals:
        """One advantage a step."""
        keys, steps = clusters(rollouts, self.anchor), list[tuple[float | None, str, str, str | None]]()
        for rollout, own in zip(rollouts, keys.keys, strict=True):
            steps += [(rollout.reward if at == len(own) - 1 else 0.0, rollout.id, rollout.group, key) for at, key in enumerate(own)]
        rewards, ids, groups, anchors = ([*column] for column in zip(*steps, strict=True))
        found = gigpo_advantages(rewards, ids, groups, anchors, gamma=self.gamma, omega=self.omega, missing_anchor=Missing.LEAVE_OUT)
        of_steps = torch.cat([found.advantages, found.advantages.new_zeros(1)]).to(torch.float32)
        met = sum(size * count for size, count in keys.sizes.items())
        shared = met - keys.sizes.get(1, 0)
        trained = torch.ones(len(rows), dtype=torch.bool)
        return Signals({_REWARD: of_steps[rows.step]}, trained, {"anchors_shared": shared / max(met, 1), "anchors_missing": float(keys.missing)})


@dataclass(frozen=True, slots=True)
class Hdpo(Grpo):
    """Accuracy, and efficiency among the equally accurate: two advantages, whose clipped losses are summed."""

    w_acc: float = 1.0
    w_eff: float = 0.1
    name: str = "hdpo"

    def signals(self, rollouts: Sequence[Rollout], rows: Rows) -> Signals:
        """Two advantages a rollout."""
        rewards, groups, classes = _columns(rollouts)
        steps = [float(one.interaction_steps) for one in rollouts]
        found = hdpo_advantages(rewards, steps, groups, w_acc=self.w_acc, w_eff=self.w_eff, normaliser=self.normaliser, classes=classes)
        signals = _signals(found.accuracy, rows)
        return Signals({**signals.advantages, "efficiency": spread_over_rows(found.efficiency.advantages, rows)}, signals.trained, signals.metrics)

    def loss(self, logp: Tensor, old_logp: Tensor, rows: Rows, signals: Signals) -> TokenLoss:
        """Each is clipped for itself."""
        ratio = token_ratio(logp, old_logp, rows.mask)
        accuracy, efficiency = (
            clipped_surrogate(ratio, signals.advantages[one], self.eps_low, self.eps_high) for one in (_REWARD, "efficiency")
        )
        return TokenLoss(self.w_acc * accuracy + self.w_eff * efficiency, {"ratio": ratio.detach()})


@dataclass(frozen=True, slots=True)
class Dis:
    """What SAO's policy learns by: advantages of a critic under double-sided importance sampling against the sampler. `sao` has the critic."""

    name: str = "sao"
    group: int = 1
    aggregation: Aggregation = Aggregation.TOKEN_MEAN

    def signals(self, rollouts: Sequence[Rollout], rows: Rows) -> Signals:
        """None of its own: they come from a critic.

        Raises:
            ValueError: Always.
        """
        raise ValueError("the advantages of sao come from its critic")

    def loss(self, logp: Tensor, old_logp: Tensor, rows: Rows, signals: Signals) -> TokenLoss:
        """Outside of the band nothing flows."""
        found = dis_loss(logp, rows.rollout_logp, signals.advantages[_REWARD], rows.mask, band=DIS_DEFAULT)
        return TokenLoss(found.token_loss, {"ratio": found.ratio, "dis_dropped": ((found.weight == 0) & rows.mask).float()})


def _columns(rollouts: Sequence[Rollout]) -> tuple[list[float | None], list[str], list[RowClass]]:
    """Rewards, groups and classes of rollouts."""
    classes = [RowClass.VALID if one.valid else RowClass.INVALID for one in rollouts]
    return [one.reward for one in rollouts], [one.group for one in rollouts], classes


def _signals(found: GroupAdvantages, rows: Rows) -> Signals:
    metrics = {"groups_without_variance": float(found.counts.zero_variance)}
    return Signals({_REWARD: spread_over_rows(found.advantages, rows)}, found.counted[rows.rollout], metrics)


OBJECTIVES: Mapping[str, Callable[[], Objective]] = {
    "grpo": Grpo, "dr_grpo": DrGrpo, "dapo": Dapo, "rloo": Rloo, "gspo": Gspo, "gdpo": Gdpo, "gigpo": GiGpo, "hdpo": Hdpo, "sao": Dis,
}
"""By name."""
