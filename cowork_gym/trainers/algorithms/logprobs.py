"""From logits to the log-probabilities of sampled tokens and to entropies, at the temperature that sampling had."""

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.masked import live_mask, live_values, widened

__all__ = ["token_entropy", "token_logprobs"]


def token_logprobs(logits: Tensor, ids: Tensor, mask: Tensor, temperature: float = 1.0) -> Tensor:
    """Log-probabilities of the tokens that were sampled.

    A sampler with temperature t draws from softmax(logits / t): the trainer has to divide as well, or every ratio is biased.

    Args:
        logits: [rows, tokens, vocabulary]; those at t predict `ids` at t (the shift is done). Dead positions may hold NaN.
        ids: [rows, tokens]; anything, such as -100, in dead positions.
        mask: [rows, tokens].
        temperature: What sampling used, above 0.

    Returns:
        [rows, tokens], at least in float32; 0 in dead positions.

    Raises:
        ValueError: Shapes differ; the temperature is not above 0; a live id is outside of the vocabulary; a live log-probability is not finite.
    """
    mask = live_mask(mask, ids)
    scaled = _scaled(logits, mask, temperature)
    ids = torch.where(mask, ids, 0)
    if ids.numel() and not bool(((ids >= 0) & (ids < logits.shape[-1])).all()):
        raise ValueError(f"a live id is outside of the vocabulary of {logits.shape[-1]}")
    chosen = scaled.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return live_values("logp", chosen - scaled.logsumexp(-1), mask)


def token_entropy(logits: Tensor, mask: Tensor, temperature: float = 1.0) -> Tensor:
    """The entropy of each position's distribution, in nats. Shapes, zeros and errors as of `token_logprobs`; a logit may be -inf."""
    logp = _scaled(logits, live_mask(mask, logits[..., 0]), temperature).log_softmax(-1)
    possible = logp > -torch.inf
    logp = torch.where(possible, logp, torch.zeros_like(logp))
    return live_values("entropy", -torch.where(possible, logp.exp() * logp, torch.zeros_like(logp)).sum(-1), mask == 1)


def _scaled(logits: Tensor, mask: Tensor, temperature: float) -> Tensor:
    if not 0 < temperature < torch.inf:
        raise ValueError(f"a temperature is above 0, and this is {temperature}")
    if logits.shape[:-1] != mask.shape:
        raise ValueError(f"logits of shape {list(logits.shape)} do not fit a mask of shape {list(mask.shape)}")
    logits = widened(logits)
    logits = torch.where(mask.unsqueeze(-1), logits, torch.zeros((), dtype=logits.dtype, device=logits.device))
    return logits if temperature == 1 else logits / temperature
