"""Score centring: what is subtracted from a score so that its mean under the sampler, not under the trainer, is zero."""

from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.masked import live_mask, live_values, spread, widened

__all__ = ["Centre", "CentredLoss", "Tail", "score_centre", "score_centred_loss"]

_LEAST_TAIL = 1e-6
_SUM_SLACK = 1e-3


class Tail(StrEnum):
    """What the sampler is taken to do outside of the tokens whose probabilities are known."""

    FULL = "full"
    """Nothing is outside: the probabilities are those of the whole vocabulary. Exact."""
    PROPORTIONAL = "proportional"
    """Its tail has the shape of the trainer's."""
    DROPPED = "dropped"
    """Its tail is left out. Biased."""


class Centre(NamedTuple):
    """The mean score under the sampler."""

    score: Tensor
    """[...]: its gradient is E_q[grad logp]; its value means nothing else."""
    coefficient: Tensor
    """[...]: by what the trainer's tail is scaled to be the sampler's; 0 where no tail is taken."""
    sampler_mass: Tensor
    """[...]: the sampler's probability of all head tokens."""
    trainer_mass: Tensor
    """[...]: the trainer's."""


class CentredLoss(NamedTuple):
    """Token losses, with both head masses to be logged: a small one says how much hangs on the assumption about the tail."""

    token_loss: Tensor
    """[rows, tokens]; 0 in dead positions."""
    sampler_mass: Tensor
    """[rows, tokens]; 0 in dead positions."""
    trainer_mass: Tensor
    """[rows, tokens]; 0 in dead positions."""


def score_centre(head_logp: Tensor, sampler_probs: Tensor, tail: Tail = Tail.PROPORTIONAL, head_weights: Tensor | None = None) -> Centre:
    """The mean score under the sampler q, from the tokens of its head.

    E_q[grad logp] = sum_head q grad logp - c * sum_head p grad logp with c = (1 - q_head) / (1 - p_head), since sum_v p grad logp = 0.

    Args:
        head_logp: [..., k] log-probabilities of the trainer for the head tokens; gradients flow.
        sampler_probs: [..., k] probabilities of the sampler for the same tokens.
        tail: What is outside of the head.
        head_weights: [..., k] a calibration weight f of each head token: the mean of f * score is then returned.

    Raises:
        ValueError: Shapes differ; a probability is none; the trainer excludes what the sampler does not; probabilities of a full vocabulary
            do not sum to 1; a proportional tail has weights, which are unknown outside of the head.
    """
    tail, head_logp = Tail(tail), widened(head_logp)
    if tail is Tail.PROPORTIONAL and head_weights is not None:
        raise ValueError("a proportional tail has no calibration weights")
    q, p = sampler_probs.detach().to(head_logp.dtype), head_logp.detach().exp()
    _check_head(head_logp.detach(), q, tail)
    sampler_mass, trainer_mass = q.sum(-1), p.sum(-1)
    coefficient = torch.zeros_like(sampler_mass)
    if tail is Tail.PROPORTIONAL:
        coefficient = (1 - sampler_mass).clamp(min=0) / (1 - trainer_mass).clamp(min=_LEAST_TAIL)
    calibrated = q if head_weights is None else torch.where(q > 0, q * head_weights.detach(), torch.zeros_like(q))
    share = calibrated - coefficient.unsqueeze(-1) * p
    score = torch.where(share == 0, torch.zeros_like(share), share * head_logp).sum(-1)
    return Centre(score, coefficient, sampler_mass, trainer_mass)


def score_centred_loss(
    logp: Tensor,
    head_logp: Tensor,
    sampler_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    tail: Tail = Tail.PROPORTIONAL,
    weights: Tensor | None = None,
    head_weights: Tensor | None = None,
) -> CentredLoss:
    """-A * (f(a) logp(a) - sum_v q(v) f(v) logp(v)) (Marek and Ryabinin, arXiv:2609.20807).

    Args:
        logp: [rows, tokens] of the policy that learns, for the sampled tokens.
        head_logp: [rows, tokens, k] of the same policy for the tokens whose sampler probabilities are known.
        sampler_probs: [rows, tokens, k] of the sampler.
        advantages: [rows] or [rows, tokens].
        mask: [rows, tokens].
        tail: What is outside of the head; full when k is the vocabulary.
        weights: [rows, tokens] calibration weights f of the sampled tokens; 1 when None.
        head_weights: [rows, tokens, k] those of the head tokens.

    Raises:
        ValueError: Shapes differ; a live value is not finite; one of both weights is missing; see `score_centre`.
    """
    if (weights is None) is not (head_weights is None):
        raise ValueError("calibration weights are needed for the sampled and for the head tokens")
    mask = live_mask(mask, logp)
    if head_logp.shape[:-1] != mask.shape or sampler_probs.shape != head_logp.shape:
        shapes = f"{list(head_logp.shape)} and {list(sampler_probs.shape)}"
        raise ValueError(f"head log-probabilities and sampler probabilities of shape {shapes} do not fit a mask of shape {list(mask.shape)}")
    score = live_values("logp", logp, mask)
    if weights is not None:
        score = live_values("weights", weights.detach(), mask) * score
    centre = score_centre(head_logp[mask], sampler_probs[mask], tail, None if head_weights is None else head_weights[mask])
    nothing = torch.zeros_like(score)
    found, sampler_mass, trainer_mass = (nothing.masked_scatter(mask, one.to(score)) for one in (centre.score, *centre[2:]))
    return CentredLoss(-spread(advantages, mask) * (score - found), sampler_mass, trainer_mass)


def _check_head(head_logp: Tensor, q: Tensor, tail: Tail) -> None:
    if head_logp.shape != q.shape:
        raise ValueError(f"sampler probabilities of shape {list(q.shape)} do not fit log-probabilities of shape {list(head_logp.shape)}")
    if not bool((torch.isfinite(head_logp) | ((head_logp == -torch.inf) & (q == 0))).all()):
        raise ValueError("head_logp is not finite where the sampler has a probability")
    mass = q.sum(-1)
    if not bool(((q >= 0).all(-1) & (mass <= 1 + _SUM_SLACK)).all()):
        raise ValueError("sampler probabilities are not negative and sum to at most 1")
    if tail is Tail.FULL and not bool((mass >= 1 - _SUM_SLACK).all()):
        raise ValueError("sampler probabilities of a full vocabulary sum to 1")
