"""Options of the estimators that would make everything zero without a word, and the reasons that are counted."""

import math

import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers.algorithms.advantages import (  # noqa: E402
    discounted_returns,
    efficiency_advantages,
    gdpo_advantages,
    gigpo_advantages,
    hdpo_advantages,
    reinforce_pp_advantages,
    rloo_advantages,
)
from cowork_gym.trainers.algorithms.losses import dis_weight, ppo_loss  # noqa: E402

torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": math.nan}, "tolerance"),
        ({"tolerance": -1e-6}, "tolerance"),
        ({"success": math.nan, "strata": "success_only"}, "success"),
        ({"std_normalise": True, "ddof": 2}, "ddof"),
        ({"std_normalise": True, "zero_tol": math.nan}, "zero_tol"),
        ({"strata": "all"}, "all"),
    ],
)
def test_a_comparison_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        efficiency_advantages([1, 1], [1, 2], "gg", **options)


def test_efficiency_says_who_was_left_out():
    found = efficiency_advantages([1, None, 1, None], [1, 2, 3, 4], "gggg", classes=["valid", "valid", "valid", "invalid"], missing="leave_out")
    assert (found.missing, found.invalid) == (1, 1)


def test_hdpo_is_its_two_halves():
    given, options = ([1, 1, 0.5, 0], [10, 30, 5, 15], "gggg"), {"strata": "success_only", "success": 0.5, "std_normalise": True}
    found = hdpo_advantages(*given, **options, w_acc=2.0, w_eff=0.5)
    assert torch.equal(found.efficiency.advantages, efficiency_advantages(*given, **options).advantages)
    assert torch.equal(found.combined, 2 * found.accuracy.advantages + 0.5 * found.efficiency.advantages)


def test_anchors_in_a_tensor_are_compared_by_their_values():
    found = gigpo_advantages([1, 0, 1], "ABC", "ggg", torch.tensor([7, 7, 8]))
    assert found.cluster_sizes == {1: 1, 2: 1} and found.step.tolist() == [0.5, -0.5, 0]


def test_returns_are_not_made_of_what_is_no_reward():
    assert discounted_returns([0, 1], "AA", 0.5).tolist() == [0.5, 1]
    for nothing in (math.nan, math.inf, None):
        with pytest.raises(ValueError, match=r"rewards\[1\]"):
            discounted_returns([0.0, nothing], "AA", 0.5)


def test_a_group_in_which_no_component_has_two_members_does_not_vary():
    found = gdpo_advantages([[1, None], [None, 1], [1, 0], [0, 0]], "gghh", missing="leave_out", statistics="none")
    assert found.counts.zero_variance == 1 and found.zero_variance == (0, 1)
    assert found.counts.counted == 4


@pytest.mark.parametrize("tolerance", [math.inf, math.nan, -1.0])
def test_a_tolerance_under_which_everything_or_nothing_is_equal_is_refused(tolerance):
    with pytest.raises(ValueError, match="zero_tol"):
        rloo_advantages([1, 0], "gg", zero_tol=tolerance)
    with pytest.raises(ValueError, match="zero_tol"):
        reinforce_pp_advantages(torch.eye(2), torch.ones(2, 2), zero_tol=tolerance)


def test_losses_refuse_what_is_no_number():
    with pytest.raises(ValueError, match="NaN"):
        dis_weight(torch.tensor([0.1, math.nan]))
    assert dis_weight(torch.tensor([math.inf, -math.inf])).tolist() == [0, 0]
    for name in ("eps_low", "eps_high"):
        with pytest.raises(ValueError, match="epsilons"):
            ppo_loss(*[torch.ones(1, 1)] * 4, **{name: math.nan})
