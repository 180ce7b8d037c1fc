"""GSPO: importance ratios of whole sequences, normalised by length, in the sequence form and the token form."""

from typing import NamedTuple

from torch import Tensor

from cowork_gym.trainers.algorithms.aggregation import Aggregation, row_weights, weighted_loss
from cowork_gym.trainers.algorithms.ids import RowIds
from cowork_gym.trainers.algorithms.losses.ppo import clipped_surrogate
from cowork_gym.trainers.algorithms.masked import live_mask, live_values, spread
from cowork_gym.trainers.algorithms.ratios import RatioScope, sequence_log_ratio

__all__ = ["GSPO_LOG_LIMIT", "GspoLoss", "gspo_loss", "gspo_token_loss"]

GSPO_LOG_LIMIT = 10.0
"""The logarithm of a sequence ratio is clamped above at this, and not below (verl)."""


class GspoLoss(NamedTuple):
    """A loss over sequence ratios."""

    loss: Tensor
    """[]: the mean over sequences with a live token, of the mean over their tokens; GSPO knows no other aggregation."""
    ratio: Tensor
    """[rows], detached; 1 for a row without live tokens."""
    token_loss: Tensor
    """[rows, tokens]; 0 in dead positions."""


def gspo_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    eps_low: float = 3e-4,
    eps_high: float = 4e-4,
    ratio_scope: RatioScope = RatioScope.SEGMENT,
    trajectory_ids: RowIds | None = None,
    denominator: float | None = None,
) -> GspoLoss:
    """GSPO (arXiv:2507.18071): the ratio is the geometric mean of a sequence's token ratios, and is what is clipped.

    Args:
        logp: [rows, tokens] of the policy that learns.
        old_logp: [rows, tokens] of the policy at the start of the update.
        advantages: [rows], equal within a trajectory.
        mask: [rows, tokens].
        eps_low: How far a sequence ratio may fall: hundreds of times tighter than PPO's.
        eps_high: How far it may rise.
        ratio_scope: Whether a row or its whole trajectory is the sequence; the paper knows only single rows.
        trajectory_ids: [rows]; needed by the trajectory scope.
        denominator: The number of sequences of the optimiser batch, when these rows are only a part of it.

    Raises:
        ValueError: Shapes differ, a live value is not finite, advantages are not one a row, or trajectory ids are missing.
    """
    mask = live_mask(mask, logp)
    if advantages.shape != mask.shape[:1]:
        raise ValueError(f"GSPO takes one advantage a row, and these have the shape {list(advantages.shape)}; gspo_token_loss takes one a token")
    ids = _sequences(ratio_scope, trajectory_ids)
    ratio = _ratio(logp, old_logp, mask, ids)
    token_loss = clipped_surrogate(ratio.unsqueeze(1), spread(advantages, mask), eps_low, eps_high)
    return _mean_of_means(token_loss, ratio, mask, ids, denominator)


def gspo_token_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    eps_low: float = 3e-4,
    eps_high: float = 4e-4,
    ratio_scope: RatioScope = RatioScope.SEGMENT,
    trajectory_ids: RowIds | None = None,
    denominator: float | None = None,
) -> GspoLoss:
    """GSPO-token (arXiv:2507.18071): sg[s] * exp(logp - sg[logp]), so that every token may have its own advantage.

    With one advantage a sequence, value and gradient are those of `gspo_loss`. `advantages` is [rows] or [rows, tokens];
    the other arguments and errors are as there.
    """
    mask = live_mask(mask, logp)
    ids = _sequences(ratio_scope, trajectory_ids)
    ratio, logp = _ratio(logp, old_logp, mask, ids).detach(), live_values("logp", logp, mask)
    token_loss = clipped_surrogate(ratio.unsqueeze(1) * (logp - logp.detach()).exp(), spread(advantages, mask), eps_low, eps_high)
    return _mean_of_means(token_loss, ratio, mask, ids, denominator)


def _sequences(scope: RatioScope, trajectory_ids: RowIds | None) -> RowIds | None:
    if RatioScope(scope) is RatioScope.SEGMENT:
        return None
    if trajectory_ids is None:
        raise ValueError("ratios over trajectories need trajectory_ids")
    return trajectory_ids


def _ratio(logp: Tensor, old_logp: Tensor, mask: Tensor, ids: RowIds | None) -> Tensor:
    return sequence_log_ratio(logp, old_logp, mask, mean=True, trajectory_ids=ids).clamp(max=GSPO_LOG_LIMIT).exp()


def _mean_of_means(token_loss: Tensor, ratio: Tensor, mask: Tensor, ids: RowIds | None, denominator: float | None) -> GspoLoss:
    weights = row_weights(mask.sum(1), Aggregation.SEQ_MEAN_TOKEN_MEAN, denominator=denominator, trajectory_ids=ids)
    return GspoLoss(weighted_loss(token_loss, mask, weights), ratio.detach(), token_loss)
