"""Rows for slime, Dressage and SkyRL: their fields, their lengths, and that a rollout weighs as one however many segments it has."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rollouts import made
from played_rollouts import at_random, reading

from cowork_gym.harness.middleware import Window
from cowork_gym.trainers.data import Rollout, rollout_of
from cowork_gym.trainers.data.exports import RewardOn, dressage_rows, skyrl_output, skyrl_rows, slime_rows

SLIME = {
    "group_index", "index", "rollout_id", "prompt", "tokens", "response", "response_length", "label", "reward", "loss_mask", "rollout_log_probs",
    "weight_versions", "remove_sample", "status", "metadata", "train_metadata", "session_id",
}
STATUS = {"pending", "completed", "truncated", "aborted", "failed"}
DRESSAGE = {
    "uid", "trajectory_id", "turn_id", "instance_id", "segment_index", "segment_count", "messages", "tools", "tokens", "full_logprobs",
    "full_loss_mask", "aligned_response_length", "full_versions", "routed_experts_chunks", "label", "finish_reason", "extra_info",
}
DRESSAGE_OPTIONAL = {"routed_experts_chunks"}
SKYRL = {
    "prompt_token_ids", "response_ids", "rewards", "loss_masks", "stop_reasons", "rollout_logprobs", "trajectory_ids", "is_last_step",
    "rollout_metrics", "env_metrics",
}
EXPORTS: list[Callable[[Iterable[Rollout]], Any]] = [slime_rows, dressage_rows, skyrl_rows]
BATCH = [
    made("a", 1.0, sizes=(3, 4, 2)), made("b", 0.0, sizes=(5,)), made("c", 1.0, "T/1/s1", sizes=(1, 1)), made("d", 0.5, "T/1/s1", sizes=(7,)),
]


def _by(rows: Iterable[Mapping[str, Any]], key: Callable[[Mapping[str, Any]], Any]) -> dict[Any, list[Mapping[str, Any]]]:
    parts = defaultdict(list)
    for row in rows:
        parts[key(row)].append(row)
    return dict(parts)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=2, unique=True))
def test_ids_masks_and_logprobs_come_back_from_every_form(seeds: list[int]) -> None:
    rollouts = [rollout_of(at_random(seed)[0]) for seed in seeds]
    segments = [one for rollout in rollouts for one in rollout.live]
    for row, one in zip(slime_rows(rollouts), segments, strict=True):
        row = json.loads(json.dumps(row, allow_nan=False))
        size = row["response_length"]
        assert size == len(row["loss_mask"]) == len(row["rollout_log_probs"])
        assert row["weight_versions"] == list(dict.fromkeys(filter(None, one.versions)))
        assert (*row["tokens"][:-size],) == one.prompt_ids and (*row["tokens"][-size:],) == one.response_ids
        assert ((*map(bool, row["loss_mask"]),), (*row["rollout_log_probs"],)) == (one.mask, one.logprobs)
    for row, one in zip(dressage_rows(rollouts), segments, strict=True):
        row = json.loads(json.dumps(row, allow_nan=False))
        read = len(row["tokens"]) - row["aligned_response_length"]
        assert len(row["tokens"]) == len(row["full_logprobs"]) == len(row["full_loss_mask"]) == len(row["full_versions"])
        assert (*row["tokens"][:read],) == one.prompt_ids and (*row["tokens"][read:],) == one.response_ids
        assert not any(row["full_loss_mask"][:read]) and not any(row["full_logprobs"][:read]) and not any(row["full_versions"][:read])
        assert (*map(bool, row["full_loss_mask"][read:]),) == one.mask
        assert (*row["full_logprobs"][read:],) == one.logprobs and (*row["full_versions"][read:],) == one.versions
    columns = json.loads(json.dumps(skyrl_output(skyrl_rows(rollouts)), allow_nan=False))
    for at, one in enumerate(segments):
        assert (*columns["prompt_token_ids"][at],) == one.prompt_ids and (*columns["response_ids"][at],) == one.response_ids
        assert (*map(bool, columns["loss_masks"][at]),) == one.mask and (*columns["rollout_logprobs"][at],) == one.logprobs


def test_every_form_has_the_fields_of_its_framework() -> None:
    for row in slime_rows(BATCH):
        assert row.keys() <= SLIME and SLIME - row.keys() == {"train_metadata"} and row["status"] in STATUS
    for row in dressage_rows(BATCH):
        assert row.keys() >= DRESSAGE - DRESSAGE_OPTIONAL and row.keys() - DRESSAGE == {"session_id"}
        assert row["session_id"] == row["trajectory_id"]
    columns = skyrl_output(skyrl_rows(BATCH))
    assert columns.keys() == SKYRL and {len(values) for name, values in columns.items() if name != "rollout_metrics"} == {7}


def test_slime_weighs_each_rollout_as_one() -> None:
    rows = list(slime_rows(BATCH))
    totals = {id: sum(sum(row["loss_mask"]) for row in each) for id, each in _by(rows, lambda row: row["rollout_id"]).items()}
    share: dict[int, float] = defaultdict(float)
    for row in rows:
        share[row["rollout_id"]] += sum(row["loss_mask"]) / totals[row["rollout_id"]]
    assert share == pytest.approx({0: 1, 1: 1, 2: 1, 3: 1})
    assert [row["group_index"] for row in rows] == [0, 0, 0, 0, 1, 1, 1]
    assert [row["reward"] for row in rows] == [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.5]
    assert [row["reward"] for row in slime_rows(BATCH, RewardOn.EVERY)] == [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.5]


def test_dressage_takes_the_reward_from_the_largest_index_and_weighs_prompts_equally() -> None:
    """The hooks of Dressage in short: one anchor a trajectory, statistics over anchors, and M * N / batch as a row's denominator."""
    samples = [*slime_rows(reversed(BATCH))]
    for parent, each in _by(samples, lambda row: row["metadata"]["parent_traj_id"]).items():
        anchor = max(each, key=lambda row: row["metadata"]["segment_index"])
        assert anchor["reward"] == {one.id: one.reward for one in BATCH}[parent]
        assert sorted(row["metadata"]["segment_index"] for row in each) == [*range(each[0]["metadata"]["segment_count"])]
    rows = [*dressage_rows(BATCH)]
    for each in _by(rows, lambda row: row["trajectory_id"]).values():
        assert sorted(row["segment_index"] for row in each) == [*range(each[0]["segment_count"])]
        assert len({row["uid"] for row in each}) == len(each)
    share: dict[str, float] = {}
    for prompt, each in _by(rows, lambda row: row["instance_id"]).items():
        tokens, rollouts = sum(sum(row["full_loss_mask"]) for row in each), len({row["trajectory_id"] for row in each})
        share[prompt] = sum(sum(row["full_loss_mask"]) / (tokens * rollouts / len(BATCH)) for row in each) * rollouts / len(BATCH)
    assert share == pytest.approx({"T/1/s0": 1, "T/1/s1": 1})


def test_skyrl_finds_one_outcome_a_trajectory() -> None:
    columns = skyrl_output(skyrl_rows(BATCH))
    ids = [(one["instance_id"], one["repetition_id"]) for one in columns["trajectory_ids"]]
    assert ids == [("T/1/s0", 0)] * 3 + [("T/1/s0", 1)] + [("T/1/s1", 0)] * 2 + [("T/1/s1", 1)]
    assert columns["is_last_step"] == [at + 1 == len(ids) or ids[at] != ids[at + 1] for at in range(len(ids))]
    outcomes = [reward for reward, last in zip(columns["rewards"], columns["is_last_step"], strict=True) if last]
    assert outcomes == [one.reward for one in BATCH]
    assert not any(reward for reward, last in zip(columns["rewards"], columns["is_last_step"], strict=True) if not last)


def test_what_frameworks_have_no_field_for_goes_along() -> None:
    rollout = rollout_of(reading(12, Window(8, 4))[0])
    for rows, name in ((slime_rows, "metadata"), (dressage_rows, "extra_info"), (skyrl_rows, "env_metrics")):
        for row, one in zip(rows([rollout]), rollout.live, strict=True):
            told = row[name]
            assert told["components"] == dict(rollout.components) and told["reward"] == rollout.reward and told["boundary"] == one.boundary
            assert [(step["start"], step["end"], step["turn"], step["anchor"]) for step in told["steps"]] == [
                (step.start, step.end, step.turn, step.anchor) for step in one.steps
            ]


@pytest.mark.parametrize("rows", EXPORTS)
def test_segments_that_are_dropped_stay_at_home_and_the_others_are_numbered_anew(rows) -> None:
    whole = made("a", 1.0, sizes=(2, 3, 4))
    some = replace(whole, segments=(whole.segments[0], whole.segments[1].without_loss("for audit only"), whole.segments[2]))
    assert len(list(rows([some]))) == 2
    late = replace(whole, segments=(*whole.segments[:2], whole.segments[2].without_loss("for audit only")))
    assert [row["metadata"]["segment_index"] for row in slime_rows([late])] == [0, 1]
    assert [row["reward"] for row in slime_rows([late])] == [0.0, 1.0] and [row["is_last_step"] for row in skyrl_rows([late])] == [False, True]


@pytest.mark.parametrize("rows", EXPORTS)
def test_a_rollout_without_loss_still_counts_with_its_reward(rows) -> None:
    [row] = rows([made("a", 1.0, sizes=(2, 3)).without_loss("an answer was cut off")])
    mask = row.get("loss_mask", row.get("full_loss_mask", row.get("loss_masks")))
    assert mask and not any(mask)
    assert 1.0 in (row.get("reward"), row.get("rewards"), row.get("extra_info", {}).get("reward"))


@pytest.mark.parametrize("rows", EXPORTS)
def test_what_cannot_be_exported_is_refused_by_name(rows) -> None:
    good = made("a", 1.0)
    with pytest.raises(ValueError, match=r"rollout b is dropped .quarantined: timeout.*a missing one is not 0"):
        list(rows([good, made("b", None)]))
    with pytest.raises(ValueError, match="the tokenizer u, and rollout a the tokenizer t"):
        list(rows([good, replace(made("b", 1.0), tokenizer="u")]))
    with pytest.raises(ValueError, match="has no tokens"):
        list(rows([replace(good, segments=())]))


def test_a_batch_that_breaks_off_is_refused() -> None:
    rows = [*skyrl_rows(BATCH)]
    for part in ([], rows[:2]):
        with pytest.raises(ValueError, match="do not end with the last"):
            skyrl_output(part)


@pytest.mark.parametrize("rows", EXPORTS)
def test_rows_fit_into_parquet(rows, tmp_path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    every = [*rows([rollout_of(reading(12, Window(8, 4), chance=at)[0]) for at in range(2)])]
    parquet.write_table(arrow.Table.from_pylist(every), tmp_path / "rows.parquet")
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == every


@pytest.mark.parametrize("rows", EXPORTS)
def test_rows_are_made_one_rollout_at_a_time(rows) -> None:
    taken = []

    def source():
        for one in BATCH:
            taken.append(one.id)
            yield one

    next(iter(rows(source())))
    assert taken == ["a"]
