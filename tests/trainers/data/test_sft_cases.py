"""The adapters of the conformance cases about data, with other numbers than the published ones."""

import pytest

pytest.importorskip("torch")

from cowork_gym.trainers.algorithms.conformance.case import difference
from cowork_gym.trainers.algorithms.conformance.of_data import DATA


def _computed(family, name, **inputs):
    found = DATA[family](inputs)[name]
    return found() if callable(found) else found


def test_cases_of_other_numbers_are_computed():
    assert _computed("sft_converter", "label", attempts=[[0.1], [0.5], [1.0], []]) == ["UNSOLVABLE", "KEEP", "TRIVIAL", None]
    assert _computed("sft_converter", "label_known", attempts=[[0.7, 0.9], [0.79]]) == ["KEEP", None]
    assert _computed("sft_converter", "verdict", examples=[{"name": "x", "messages": 5, "tool_calls": 0, "chars": 0, "usable": True}]) == ["keep"]
    assert _computed("sft_converter", "kept_indices", records=[{"path": "M2_a", "label": "UNSOLVABLE"}, {"path": "M2_b", "label": "TRIVIAL"}]) == (1,)
    assert len(_computed("fifo_windows", "literal", turns=41)) == 5
    assert _computed("fifo_windows", "literal_reading_consistent", mean_targets_per_trajectory=40.0, stride=10, reported_mean_samples=4.0)
    assert _computed("sft_packing_masking", "action", findings=[{"bad_spans": [1], "surroundings_valid": True, "bad_step": 2}]) == ["mask_span"]
    assert _computed("sft_packing_masking", "attention_allowed_pairs_count", lengths_in_pack=[2, 2]) == 6
    assert _computed("sft_packing_masking", "supervised_tokens", spans=[{"role": "summary_by_policy", "tokens": 3}]) == 3
    assert difference([[False, 2], [True, 1]], _computed("sft_packing_masking", "loss_mask_runs", spans=[
        {"role": "tool", "tokens": 2}, {"role": "asst", "tokens": 1},
    ]), 0) is None
