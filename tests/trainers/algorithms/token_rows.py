"""Random rows of tokens for tests of losses and critics, with NaN wherever nothing is live, and the losses as functions of one tensor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers import algorithms as rl  # noqa: E402

torch.set_num_threads(1)
HEAD = 3


@dataclass(frozen=True)
class Rows:
    """Six rows, of which the last has no live token. Rows 0 and 1, and rows 2, 3 and 4, are trajectories and answer prompts of their own."""

    mask: object
    logp: object
    old_logp: object
    rollout_logp: object
    advantages: object
    values: object
    old_values: object
    returns: object
    head_logp: object
    sampler_probs: object
    trajectories: object

    def of(self, choose):
        """Every tensor with something done to it."""
        return Rows(*(choose(getattr(self, field.name)) for field in fields(self)))

    def learning(self, **new):
        """The same rows, with other tensors in some places."""
        return replace(self, **new)


def random_rows(seed=0, tokens=7):
    draw = torch.Generator().manual_seed(seed)
    shape = (6, tokens)

    def normal(*size):
        return torch.randn(*size, generator=draw, dtype=torch.float64)

    mask = torch.rand(shape, generator=draw) < 0.6
    mask[:5, 2], mask[5] = True, False
    logp = -normal(*shape).abs() - 0.1
    values = normal(*shape)
    rows = Rows(
        mask,
        logp,
        logp + 0.4 * normal(*shape),
        logp + 0.4 * normal(*shape),
        normal(*shape),
        values,
        values + 0.3 * normal(*shape),
        normal(*shape),
        -normal(*shape, HEAD).abs() - 1.2,
        0.3 * torch.rand(*shape, HEAD, generator=draw, dtype=torch.float64),
        torch.tensor([7, 7, 3, 3, 3, 9]),
    )
    return with_noise(rows, torch.nan)


def with_noise(rows, noise):
    """The rows with something in every dead position."""

    def fill(one):
        if one.dim() < 2 or one.dtype == torch.bool:
            return one
        return torch.where(rows.mask if one.dim() == 2 else rows.mask.unsqueeze(-1), one, noise)

    return rows.of(fill)


def token_mean(rows, losses, denominator=None):
    return rl.aggregate(losses, rows.mask, denominator=denominator)


Loss = Callable[..., object]
TOKEN_LOSSES: Mapping[str, Loss] = {
    "ppo": lambda r: rl.ppo_loss(r.logp, r.old_logp, r.advantages, r.mask).token_loss,
    "clip_higher": lambda r: rl.ppo_loss(r.logp, r.old_logp, r.advantages, r.mask, eps_low=0.2, eps_high=0.28).token_loss,
    "dual_clip": lambda r: rl.ppo_loss(r.logp, r.old_logp, r.advantages, r.mask, dual_clip=1.3).token_loss,
    "gspo_token": lambda r: rl.gspo_token_loss(r.logp, r.old_logp, r.advantages, r.mask, eps_low=0.2, eps_high=0.2).token_loss,
    "cispo": lambda r: rl.cispo_loss(r.logp, r.old_logp, r.advantages, r.mask, weight_high=1.2).token_loss,
    "dis": lambda r: rl.dis_loss(r.logp, r.rollout_logp, r.advantages, r.mask, band=rl.Band(0.7, 1.5)).token_loss,
    "k1": lambda r: rl.kl_estimate(r.logp, r.old_logp, r.mask, rl.Kl.K1),
    "k2": lambda r: rl.kl_estimate(r.logp, r.old_logp, r.mask, rl.Kl.K2),
    "k3": lambda r: rl.kl_estimate(r.logp, r.old_logp, r.mask, rl.Kl.K3),
    "centred": lambda r: rl.score_centred_loss(r.logp, r.head_logp, r.sampler_probs, r.advantages, r.mask).token_loss,
    "centred_dropped": lambda r: rl.score_centred_loss(r.logp, r.head_logp, r.sampler_probs, r.advantages, r.mask, tail=rl.Tail.DROPPED).token_loss,
    "tis": lambda r: (
        rl.truncated_token_weights(r.old_logp, r.rollout_logp, r.mask, cap=1.2) * rl.ppo_loss(r.logp, r.old_logp, r.advantages, r.mask).token_loss
    ),
    "masked_is": lambda r: (
        rl.masked_token_weights(r.old_logp, r.rollout_logp, r.mask, rl.Band(0.7, 1.5))
        * rl.ppo_loss(r.logp, r.old_logp, r.advantages, r.mask).token_loss
    ),
}
"""From rows to token losses."""
