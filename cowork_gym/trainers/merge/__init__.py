"""Model merging: checkpoints of one lineage become one, tensor by tensor, with a record of what was done. Needs torch and safetensors."""

from cowork_gym.trainers.merge.alignment import Alignment, Matching, Thresholds
from cowork_gym.trainers.merge.formulas import DOT_THRESHOLD, Ties, cosine, slerp, soup, task_arithmetic, ties, trim
from cowork_gym.trainers.merge.merging import RECORD, Merged, merge
from cowork_gym.trainers.merge.plan import Names, sort_names
from cowork_gym.trainers.merge.recipe import METHODS, Method, Recipe

__all__ = [
    "DOT_THRESHOLD",
    "METHODS",
    "RECORD",
    "Alignment",
    "Matching",
    "Merged",
    "Method",
    "Names",
    "Recipe",
    "Thresholds",
    "Ties",
    "cosine",
    "merge",
    "slerp",
    "sort_names",
    "soup",
    "task_arithmetic",
    "ties",
    "trim",
]
