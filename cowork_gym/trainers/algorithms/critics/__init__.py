"""Estimators that have a critic: advantages over optimised tokens, across rewrites, and the critic's own loss."""

from cowork_gym.trainers.algorithms.critics.compaction import (
    CompactionAdvantages,
    Reading,
    SegmentPlaces,
    compaction_advantages,
    compaction_returns,
    segment_places,
)
from cowork_gym.trainers.algorithms.critics.gae import Gae, masked_gae, terminal_rewards
from cowork_gym.trainers.algorithms.critics.lengths import length_adaptive_lambda
from cowork_gym.trainers.algorithms.critics.value_loss import ValueLoss, explained_variance, value_loss

__all__ = [
    "CompactionAdvantages",
    "Gae",
    "Reading",
    "SegmentPlaces",
    "ValueLoss",
    "compaction_advantages",
    "compaction_returns",
    "explained_variance",
    "length_adaptive_lambda",
    "masked_gae",
    "segment_places",
    "terminal_rewards",
    "value_loss",
]
