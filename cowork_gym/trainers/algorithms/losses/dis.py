"""DIS: double-sided importance sampling. A token whose ratio leaves an open band loses its gradient, whatever the sign of its advantage."""

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.losses.cispo import WeightedLoss
from cowork_gym.trainers.algorithms.masked import live_mask, live_values, spread
from cowork_gym.trainers.algorithms.ratios import LOG_RATIO_LIMIT, Band, log_ratio

__all__ = ["DIS_BANDS", "DIS_DEFAULT", "dis_loss", "dis_weight"]

DIS_DEFAULT = Band.from_epsilons(0.8, 3.0)
"""(0.2, 4.0): the numbers 0.8 and 3.0 of Occamy's table read as half-widths around 1, as SAO means them."""
DIS_BANDS: Mapping[str, Band] = MappingProxyType({"epsilons": DIS_DEFAULT, "literal_band": Band(0.8, 3.0)})
"""Named bands: the default, and the same two numbers read as bounds."""


def dis_weight(log_ratio: Tensor, band: Band = DIS_DEFAULT) -> Tensor:
    """The ratio strictly inside of the band, and 0 at its bounds and outside; detached.

    Args:
        log_ratio: Any shape; may be infinite.
        band: Compared in log space.

    Raises:
        ValueError: A log-ratio is NaN: it is neither inside nor outside.
    """
    log_ratio = log_ratio.detach()
    if bool(log_ratio.isnan().any()):
        raise ValueError("a log-ratio is NaN")
    return torch.where(band.inside(log_ratio), band.ratio(log_ratio), torch.zeros_like(log_ratio))


def dis_loss(logp: Tensor, rollout_logp: Tensor, advantages: Tensor, mask: Tensor, *, band: Band = DIS_DEFAULT) -> WeightedLoss:
    """-sg[f(r)] * A * logp with f(r) = r inside of the band and 0 elsewhere (SAO, arXiv:2607.07508, eq. 3; Occamy C.2).

    The sampler is the behaviour policy, so truncated importance sampling on top would correct the same gap twice.
    Aggregate with the same `mask`: the denominator counts the tokens that the band dropped.

    Args:
        logp: [rows, tokens] of the policy that learns.
        rollout_logp: [rows, tokens] of the engine at sampling time.
        advantages: [rows] or [rows, tokens].
        mask: [rows, tokens].
        band: Where gradients flow.

    Raises:
        ValueError: Shapes differ, or a live value is not finite.
    """
    mask = live_mask(mask, logp)
    apart = log_ratio(logp.detach(), rollout_logp, mask, ("logp", "rollout_logp"))
    weight = dis_weight(apart, band)
    token_loss = -weight * spread(advantages, mask) * live_values("logp", logp, mask)
    return WeightedLoss(token_loss, weight, apart.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp())
