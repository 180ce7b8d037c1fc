"""Numbers that were agreed on, most of them checked against independent implementations: each through the adapters of the conformance command."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from cowork_gym.trainers.algorithms.conformance.case import Case, difference
from cowork_gym.trainers.algorithms.conformance.of_critics import CRITICS
from cowork_gym.trainers.algorithms.conformance.of_losses import LOSSES

FAMILIES = {**LOSSES, **CRITICS}
FORMS = {form["name"]: form for form in json.loads(Path(__file__).with_name("loss_and_critic_cases.json").read_text(encoding="utf-8"))}


def _check(family, inputs, expected, tolerance=1e-9):
    results = FAMILIES[family](inputs)
    for name, value in expected.items():
        found = results[name]
        assert difference(value, found() if callable(found) else found, tolerance, name) is None


@pytest.mark.parametrize("name", FORMS)
def test_a_case_holds(name):
    case = Case.read(FORMS[name])
    _check(case.family, case.inputs, case.expected, case.tolerance)


def test_every_family_has_a_case():
    assert {form["family"] for form in FORMS.values()} == {*FAMILIES}


VARIANTS = {
    "kl with a mask": ("kl", {"logp": [[-1.0, -2.0], [-3.0]], "ref_logp": [[-1.0, None], [-2.0]], "mask": [[1, 0], [1]]}, {"k1": [[0, 0], [-1.0]]}),
    "one epsilon": ("policy_clip", {"ratio": [[2.0, 9.0]], "advantages": [1.0], "eps": 0.1, "mask": [[1, 0]]}, {"token_loss": [[-1.1, 0]]}),
    "from log-probabilities": ("policy_clip", {"logp": [0.0, -1.0], "old_logp": [0.0, -1.0], "advantage": -2.0}, {"loss_token_mean": 2.0}),
    "micro-batches": (
        "loss_aggregation",
        {"token_loss": [[1.0, 1.0, 1.0], [4.0]], "mask": [[1, 1, 1], [1]], "micro_batch_size": 1},
        {"token_mean": 1.75, "sum_over_microbatches": 1.75, "mean_of_microbatch_means": 2.5},
    ),
    "prompts": ("loss_aggregation", {"token_loss": [[2.0], [4.0, 6.0]], "group_ids": ["a", "b"]}, {"prompt_mean": 3.5}),
    "prompt without a token": (
        "loss_aggregation",
        {"prompt_of_sample": ["a", "b"], "mask_tokens": [2, 0], "token_loss_sums": [4.0, 0.0]},
        {"divided_by_global_batch_size": 2.0, "prompt_mean": 2.0, "token_mean": 2.0},
    ),
    "pure sum": ("dr_grpo", {"token_loss_rows": [[3.0], [], [5.0]], "normaliser": 2, "divide_by_sequences": False}, {"loss": 4.0}),
    "rows without tokens are rows": ("dr_grpo", {"token_loss_rows": [[3.0], [], [6.0]], "normaliser": 1}, {"loss": 3.0}),
    "one trajectory": (
        "gspo",
        {"logp": [[0.0], [0.0]], "old_logp": [[-1.0], [1.0]], "advantages": [1, 1], "ratio_scope": "trajectory", "trajectory_ids": [4, 4]},
        {"seq_ratio": [1.0, 1.0], "loss": -1.0, "gspo_token_loss": -1.0},
    ),
    "literal band by name": ("dis", {"ratio": [0.7, 2.9], "preset": "literal_band"}, {"weight": [0, 2.9], "band": [0.8, 3.0], "keep": [False, True]}),
    "verl's bounds are inclusive": ("dis", {"ratio": [0.25, 5.0], "threshold": "0.2_4.0"}, {"keep": [True, True]}),
    "the band that a threshold means": ("dis", {"ratio": [1.0], "threshold": "0.5_2.0"}, {"threshold_for_band_0p5_2p0": "0.5_2.0"}),
    "both sides clamped": (
        "importance_sampling",
        {"train_logp": [0.0, 0.0], "rollout_logp": [-5.0, 5.0], "cap": 2.0, "low": 0.5},
        {"weight": [2.0, 0.5]},
    ),
    "sequence mask": (
        "importance_sampling",
        {"train_logp": [[-1.0, -1.0], [0.0, 0.0]], "rollout_logp": [[-1.0, -1.0], [-9.0, 0.0]], "low": 0.5, "high": 2.0},
        {"seq_weight": [1.0, 0.0], "seq_keep": [True, False]},
    ),
    "veto": (
        "importance_sampling",
        {"train_logp": [[0.0, -30.0], [0.0, -30.0]], "rollout_logp": [[0.0, 0.0]] * 2, "mask": [[1, 1], [1, 0]], "veto_low": 1e-4},
        {"keep": [False, True]},
    ),
    "adaptive lambda inside": ("gae", {"reward": 1.0, "values": [0, 9, 0], "mask": [1, 0, 1], "alpha": 1.0}, {"advantages": [0.5, 0, 1.0]}),
    "plain value loss": (
        "critic",
        {"values": [1.0, 3.0, 9.0], "returns": [2.0, 3.0, None], "mask": [1, 1, 0]},
        {"loss_token_mean": 0.25, "explained_variance": 0.0},
    ),
    "constant returns": ("critic", {"values": [1.0, 3.0], "returns": [2.0, 2.0]}, {"explained_variance": None}),
    "length nought": ("length_adaptive_lambda", {"alpha_length": [[1.5, 0]]}, {"lam": [0.0]}),
    "an empty segment": (
        "compaction",
        {"segments": [{"values": [0, 0], "mask": [1, 1]}, {"values": [5.0], "mask": [0]}, {"values": [0]}], "reward": 2.0, "lam": 0.5},
        {"advantages": [[0.5, 1.0], [0.0], [2.0]], "factor": [0.5, 0.5, 1.0], "optimised_tokens": [2, 0, 1], "length": 3},
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_other_combinations_of_the_same_keys_hold(name):
    _check(*VARIANTS[name])
