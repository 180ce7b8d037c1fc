"""From token losses to one number. Every aggregation is one weight a row, known from the masks alone, so a batch may be split in any way."""

from enum import StrEnum

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.ids import RowIds, number
from cowork_gym.trainers.algorithms.masked import live_mask, masked_sum

__all__ = ["FIXED_NORMALISER", "Aggregation", "aggregate", "prompt_equal_denominators", "row_weights", "weighted_loss"]

FIXED_NORMALISER = 1536.0
"""CoworkEnv's constant for Dr.GRPO, the generation limit of one turn."""


class Aggregation(StrEnum):
    """What weighs the same. A sequence is a row, or all rows of a trajectory where trajectory ids are given; one without live tokens is none."""

    TOKEN_MEAN = "token_mean"
    """Every live token of the batch."""
    SEQ_MEAN_TOKEN_MEAN = "seq_mean_token_mean"
    """Every sequence, however long."""
    SEQ_MEAN_TOKEN_SUM = "seq_mean_token_sum"
    """Every token, divided by the number of sequences."""
    SEQ_MEAN_TOKEN_SUM_NORM = "seq_mean_token_sum_norm"
    """As before, divided by the fixed normaliser too."""
    TOKEN_SUM_NORM = "token_sum_norm"
    """Every token, divided by the fixed normaliser only."""
    PROMPT_MEAN = "prompt_mean"
    """Every prompt: the mean over groups of the mean over a group's tokens."""


def row_weights(
    live: Tensor,
    mode: Aggregation = Aggregation.TOKEN_MEAN,
    *,
    denominator: float | None = None,
    normaliser: float = FIXED_NORMALISER,
    trajectory_ids: RowIds | None = None,
    group_ids: RowIds | None = None,
) -> Tensor:
    """By what each row's sum of token losses is multiplied: [rows] in float64.

    Calculated once for the whole optimiser batch and cut along with it, the weights give the whole batch's loss under any split in micro-batches.

    Args:
        live: [rows] counts of live tokens, before any loss drops some of them (DIS, masked importance sampling).
        mode: Which aggregation.
        denominator: The optimiser batch's count over all ranks and micro-batches, when these rows are only a part of it: of live tokens
            (token_mean), sequences (seq_mean_*) or prompts (prompt_mean); the latter two have to be whole here wherever their own length
            divides. Ranks whose gradients are averaged multiply the loss by their number. None: these rows are the batch.
        normaliser: The constant of the two norm modes.
        trajectory_ids: [rows]; rows of one id are one sequence. None: each row is one.
        group_ids: [rows]; needed by prompt_mean, rows of one id answer one prompt.

    Raises:
        ValueError: There is no such mode; ids are missing or too few; a divisor is not above 0, or not one of the mode; counts are not [rows].
    """
    mode, live = Aggregation(mode), _counts(live)
    _check_divisors(mode, denominator, normaliser)
    if mode is Aggregation.PROMPT_MEAN and group_ids is None:
        raise ValueError(f"{mode} needs group_ids")
    own, tokens = _tokens_together(live, group_ids if mode is Aggregation.PROMPT_MEAN else trajectory_ids)
    weights = torch.ones_like(live)
    if mode in (Aggregation.PROMPT_MEAN, Aggregation.SEQ_MEAN_TOKEN_MEAN):
        weights = weights / own.clamp(min=1)
    if mode in (Aggregation.SEQ_MEAN_TOKEN_SUM_NORM, Aggregation.TOKEN_SUM_NORM):
        weights = weights / normaliser
    if mode is Aggregation.TOKEN_SUM_NORM:
        return weights
    found = live.sum() if mode is Aggregation.TOKEN_MEAN else (tokens > 0).sum()
    return weights / (found.clamp(min=1) if denominator is None else denominator)


def weighted_loss(token_loss: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
    """The sum over live tokens of loss times row weight; 0, still connected to the graph, where nothing is live.

    Args:
        token_loss: [rows, tokens]; dead positions may hold anything.
        mask: [rows, tokens].
        weights: [rows], as `row_weights` gives them.

    Raises:
        ValueError: Shapes differ, or a live loss is not finite.
    """
    if weights.shape != token_loss.shape[:1]:
        raise ValueError(f"{list(weights.shape)} weights do not fit token losses of shape {list(token_loss.shape)}")
    sums = masked_sum(token_loss, mask, dim=1)
    return (sums * weights.to(sums)).sum()


def aggregate(
    token_loss: Tensor,
    mask: Tensor,
    mode: Aggregation = Aggregation.TOKEN_MEAN,
    *,
    denominator: float | None = None,
    normaliser: float = FIXED_NORMALISER,
    trajectory_ids: RowIds | None = None,
    group_ids: RowIds | None = None,
) -> Tensor:
    """The loss of rows: `weighted_loss` with the `row_weights` of their mask; see there for arguments and errors.

    `mask` is the one from before any loss dropped tokens: numerators may be thinned out, denominators are not.
    """
    live = live_mask(mask, token_loss)
    weights = row_weights(live.sum(1), mode, denominator=denominator, normaliser=normaliser, trajectory_ids=trajectory_ids, group_ids=group_ids)
    return weighted_loss(token_loss, live, weights)


def prompt_equal_denominators(live: Tensor, group_ids: RowIds, global_batch_size: int | None = None) -> Tensor:
    """Dressage's denominators: a sample's token-loss sum over its denominator, summed and divided by the batch size, is the mean over prompts.

    M_P * N_P / global_batch_size with M_P = live tokens of the prompt and N_P = prompts with a live token
    (Dressage `convert_samples`, `_prompt_equal_rollout_mask_sums`).

    Args:
        live: [samples] counts of live tokens.
        group_ids: [samples] prompts.
        global_batch_size: By what the sum will be divided; the number of samples when None.

    Returns:
        [samples] in float64.

    Raises:
        ValueError: There are not as many ids as samples; the batch size is not above 0.
    """
    if global_batch_size is not None and not global_batch_size > 0:
        raise ValueError(f"a batch size is above 0, and this is {global_batch_size}")
    return 1 / (row_weights(live, Aggregation.PROMPT_MEAN, group_ids=group_ids) * (global_batch_size or len(live)))


def _counts(live: Tensor) -> Tensor:
    if live.dim() != 1:
        raise ValueError(f"counts of live tokens are [rows], and these have the shape {list(live.shape)}")
    return live.to(torch.float64)


def _check_divisors(mode: Aggregation, denominator: float | None, normaliser: float) -> None:
    if not normaliser > 0 or (denominator is not None and not denominator > 0):
        raise ValueError(f"a denominator is above 0, and these are {denominator} and {normaliser}")
    if mode is Aggregation.TOKEN_SUM_NORM and denominator is not None:
        raise ValueError(f"{mode} divides by its normaliser alone")


def _tokens_together(live: Tensor, ids: RowIds | None) -> tuple[Tensor, Tensor]:
    """For each row the live tokens of all rows of its id; and those of each id."""
    if ids is None:
        return live, live
    index, size = number(ids, live)
    tokens = live.new_zeros(size).index_add(0, index, live)
    return tokens[index], tokens
