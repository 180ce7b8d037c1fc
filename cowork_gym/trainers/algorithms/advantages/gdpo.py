"""GDPO: every reward is normalised inside its group for itself, then they are combined, then the batch is normalised."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.advantages.normalise import AdvantageCounts, Denominator, Normaliser, count
from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Groups, Ids, Missing, Read, RowClass, read_amounts, read_classes, read_rewards

__all__ = ["GDPO_EPS", "BatchStatistics", "ComponentRewards", "GdpoAdvantages", "gdpo_advantages"]

ComponentRewards: TypeAlias = Tensor | Sequence[Sequence[float | None]]
"""One list of rewards a trajectory; None and NaN say that there is none."""
GDPO_EPS = 1e-4
_VARIANCE_EPS = 1e-8
"""Of verl's masked whitening, where the statistics are over tokens."""
_UNEQUAL = "every trajectory has the same components, at least one"


class BatchStatistics(StrEnum):
    """Over what the batch is normalised."""

    SAMPLE = "sample"
    """Over trajectories, each once: (x - mean) / (std + eps)."""
    TOKEN = "token"
    """Over live tokens, so long trajectories weigh more, as in verl: (x - mean) / sqrt(var + 1e-8)."""
    NONE = "none"
    """It is not."""


@dataclass(frozen=True, slots=True, eq=False)
class GdpoAdvantages:
    """One advantage a trajectory, with the steps to it.

    Attributes:
        advantages: [trajectories] in float64, 0 for one that does not count.
        components: [trajectories, components] each reward normalised inside its group; 0 where it has no variance or is missing.
        combined: [trajectories] their weighted sum, before the batch was normalised.
        counted: [trajectories] truth values.
        zero_variance: [components] in how many groups the reward is equal within the tolerance.
        missing_components: [components] at how many counted trajectories it is missing.
        counts: Who entered the statistics; zero_variance counts groups in which no component varies.
    """

    advantages: Tensor
    components: Tensor
    combined: Tensor
    counted: Tensor
    zero_variance: tuple[int, ...]
    missing_components: tuple[int, ...]
    counts: AdvantageCounts


def gdpo_advantages(
    rewards: ComponentRewards,
    group_ids: Ids,
    *,
    weights: Sequence[float] | None = None,
    eps: float = GDPO_EPS,
    batch_eps: float | None = None,
    ddof: int = 1,
    statistics: BatchStatistics = BatchStatistics.SAMPLE,
    tokens: Sequence[int] | Tensor | None = None,
    zero_tol: float = ZERO_TOL,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
) -> GdpoAdvantages:
    """Normalise each component inside the group, add them up with weights, normalise the batch over valid groups.

    Liu 2026, arXiv:2601.05242; CoworkEnv's batch statistics are over the valid groups only.

    Args:
        rewards: [trajectories, components].
        group_ids: [trajectories].
        weights: [components]; all 1 when None.
        eps: Added to the standard deviation inside groups.
        batch_eps: Added to that of the batch; `eps` when None. Token statistics have verl's 1e-8 under the root instead.
        ddof: Of groups and of the sample statistics; token statistics always have 1.
        statistics: Over what the batch is normalised.
        tokens: [trajectories] live tokens; token statistics need them.
        zero_tol: Values that lie no further apart have zero variance: they give 0.
        classes: [trajectories]; all valid when None.
        missing: A missing component is an error, or leaves that component's statistics and adds nothing;
            a trajectory without any component leaves all statistics.

    Raises:
        ValueError: Lengths differ; a weight, an eps or a count of tokens is no such number; a reward is infinite or missing without leave.
    """
    reads = _read_components(rewards, classes, Missing(missing))
    inner = Normaliser(Denominator.STD_PLUS_EPS, eps=eps, ddof=ddof, zero_tol=zero_tol)
    outer = replace(inner, eps=eps if batch_eps is None else batch_eps)
    found = _combine(reads, group_ids, weights, inner)
    return replace(found, advantages=_over_batch(found, BatchStatistics(statistics), outer, tokens))


def _read_components(rewards: ComponentRewards, classes: Sequence[RowClass] | None, missing: Missing) -> list[Read]:
    """Each component with its missing values told apart; what stands at a trajectory that does not count is not looked at."""
    rows = rewards.tolist() if isinstance(rewards, Tensor) else list(rewards)
    if not rows:
        raise ValueError("there are no rewards")
    kinds = read_classes(classes, len(rows))
    counting = [_components(one) for one, kind in zip(rows, kinds, strict=True) if kind.counts]
    widths = {len(one) for one in counting} or {max([1, *(len(one) for one in rows if isinstance(one, list))])}
    if len(widths) != 1 or not (columns := widths.pop()):
        raise ValueError(_UNEQUAL)
    full = [list(one) if kind.counts else [None] * columns for one, kind in zip(rows, kinds, strict=True)]
    return [read_rewards([one[k] for one in full], kinds, missing, f"component {k} of rewards") for k in range(columns)]


def _components(one: Any) -> list[float | None]:
    try:
        return list(one)
    except TypeError as error:
        raise ValueError(_UNEQUAL) from error


def _combine(reads: Sequence[Read], group_ids: Ids, weights: Sequence[float] | None, normaliser: Normaliser) -> GdpoAdvantages:
    """What stands before the batch is normalised."""
    factors = torch.tensor([1.0] * len(reads) if weights is None else list(weights), dtype=torch.float64)
    if len(factors) != len(reads) or not bool(torch.isfinite(factors).all()):
        raise ValueError(f"{len(factors)} weights, which are to be finite, do not fit {len(reads)} components")
    parts = [Groups(group_ids, one.counted) for one in reads]
    found = [normaliser.normalise(one.values, part) for one, part in zip(reads, parts, strict=True)]
    components = torch.stack([one for one, _, _ in found], dim=1)
    read = _together(components @ factors, reads)
    groups = Groups(group_ids, read.counted)
    varies = torch.stack([(part.size > 1) & ~zero for part, (_, _, zero) in zip(parts, found, strict=True)]).any(0)
    return GdpoAdvantages(
        read.values,
        components,
        read.values,
        read.counted,
        tuple(int(zero.sum()) for _, _, zero in found),
        tuple(int((read.counted & ~one.counted).sum()) for one in reads),
        count(read, groups, (groups.size > 1) & ~varies),
    )


def _together(combined: Tensor, reads: Sequence[Read]) -> Read:
    """Who counts in the batch: everyone with a component."""
    counted = torch.stack([one.counted for one in reads]).any(0)
    lost = reads[0].counted.numel() - int(counted.sum()) - reads[0].invalid - reads[0].padding
    return Read(combined, counted, reads[0].invalid, reads[0].padding, lost)


def _over_batch(found: GdpoAdvantages, statistics: BatchStatistics, normaliser: Normaliser, tokens: Sequence[int] | Tensor | None) -> Tensor:
    match statistics:
        case BatchStatistics.SAMPLE:
            return normaliser.normalise(found.combined, Groups([0] * len(found.combined), found.counted))[0]
        case BatchStatistics.TOKEN:
            return _over_tokens(found.combined, found.counted, tokens, normaliser.zero_tol)
        case BatchStatistics.NONE:
            return found.combined


def _over_tokens(combined: Tensor, counted: Tensor, tokens: Sequence[int] | Tensor | None, zero_tol: float) -> Tensor:
    """The batch normalised with every trajectory weighing as many times as it has live tokens."""
    if tokens is None:
        raise ValueError("token statistics need the number of live tokens of every trajectory")
    weight = read_amounts(tokens, counted, "tokens")
    total = float(weight.sum())
    live = combined[weight > 0]
    if total <= 1 or float(live.max() - live.min()) <= zero_tol:
        return torch.zeros_like(combined)
    centred = combined - (weight * combined).sum() / total
    variance = (weight * centred.square()).sum() / (total - 1)
    return torch.where(counted, centred / (variance + _VARIANCE_EPS).sqrt(), 0.0)
