"""Cases about training data: which records are demonstrations, how long trajectories are cut into windows, packing and masking.

The data builders stand above this room, so they are imported where a case asks for them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from cowork_gym.trainers.algorithms.conformance.case import Compute, Results

__all__ = ["DATA"]

_TOLERANCE = 1e-9


def _sft_converter(inputs: Mapping[str, Any]) -> Results:
    """Structural verdicts (`examples`), mean completion and labels (`attempts`), admission by label (`records`)."""
    if "examples" in inputs:
        return _verdicts(inputs)
    if "records" in inputs:
        return _admission(inputs)
    return _means(inputs)


def _fifo_windows(inputs: Mapping[str, Any]) -> Results:
    """The samples of a trajectory (`turns`), or what a reported number of samples allows (`mean_targets_per_trajectory`)."""
    if "turns" in inputs:
        return _windows(inputs)
    stride = inputs.get("stride", 10)
    bound = inputs["mean_targets_per_trajectory"] / stride
    reported = inputs.get("reported_mean_samples")
    found = {f"lower_bound_if_at_most_{stride}_new_turns": bound, "lower_bound_if_at_most_10_new_turns": bound, "lower_bound": bound}
    return found if reported is None else {**found, "literal_reading_consistent": reported >= bound - _TOLERANCE}


def _sft_packing_masking(inputs: Mapping[str, Any]) -> Results:
    """Packing (`lengths`), the layout of a row (`lengths_in_pack`), history masking (`spans`), sanitisation (`findings`)."""
    if "findings" in inputs:
        return _actions(inputs)
    if "spans" in inputs:
        return _masks(inputs)
    return _layout(inputs) if "lengths_in_pack" in inputs else _packing(inputs)


def _verdicts(inputs: Mapping[str, Any]) -> Results:
    from cowork_gym.trainers.data.sft.converter import REPORTED, Limits, Size, verdict

    usual = Limits()
    limits = Limits(
        messages=inputs.get("min_messages", usual.messages), tool_calls=inputs.get("max_tool_calls", usual.tool_calls),
        characters=inputs.get("max_chars", usual.characters),
    )
    sizes = (Size(one["messages"], one["tool_calls"], one["chars"], one.get("usable", True)) for one in inputs["examples"])
    verdicts = [verdict(one, limits).value for one in sizes]
    found = Counter(verdicts)
    counts = {name: found["keep" if name == "kept" else name] for name in REPORTED if name != "candidates"}
    return {"verdict": verdicts, "reported_counts": dict(REPORTED), "counts": {"candidates": len(verdicts), **counts}}


def _means(inputs: Mapping[str, Any]) -> Results:
    from cowork_gym.trainers.data.sft.selection import Thresholds, label, mean_score, published_label

    usual = Thresholds()
    limits = Thresholds(inputs.get("unsolvable", usual.unsolvable), inputs.get("trivial", usual.trivial))
    means = [mean_score(ones) for ones in inputs["attempts"]]
    labels = [_text(label(one, limits)) for one in means]
    return {"mean": means, "label_known": [_text(published_label(one)) for one in means], "label": labels, "recommended_label": labels}


def _admission(inputs: Mapping[str, Any]) -> Results:
    from cowork_gym.trainers.data.sft.selection import Label, Record, admit, prefix_of

    records = [
        Record(one["path"], None if one.get("label") is None else Label(one["label"]), None if one.get("trial") is None else str(one["trial"]))
        for one in inputs["records"]
    ]
    found = admit(records)
    return {"kept_indices": found.kept, "counts": found.counts, "prefix": [prefix_of(one.name) for one in records]}


def _windows(inputs: Mapping[str, Any]) -> Results:
    from cowork_gym.trainers.data.sft.windows import Window, context_start, windows

    turns, window, stride = inputs["turns"], inputs.get("window", 30), inputs.get("stride", 10)

    def told(found: Sequence[Window]) -> list[dict[str, int]]:
        return [one._asdict() for one in found]

    return {
        "literal": lambda: told(windows(turns, window, stride, "literal")), "recommended": lambda: told(windows(turns, window, stride)),
        "merged_first": lambda: told(windows(turns, window, stride, "merged_first")),
        "context_start_per_turn": lambda: [context_start(one, window, stride) for one in range(turns)],
    }


def _packing(inputs: Mapping[str, Any]) -> Results:
    from cowork_gym.trainers.data.sft.packing import pack

    return pack(inputs["lengths"], inputs["capacity"])._asdict()


def _layout(inputs: Mapping[str, Any]) -> Results:
    from cowork_gym.trainers.data.sft.packing import allowed_pairs, layout

    lengths = inputs["lengths_in_pack"]
    found = layout(lengths, inputs.get("capacity", sum(lengths)))
    return {**found._asdict(), "attention_allowed_pairs_count": lambda: allowed_pairs(found)}


def _masks(inputs: Mapping[str, Any]) -> Results:
    from cowork_gym.trainers.data.sft.masks import span_mask

    found = span_mask([(one["role"], one["tokens"]) for one in inputs["spans"]])
    tokens = [trained for trained, count in found.runs for _ in range(count)]
    merged = [[trained, len([*same])] for trained, same in groupby(tokens)]
    return {"loss_mask_runs": found.runs, "supervised_tokens": found.supervised, "loss_mask": tokens, "loss_mask_runs_merged": merged}


def _actions(inputs: Mapping[str, Any]) -> Results:
    from cowork_gym.trainers.data.sft.sanitise import Finding, decide

    findings = ({**one, "bad_spans": tuple(one.get("bad_spans", ()))} for one in inputs["findings"])
    return {"action": [decide(Finding(**one)).value for one in findings]}


def _text(label: Any) -> str | None:
    return None if label is None else str(label.value)


DATA: Mapping[str, Compute] = {"fifo_windows": _fifo_windows, "sft_converter": _sft_converter, "sft_packing_masking": _sft_packing_masking}
"""By family."""
