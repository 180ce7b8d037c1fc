"""Numbers that were agreed on, and further combinations of options calculated by hand: through the adapters of the conformance command."""

import json
import math
from pathlib import Path

import pytest

pytest.importorskip("torch")

from cowork_gym.trainers.algorithms.conformance.case import Case, difference
from cowork_gym.trainers.algorithms.conformance.of_advantages import ADVANTAGES

FORMS = {form["name"]: form for form in json.loads(Path(__file__).with_name("advantage_cases.json").read_text(encoding="utf-8"))}
HALF = math.sqrt(0.5)


def _check(family, inputs, expected, tolerance=1e-9):
    results = ADVANTAGES[family](inputs)
    for name, value in expected.items():
        found = results[name]() if callable(results[name]) else results[name]
        assert difference(value, found, tolerance, name) is None


@pytest.mark.parametrize("name", FORMS)
def test_a_case_holds(name):
    case = Case.read(FORMS[name])
    _check(case.family, case.inputs, case.expected, case.tolerance)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [HALF, -HALF]),
        ({"floor": 2.0}, [0.25, -0.25]),
        ({"denominator": "std+floor", "floor": 0.5, "ddof": 0}, [0.5, -0.5]),
        ({"denominator": "std+floor"}, [0.5 / (HALF + 0.05), -0.5 / (HALF + 0.05)]),
        ({"denominator": "std+eps", "ddof": 0, "eps": 0.25}, [2 / 3, -2 / 3]),
        ({"eps": 0.0}, [HALF, -HALF]),
        ({"denominator": "none"}, [0.5, -0.5]),
        ({"denominator": None}, [0.5, -0.5]),
        ({"zero_tol": 1.0}, [0.0, 0.0]),
    ],
)
def test_grpo_normalises_in_every_way_that_is_named(options, expected):
    _check("grpo", {"rewards": [1, 0], "group_ids": ["g", "g"], **options}, {"advantages": expected, "recommended": expected})


def test_grpo_leaves_out_who_does_not_count():
    inputs = {"rewards": [1, None, 0, 5, 0.3, 7], "group_ids": ["a", "a", "a", "a", "b", "c"], "valid": [1, 1, 1, 0, 1, 0], "ddof": 0}
    expected = {
        "advantages": [1, 0, -1, 0, 0, 0],
        "verl_reference": [0.5 / 0.500001, 0, -0.5 / 0.500001, 0, 0.3 / 1.000001, 0],
        "mean": [0.5, 0.3, 0.0],
        "valid_groups": [True, True, False],
        "num_sequences_in_loss_denominator": 3,
        "num_missing": 1,
        "num_invalid": 2,
        "num_singleton_groups": 1,
    }
    _check("grpo", inputs, expected)


def test_grpo_and_rloo_count_a_trajectory_of_several_rows_once():
    inputs = {"rewards": [1, 0, 0, 0, 0], "group_ids": [0] * 5, "trajectory_ids": ["a", "b", "b", "b", "b"]}
    _check("grpo", inputs, {"mean": 0.5, "advantages": [HALF] + [-HALF] * 4})
    _check("rloo", inputs, {"advantages": [1, -1, -1, -1, -1], "leave_one_out_baselines": [0, 1, 1, 1, 1]})


def test_rloo_over_groups_with_a_single_and_an_invalid_one():
    inputs = {"rewards": [0.9, 0.3, 0.7, 4.0], "group_ids": [0, 0, 1, 0], "valid": [True, True, True, False]}
    _check(
        "rloo", inputs, {"advantages": [0.6, -0.6, 0, 0], "verl_reference": [0.6, -0.6, 0.7, 0], "leave_one_out_baselines": [0.3, 0.9, None, None]}
    )


def test_reinforce_pp_from_outcomes_with_a_divergence():
    inputs = {"rewards": [1.0, 0.0], "mask": [[1, 0, 1, 0], [1, 1, 0, 0]], "kl": [[0.5, None, 0.1, None], [0.2, 0.4, 9.0, 9.0]], "beta": 0.1}
    expected = {"token_rewards": [[-0.05, 0, 0.99, 0], [-0.02, -0.04, 0, 0]], "returns": [[0.94, 0, 0.99, 0], [-0.06, -0.04, 0, 0]]}
    _check("reinforce_pp", inputs, {**expected, "num_live_tokens": 4})
    logs = {"logp": [[-1.0, None, -1.0, None], [-1.0, -1.0, 0, 0]], "ref_logp": [[-1.5, None, -1.1, None], [-1.2, -1.4, 9, 9]]}
    _check("reinforce_pp", {**{k: v for k, v in inputs.items() if k != "kl"}, **logs}, expected)


def test_reinforce_pp_with_a_baseline_whitens_over_tokens():
    inputs = {"rewards": [1, 0, 0.4], "group_ids": [0, 0, 1], "mask": [[1, 1, 1], [1, 0, 0], [1, 1, 0]]}
    mean, var = (3 * 0.5 - 0.5) / 6, 0.0
    values = [0.5] * 3 + [-0.5] + [0.0] * 2
    var = sum((one - mean) ** 2 for one in values) / 5
    a, b, c = ((one - mean) / math.sqrt(var + 1e-8) for one in (0.5, -0.5, 0.0))
    _check("reinforce_pp", inputs, {"centred": [0.5, -0.5, 0], "advantages": [[a, a, a], [b, 0, 0], [c, c, 0]]})


def test_gdpo_with_missing_components_and_eps_of_its_own():
    inputs = {"rewards": [[1, None], [0, 3], [0.5, 1]], "group_ids": [0, 0, 0], "eps": 0.0, "batch_norm": False, "weights": [2, 1]}
    _check("gdpo", inputs, {"component_advantages": [[1, 0], [-1, HALF], [0, -HALF]], "advantages": [2, HALF - 2, -HALF]})
    _check("gdpo", {"rewards": [[1], [0]], "group_ids": [0, 0], "eps": 0.0, "eps_b": 1.0, "ddof": 0}, {"advantages": [0.5, -0.5]})


def test_gdpo_gives_zeros_where_nothing_varies():
    inputs = {"rewards": [[0.2, 1], [0.2, 1], [0.2, 1]], "group_ids": [0, 0, 0], "tokens_per_sample": [3, 1, 2]}
    _check("gdpo", inputs, {"advantages": [0, 0, 0], "advantages_token_weighted_stats": [0, 0, 0], "pre_batch_norm": [0, 0, 0]})


def test_gigpo_divides_by_the_standard_deviation_when_asked():
    steps = [{"group": 0, "traj": 0, "state": "s", "reward": 1}, {"group": 0, "traj": 1, "state": "s", "reward": 0}]
    for name in ("mean_std", "mean_std_norm", "std"):
        _check("gigpo", {"steps": steps, "f_norm": name, "eps": 0.0, "omega": 0.5}, {"advantage": [1.5 * HALF, -1.5 * HALF]})
    _check("gigpo", {"steps": steps, "f_norm": "mean_norm", "gamma": 0.5}, {"advantage": [1, -1], "cluster_sizes": {"2": 1}})


def test_gigpo_leaves_out_steps_without_a_state_and_tells_trajectories_of_groups_apart():
    steps = [
        {"group": 0, "traj": 0, "state": None, "reward": 1},
        {"group": 0, "traj": 1, "state": "s", "reward": 0},
        {"group": 1, "traj": 0, "state": "s", "reward": 1},
        {"group": 1, "traj": 1, "state": "s", "reward": 0, "valid": False},
    ]
    expected = {"episode_advantage": [0.5, -0.5, 0, 0], "step_advantage": [0, 0, 0, 0], "cluster_sizes": {"1": 2}, "missing_anchors": 1}
    _check("gigpo", {"steps": steps}, expected)


def test_hdpo_strata_bins_and_groups():
    inputs = {"accuracy": [1, 1, 0.9, 0.2, 0.2], "steps": [10, 30, 20, 5, 15]}
    _check("hdpo", inputs, {"efficiency_reward": [0.5, -0.5, 0, 0.5, -0.5], "efficiency_reward_success_only": [0.5, -0.5, 0, 0, 0]})
    _check("hdpo", {**inputs, "strata": "success_only", "success_threshold": 0.9}, {"efficiency_reward": [0.5, -0.5, 0, 0, 0]})
    _check("hdpo", {**inputs, "bins": [0.5]}, {"efficiency_reward": [0.5, -0.5, 0, 0.5, -0.5]})
    _check("hdpo", {**inputs, "group_ids": [0, 1, 0, 1, 1], "bins": [0.5]}, {"efficiency_reward": [1 / 3, 0, -1 / 3, 0.5, -0.5]})
    _check("hdpo", {**inputs, "valid": [1, 0, 1, 1, 1]}, {"efficiency_reward": [0, 0, 0, 0.5, -0.5]})


def test_the_original_efficiency_is_compared_among_the_correct():
    inputs = {"correct": [1, 1, 0, 0], "tool_calls": [0, 3, 0, 0]}
    _check("hdpo", inputs, {"efficiency_advantage": [HALF, -HALF, 0, 0]})
    _check("hdpo", {**inputs, "tool_calls": [2, 2, 0, 1]}, {"efficiency_advantage": [0, 0, 0, 0]})


def test_navalia_over_two_groups_and_with_everything_truncated():
    trajectories = [
        {"id": "a", "group": 0, "reward": 1.0, "segment_tokens": [1, 1]},
        {"id": "b", "group": 0, "reward": 0.0, "segment_tokens": [3]},
        {"id": "c", "group": 1, "reward": 0.5, "segment_tokens": [1]},
        {"id": "d", "group": 1, "reward": 0.5, "segment_tokens": [2]},
        {"id": "e", "group": 1, "reward": 9.0, "segment_tokens": [5], "valid": False},
    ]
    expected = {"segment_advantages": [[0.5, 0.5], [-0.5], [0], [0], [0]], "group_kept": [True, False], "valid_tokens": 8}
    _check("navalia", {"trajectories": trajectories, "std_normalise": False}, {**expected, "loss": 0.5 / 8, "loss_prompt_mean": 0.05})
    for one in trajectories:
        one["length_truncated"] = True
    _check("navalia", {"trajectories": trajectories, "std_normalise": False}, {**expected, "valid_tokens": 0, "loss": 0})


def test_dressage_divides_by_the_population_standard_deviation_when_asked():
    inputs = {"rewards": [2.0, 4.0, 4.0, 2.0], "segments": [2, 1, 1, 1]}
    _check("navalia", {**inputs, "std_normalise": True}, {"segment_advantages": [[-1, -1], [1], [1], [-1]]})


def test_dapo_looks_at_every_group():
    inputs = {"raw": [0, 1, 1, 1, 0.5], "shaped": [0, 1, 1, 0.5, 0], "group_ids": ["a", "a", "b", "b", "c"]}
    _check("dapo", inputs, {"keep_on_raw": [True, False, False], "keep_on_shaped": [True, True, False], "recommended": [True, False, False]})
    _check("dapo", {"raw": [0.5, 0.5 + 1e-7], "shaped": [0, 1]}, {"recommended": False})
    _check("dapo", {"lengths": [8, 15], "max_len": 10, "cache_len": 5}, {"penalty": [-0.6, -1.0], "verl_reference": [-0.6, -2.0]})
