"""The family of model merging: soups, SLERP, task arithmetic, TIES, the correspondence of experts, and tensors that one parent lacks."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.conformance.case import Compute, Results
from cowork_gym.trainers.merge import DOT_THRESHOLD, Matching, Thresholds, cosine, slerp, sort_names, soup, task_arithmetic, ties

__all__ = ["MERGING"]

_TYPES = {
    "bf16": torch.bfloat16, "bfloat16": torch.bfloat16, "fp16": torch.float16, "f16": torch.float16, "float16": torch.float16, "fp32": torch.float32,
}


def _merging(inputs: Mapping[str, Any]) -> Results:
    if "selected_parent" in inputs:
        return _names(inputs)
    if "gate" in inputs:
        return _experts(inputs)
    if typed := [(name, kind) for kind in _TYPES if (name := f"parents_{kind}") in inputs]:
        return _typed(inputs, *typed[0])
    if "base" in inputs:
        return _changes(inputs)
    vectors = [_tensor(one) for one in inputs.get("models", inputs.get("parents", ()))]
    vectors += [_tensor(inputs[name]) for name in "abcdefgh" if name in inputs]
    if "t" in inputs:
        first, second = vectors
        return {"merged": slerp(first, second, inputs["t"], inputs.get("dot_threshold", DOT_THRESHOLD)), "cos": cosine(first, second)}
    return {"merged": lambda: soup(vectors, inputs.get("weights"))}


def _typed(inputs: Mapping[str, Any], name: str, kind: str) -> Results:
    """A soup of parents of a type, and the wrong one, which adds them up in that type."""
    parents = [torch.tensor(one, dtype=_TYPES[kind]) for one in inputs[name]]

    def narrow() -> Tensor:
        total = torch.zeros_like(parents[0])
        for one in parents:
            total = total + one
        return total / len(parents)

    merged = partial(soup, parents, inputs.get("weights"))
    return {f"fp32_accumulate_then_{kind}": merged, "merged": merged, f"{kind}_accumulate": narrow}


def _changes(inputs: Mapping[str, Any]) -> Results:
    """What parents changed about a base: TIES where a density is given, else task arithmetic."""
    base, models = _tensor(inputs["base"]), [_tensor(one) for one in inputs["models"]]
    weights, lam = inputs.get("weights"), inputs.get("lambda", inputs.get("lam", 1.0))
    if "density" in inputs:
        return ties(base, models, inputs["density"], weights, lam=lam)._asdict()
    return {
        "merged": lambda: task_arithmetic(base, models, weights, lam=lam, normalize=bool(inputs.get("normalize"))),
        "normalised": lambda: task_arithmetic(base, models, weights, lam=lam, normalize=True),
    }


def _experts(inputs: Mapping[str, Any]) -> Results:
    """A gate and an up matrix, and the same two in one tensor, in either order; `swapped` is the order that the name does not say."""
    found: dict[str, Any] = {"abort_threshold_example": Thresholds().cosine, "abort_margin": Thresholds().margin}
    parts = {name: _tensor(inputs[name]) for name in ("gate", "up", "down") if name in inputs}
    fused = {order: _tensor(inputs[f"fused_{order}"]) for order in ("gate_up", "up_gate") if f"fused_{order}" in inputs}
    for order, suffix in (("gate_up", "correct"), ("up_gate", "if_halves_swapped")):
        if order not in fused:
            continue
        first, second = fused[order].chunk(2)
        of_gate, wrong = cosine(parts["gate"], first), cosine(parts["gate"], second)
        found[f"cos_gate_{suffix}"] = of_gate
        found["abort" if suffix == "correct" else "abort_if_halves_swapped"] = Matching(of_gate, wrong).problem(Thresholds()) is not None
        if "up" in parts:
            found[f"cos_up_{suffix}"] = cosine(parts["up"], second)
    if "down" in parts and "fused_down" in inputs:
        found["cos_down_correct"] = cosine(parts["down"], _tensor(inputs["fused_down"]))
    return found


def _names(inputs: Mapping[str, Any]) -> Results:
    """Names of tensors by parent, under keys such as parent_a_keys."""
    parents = {name.removeprefix("parent_").removesuffix("_keys"): keys for name, keys in inputs.items() if name.startswith("parent_")}
    names = sort_names(list(parents.values()), list(parents).index(inputs["selected_parent"]), inputs.get("base_keys", ()))
    inherited = {f"inherited_from_{one}": [name for name, owner in names.inherited.items() if owner == at] for at, one in enumerate(parents)}
    return {"averaged": names.averaged, "missing": names.missing, **inherited}


def _tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


MERGING: Mapping[str, Compute] = {"merging": _merging}
"""By family."""
