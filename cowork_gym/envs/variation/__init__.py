"""Seeded variation: the forms that a task has for seeds, with gradings that follow from the same variables."""

from cowork_gym.envs.variation.check import check_variation
from cowork_gym.envs.variation.form import Variation, parse_variation
from cowork_gym.envs.variation.instances import instance

__all__ = ["Variation", "check_variation", "instance", "parse_variation"]
