"""How cases of group-relative advantages say who belongs to which group, who counts, and how a group is normalised."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from torch import Tensor

from cowork_gym.trainers.algorithms.advantages.normalise import Denominator, Normaliser, Singleton
from cowork_gym.trainers.algorithms.conformance.layout import first_of
from cowork_gym.trainers.algorithms.groups import ZERO_TOL, RowClass

__all__ = ["classes_of", "groups_of", "normaliser_of", "one_or_list", "readable"]


def readable(values: Tensor | Sequence[Any]) -> Any:
    """Nested lists with null for NaN."""
    return _with_null(values.tolist() if isinstance(values, Tensor) else list(values))


def one_or_list(values: Tensor | Sequence[Any]) -> Any:
    """What stands for each group; alone, where there is only one."""
    listed = readable(values)
    return listed[0] if len(listed) == 1 else listed


def groups_of(inputs: Mapping[str, Any], size: int) -> list[Hashable]:
    """The group of each; one group of all where the case names none."""
    given = first_of(inputs, "group_ids", "groups", "prompt_of_sample")
    return [0] * size if given is None else list(given)


def classes_of(inputs: Mapping[str, Any], size: int) -> list[RowClass]:
    """The class of each, from `classes`, or from `valid` and `loss_masked`."""
    if (named := first_of(inputs, "classes", "row_class", "row_classes")) is not None:
        return [RowClass(one) for one in named]
    valid, masked = inputs.get("valid") or [True] * size, inputs.get("loss_masked") or [False] * size
    return [_class(bool(one), bool(other)) for one, other in zip(valid, masked, strict=True)]


def normaliser_of(inputs: Mapping[str, Any], **defaults: Any) -> Normaliser:
    """The normaliser that a case describes.

    Where no denominator is named it is the default, except that a case with an eps and no floor can only mean std+eps.

    Args:
        inputs: Of the case.
        defaults: Of the normaliser, where the case is silent and the family has other defaults.
    """
    found = dict(defaults)
    if "denominator" in inputs:
        found["denominator"] = Denominator.NONE if inputs["denominator"] in (None, "1") else Denominator(inputs["denominator"])
    elif "eps" in inputs and "floor" not in inputs:
        found["denominator"] = Denominator.STD_PLUS_EPS
    found |= {name: inputs[name] for name in ("floor", "eps", "ddof") if name in inputs}
    found["zero_tol"] = first_of(inputs, "zero_tol", "tol", default=ZERO_TOL)
    if "singleton" in inputs:
        found["singleton"] = Singleton(inputs["singleton"])
    return Normaliser(**found)


def _class(valid: bool, masked: bool) -> RowClass:
    if not valid:
        return RowClass.INVALID
    return RowClass.LOSS_MASKED if masked else RowClass.VALID


def _with_null(values: Any) -> Any:
    if isinstance(values, list):
        return [_with_null(one) for one in values]
    return None if isinstance(values, float) and math.isnan(values) else values
