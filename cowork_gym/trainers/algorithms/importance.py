"""The gap between the engine that sampled and the trainer that learns: weights that truncate it, and masks that drop what is too far.

Weights multiply token losses. They compare the trainer's policy at the start of the update with the engine's, while a clip compares the
policy that learns with that start: never both. Denominators stay those of the mask before.
"""

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.masked import live_mask
from cowork_gym.trainers.algorithms.ratios import LOG_RATIO_LIMIT, Band, log_ratio, sequence_log_ratio, token_ratio

__all__ = [
    "GEOMETRIC_BAND",
    "OUTLIER_BAND",
    "geometric_keep",
    "inverse_bounds",
    "masked_sequence_weights",
    "masked_token_weights",
    "outlier_keep",
    "product_keep",
    "sequence_ratio",
    "token_k1_keep",
    "truncated_sequence_weights",
    "truncated_token_weights",
]

_NAMES = "old_logp", "rollout_logp"
GEOMETRIC_BAND = Band(0.99, 1.01)
"""Bounds of a geometric mean are far tighter than those of one ratio: a row's noise averages out."""
OUTLIER_BAND = Band(1e-4, 1e4)
"""The lower bound is that of SkyRL's example, the upper one its inverse."""


def truncated_token_weights(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, cap: float = 2.0, low: float = 0.0) -> Tensor:
    """TIS a token: the ratio of trainer to engine, at most `cap` and at least `low` (slime `vanilla_tis`; TRL).

    Args:
        old_logp: [rows, tokens] of the trainer at the start of the update.
        rollout_logp: [rows, tokens] of the engine at sampling time.
        mask: [rows, tokens].
        cap: The largest weight.
        low: The least.

    Returns:
        [rows, tokens], detached; 1 in dead positions.

    Raises:
        ValueError: Shapes differ, a live log-probability is not finite, or not 0 <= low <= cap with a cap above 0.
    """
    _check_bounds(low, cap)
    ratio = token_ratio(old_logp.detach(), rollout_logp, mask, _NAMES)
    return torch.where(mask == 1, ratio.clamp(low, cap), torch.ones_like(ratio))


def sequence_ratio(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, *, geometric: bool = False) -> Tensor:
    """[rows]: the product of a row's token ratios, or their geometric mean; 1 for a row without live tokens. The logarithm is clamped to +-20.

    Arguments and errors as of `truncated_token_weights`.
    """
    total = sequence_log_ratio(old_logp.detach(), rollout_logp, mask, mean=geometric, names=_NAMES)
    return total.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()


def truncated_sequence_weights(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, cap: float = 2.0, low: float = 0.0) -> Tensor:
    """TIS a row: [rows] products of the token ratios, at most `cap` and at least `low` (SkyRL).

    Arguments and errors as of `truncated_token_weights`.
    """
    _check_bounds(low, cap)
    return sequence_ratio(old_logp, rollout_logp, mask).clamp(low, cap)


def masked_token_weights(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, band: Band) -> Tensor:
    """Masked importance sampling a token (IcePop): the ratio between the bounds, these included, and 0 elsewhere.

    Args:
        old_logp: [rows, tokens] of the trainer at the start of the update.
        rollout_logp: [rows, tokens] of the engine at sampling time.
        mask: [rows, tokens].
        band: The bounds.

    Returns:
        [rows, tokens], detached; 1 in dead positions.

    Raises:
        ValueError: Shapes differ, or a live log-probability is not finite.
    """
    apart = log_ratio(old_logp.detach(), rollout_logp, mask, _NAMES)
    weight = torch.where(band.within(apart), band.ratio(apart), torch.zeros_like(apart))
    return torch.where(mask == 1, weight, torch.ones_like(weight))


def product_keep(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, band: Band) -> Tensor:
    """[rows] truth values: the product of a row's ratios is in the band, bounds included. Arguments and errors as of `masked_token_weights`."""
    return band.within(sequence_log_ratio(old_logp.detach(), rollout_logp, mask, mean=False, names=_NAMES))


def masked_sequence_weights(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, band: Band) -> Tensor:
    """[rows]: the product of a row's ratios where `product_keep` keeps it, else 0."""
    ratio = sequence_ratio(old_logp, rollout_logp, mask)
    return torch.where(product_keep(old_logp, rollout_logp, mask, band), ratio, torch.zeros_like(ratio))


def geometric_keep(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, band: Band = GEOMETRIC_BAND) -> Tensor:
    """[rows] truth values: the geometric mean of a row's ratios is in a tight band, bounds included (SkyRL `geo_mask`; verl `seq_mean_k1`).

    Arguments and errors as of `masked_token_weights`.
    """
    return band.within(sequence_log_ratio(old_logp.detach(), rollout_logp, mask, mean=True, names=_NAMES))


def outlier_keep(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, band: Band = OUTLIER_BAND) -> Tensor:
    """[rows] truth values: no live token of a row leaves a very wide band; one that does says that something broke (SkyRL's outlier veto).

    Arguments and errors as of `masked_token_weights`.
    """
    apart = log_ratio(old_logp.detach(), rollout_logp, mask, _NAMES)
    return (band.within(apart) | ~live_mask(mask, apart)).all(1)


def token_k1_keep(log_ratio: Tensor, lower: float, upper: float) -> Tensor:
    """Which tokens verl's rejection `token_k1` keeps: those with lower <= exp(k1) <= upper, where k1 is *minus* the log-ratio.

    Args:
        log_ratio: Any shape: trainer against engine.
        lower: The lower bound, which acts on the inverse ratio.
        upper: The upper bound, likewise.

    Raises:
        ValueError: Not 0 < lower < upper.
    """
    return inverse_bounds(Band(lower, upper)).within(log_ratio)


def inverse_bounds(band: Band) -> Band:
    """The band of 1 / ratio: what a bound on k1 means for the ratio, and the threshold by which verl's `token_k1` keeps a band.

    Raises:
        ValueError: The lower bound is 0.
    """
    if not band.low:
        raise ValueError("a band from 0 has no inverse")
    return Band(1 / band.high, 1 / band.low)


def _check_bounds(low: float, cap: float) -> None:
    if not 0 <= low <= cap or not cap > 0:
        raise ValueError(f"weights have 0 <= low <= cap, and these are {low} and {cap}")
