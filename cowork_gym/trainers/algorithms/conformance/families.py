"""Every family of cases with the function that computes its quantities. Cases are told apart by the keys of their inputs, never by name."""

from collections.abc import Mapping

from cowork_gym.trainers.algorithms.conformance.case import Compute
from cowork_gym.trainers.algorithms.conformance.of_advantages import ADVANTAGES
from cowork_gym.trainers.algorithms.conformance.of_critics import CRITICS
from cowork_gym.trainers.algorithms.conformance.of_data import DATA
from cowork_gym.trainers.algorithms.conformance.of_losses import LOSSES
from cowork_gym.trainers.algorithms.conformance.of_merging import MERGING
from cowork_gym.trainers.algorithms.conformance.of_metrics import METRICS

__all__ = ["FAMILIES"]

FAMILIES: Mapping[str, Compute] = {**ADVANTAGES, **LOSSES, **CRITICS, **METRICS, **MERGING, **DATA}
"""By family."""
