"""Estimators of KL(policy || reference) from one sampled token each."""

from enum import StrEnum

from torch import Tensor

from cowork_gym.trainers.algorithms.ratios import LOG_RATIO_LIMIT, log_ratio

__all__ = ["Kl", "kl_estimate"]


class Kl(StrEnum):
    """Schulman's three estimators (joschu.net/blog/kl-approx.html), with d = logp - ref_logp."""

    K1 = "k1"
    """d: unbiased, may be negative."""
    K2 = "k2"
    """d^2 / 2: biased, low variance; the gradient of its mean is that of the KL."""
    K3 = "k3"
    """exp(-d) + d - 1: unbiased and never negative; the term of GRPO."""


def kl_estimate(logp: Tensor, ref_logp: Tensor, mask: Tensor, kind: Kl = Kl.K3) -> Tensor:
    """One estimate a token.

    Args:
        logp: [rows, tokens] of the policy; gradients flow.
        ref_logp: [rows, tokens] of the reference; detached.
        mask: [rows, tokens]. Observations are dead: a KL on tool tokens is none of the policy's.
        kind: Which estimator. The log-ratio of k3 is clamped to +-20, since it goes through exp.

    Returns:
        [rows, tokens]; 0 in dead positions.

    Raises:
        ValueError: Shapes differ, a live log-probability is not finite, or there is no such estimator.
    """
    kind, apart = Kl(kind), log_ratio(logp, ref_logp, mask, ("logp", "ref_logp"))
    if kind is Kl.K1:
        return apart
    if kind is Kl.K2:
        return apart.square() / 2
    apart = apart.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return (-apart).expm1() + apart
