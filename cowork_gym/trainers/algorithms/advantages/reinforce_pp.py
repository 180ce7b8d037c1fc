"""REINFORCE++: discounted token returns that pass over observations, whitened over the live tokens of the batch; and its baseline variant."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.advantages.normalise import CENTRED, GroupAdvantages
from cowork_gym.trainers.algorithms.advantages.rows import mask_rows, to_rows, to_tokens
from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Groups, Ids, Missing, Rewards, RowClass, read_classes, read_rewards, require_tolerance
from cowork_gym.trainers.algorithms.masked import live_mask, live_values, masked_whiten

__all__ = [
    "BaselineAdvantages",
    "ReinforceAdvantages",
    "outcome_token_rewards",
    "reinforce_pp_advantages",
    "reinforce_pp_baseline_advantages",
    "reinforce_pp_returns",
]


@dataclass(frozen=True, slots=True, eq=False)
class ReinforceAdvantages:
    """One advantage a token.

    Attributes:
        advantages: [rows, tokens] in float64, 0 where dead.
        returns: [rows, tokens] in float64, 0 where dead.
        live_tokens: How many tokens the statistics are over.
        zero_variance: All live returns are equal within the tolerance: every advantage is 0.
    """

    advantages: Tensor
    returns: Tensor
    live_tokens: int
    zero_variance: bool


@dataclass(frozen=True, slots=True, eq=False)
class BaselineAdvantages:
    """One advantage a token, from group-relative ones.

    Attributes:
        advantages: [rows, tokens] in float64, 0 where dead.
        centred: One a trajectory, before whitening.
        live_tokens: How many tokens the statistics are over.
        zero_variance: All live values are equal within the tolerance: every advantage is 0.
    """

    advantages: Tensor
    centred: GroupAdvantages
    live_tokens: int
    zero_variance: bool


def outcome_token_rewards(
    rewards: Rewards, mask: Tensor, kl: Tensor | None = None, beta: float = 0.0, *, classes: Sequence[RowClass] | None = None
) -> Tensor:
    """-beta * KL on every live token, and the row's reward on its last live one.

    Args:
        rewards: [rows].
        mask: [rows, tokens].
        kl: [rows, tokens] estimates of the divergence from the reference policy; dead positions may hold anything.
        beta: Its weight.
        classes: [rows]; all valid when None. Rows that do not train get 0: nobody looks at their reward or divergence.

    Returns:
        [rows, tokens] in float64, 0 where dead.

    Raises:
        ValueError: Shapes differ; the reward of a row that trains is missing or infinite, or it has no live token to carry it.
    """
    trains = [one.trains for one in read_classes(classes, len(rewards))]
    read = read_rewards(rewards, [RowClass.VALID if one else RowClass.PADDING for one in trains])
    if mask.dim() != 2 or len(read.values) != len(mask):
        raise ValueError(f"{len(read.values)} rewards do not fit a mask of shape {list(mask.shape)}")
    live = mask_rows(mask, classes)
    stranded = read.counted.to(mask.device) & ~live.any(1)
    if bool(stranded.any()):
        raise ValueError(f"row {int(stranded.nonzero()[0])} has a reward and no live token to carry it")
    tokens = torch.zeros(mask.shape, dtype=torch.float64, device=mask.device)
    if kl is not None:
        tokens = tokens - beta * live_values("kl", kl.to(torch.float64), live)
    last = live & (live.cumsum(1) == live.sum(1, keepdim=True))
    return tokens + last * read.values.to(mask.device).unsqueeze(1)


def reinforce_pp_returns(token_rewards: Tensor, mask: Tensor, gamma: float = 1.0) -> Tensor:
    """G_t = r_t + gamma * G of the next live token. Dead tokens are passed over: they neither decay the return nor end it.

    Args:
        token_rewards: [rows, tokens]; dead positions may hold anything.
        mask: [rows, tokens], 1 = token sampled by the policy.
        gamma: The discount a live token.

    Returns:
        [rows, tokens] in float64, 0 where dead.

    Raises:
        ValueError: Shapes differ; gamma is not in [0, 1]; a live reward is not finite.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma is from 0 to 1, and this is {gamma}")
    live = live_mask(mask, token_rewards)
    rewards = live_values("token_rewards", token_rewards.detach().to(torch.float64), live)
    returns, following = torch.zeros_like(rewards), rewards.new_zeros(len(rewards))
    for place in range(rewards.shape[1] - 1, -1, -1):
        following = torch.where(live[:, place], rewards[:, place] + gamma * following, following)
        returns[:, place] = torch.where(live[:, place], following, 0.0)
    return returns


def reinforce_pp_advantages(token_rewards: Tensor, mask: Tensor, gamma: float = 1.0, *, zero_tol: float = ZERO_TOL) -> ReinforceAdvantages:
    """Returns, whitened over all live tokens of the batch with ddof 1: (G - mean) / sqrt(var + 1e-8).

    Hu 2025, arXiv:2501.03262; verl's form after returns stopped being reset at tool observations.

    Args:
        token_rewards: [rows, tokens], see `outcome_token_rewards`.
        mask: [rows, tokens]; rows of trajectories that are invalid or out of the loss are all 0.
        gamma: The discount a live token.
        zero_tol: Returns that lie no further apart give exact zeros.

    Raises:
        ValueError: See `reinforce_pp_returns`; exactly one token is live, so there is no variance; the tolerance is negative or not finite.
    """
    returns = reinforce_pp_returns(token_rewards, mask, gamma)
    advantages, zero = _whiten(returns, live_mask(mask, returns), zero_tol)
    return ReinforceAdvantages(advantages, returns, int(live_mask(mask, returns).sum()), zero)


def reinforce_pp_baseline_advantages(
    rewards: Rewards,
    group_ids: Ids,
    mask: Tensor,
    *,
    trajectory_ids: Ids | None = None,
    row_trajectory_ids: Ids | None = None,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
    zero_tol: float = ZERO_TOL,
) -> BaselineAdvantages:
    """R - mean of the group, broadcast to the live tokens, then whitened over them (the baseline variant of arXiv:2501.03262).

    Args:
        rewards: [trajectories].
        group_ids: [trajectories].
        mask: [rows, tokens]; rows out of the loss are all 0.
        trajectory_ids: [trajectories]; with `row_trajectory_ids`, where trajectories have several rows. None: row i is trajectory i.
        row_trajectory_ids: [rows].
        classes: [trajectories]; all valid when None. Tokens of those that do not train enter no statistic either.
        missing: What to do with a reward that is None or NaN.
        zero_tol: Values that lie no further apart are equal.

    Raises:
        ValueError: Lengths differ; a reward is infinite or missing without leave; exactly one token is live; the tolerance is out of range.
    """
    read = read_rewards(rewards, classes, missing)
    centred = CENTRED.advantages(read, Groups(group_ids, read.counted))
    size = len(read.values)
    if row_trajectory_ids is None and len(mask) != size:
        raise ValueError(f"{len(mask)} rows without row_trajectory_ids do not fit {size} trajectories")
    ids = range(size) if trajectory_ids is None else trajectory_ids
    rows = range(len(mask)) if row_trajectory_ids is None else row_trajectory_ids
    trains = read.counted & torch.tensor([one.trains for one in read_classes(classes, size)], dtype=torch.bool)
    live = mask_rows(mask, counted=to_rows(trains, ids, rows))
    tokens = to_tokens(to_rows(centred.advantages, ids, rows), live, torch.float64)
    advantages, zero = _whiten(tokens, live, zero_tol)
    return BaselineAdvantages(advantages, centred, int(live.sum()), zero)


def _whiten(values: Tensor, live: Tensor, zero_tol: float) -> tuple[Tensor, bool]:
    """Whitened values, and whether there was no variance to divide by."""
    require_tolerance(zero_tol)
    found = values[live]
    if len(found) > 1 and float(found.max() - found.min()) <= zero_tol:
        return torch.zeros_like(values), True
    return masked_whiten(values, live), len(found) == 0
