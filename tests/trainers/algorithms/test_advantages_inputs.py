"""Inputs that are corrupt, missing or degenerate: a precise error or a counted reason, never a silent zero."""

import math

import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers.algorithms.advantages import (  # noqa: E402
    Denominator,
    Normaliser,
    RowClass,
    Singleton,
    dr_grpo_advantages,
    efficiency_advantages,
    gdpo_advantages,
    grpo_advantages,
    hdpo_advantages,
    mask_rows,
    original_efficiency_advantages,
    rloo_advantages,
    to_rows,
    to_tokens,
)
from cowork_gym.trainers.algorithms.groups import read_rewards, require_group_size  # noqa: E402
from cowork_gym.trainers.algorithms.losses import ppo_loss  # noqa: E402

torch.set_num_threads(1)
NAN = math.nan


@pytest.mark.parametrize("estimator", [grpo_advantages, dr_grpo_advantages, rloo_advantages])
@pytest.mark.parametrize(
    ("rewards", "groups", "message"),
    [
        ([], [], "there are no rewards"),
        ([1.0, None], [0, 0], r"rewards\[1\] is missing"),
        ([1.0, NAN], [0, 0], r"rewards\[1\] is missing"),
        (torch.tensor([NAN, 1.0]), [0, 0], r"rewards\[0\] is missing"),
        ([1.0, math.inf], [0, 0], r"rewards\[1\] is infinite"),
        ([1.0, "1"], [0, 0], r"rewards\[1\] is no number but str"),
        ([1.0, 0.0], [0], "there are 1 group_ids for 2 values"),
        ([1.0, 0.0], [0, None], r"group_ids\[1\] is missing"),
        (torch.zeros(2, 2), [0, 0], r"one number a trajectory, and these have the shape \[2, 2\]"),
    ],
)
def test_corrupt_rewards_are_refused(estimator, rewards, groups, message):
    with pytest.raises(ValueError, match=message):
        estimator(rewards, groups)


def test_infinity_is_refused_even_where_missing_rewards_are_left_out():
    with pytest.raises(ValueError, match="infinite"):
        grpo_advantages([1.0, -math.inf], [0, 0], missing="leave_out")


@pytest.mark.parametrize(
    ("rewards", "expected", "counted"),
    [
        ([1, 1, 1, 1], [0, 0, 0, 0], 4),
        ([None, 1, 0, 1], [0, 1 / 3 / math.sqrt(1 / 3), -2 / 3 / math.sqrt(1 / 3), 1 / 3 / math.sqrt(1 / 3)], 3),
        ([None, None, None, 1], [0, 0, 0, 0], 1),
        ([None, NAN, None], [0, 0, 0], 0),
        ([0.7], [0], 1),
    ],
)
def test_missing_rewards_and_zero_spread_give_no_nan_and_no_gradient(rewards, expected, counted):
    found = grpo_advantages(rewards, ["g"] * len(rewards), missing="leave_out")
    assert found.advantages.tolist() == pytest.approx(expected)
    assert found.counts.counted == counted and found.counts.missing == len(rewards) - counted
    assert found.counts.singletons == (counted == 1) and found.counts.zero_variance == (rewards == [1, 1, 1, 1])
    assert all(bool(torch.isfinite(one).all()) for one in (found.mean, found.std, found.denominator))
    logp = torch.full((len(rewards), 2), -1.0, requires_grad=True)
    mask = mask_rows(torch.ones(len(rewards), 2), counted=found.counted)
    ppo_loss(logp, logp.detach(), to_tokens(found.advantages, mask), mask).token_loss.sum().backward()
    assert [bool(row.any()) for row in logp.grad] == [one != 0 for one in expected]
    assert int(mask.sum()) == 2 * counted


def test_infrastructure_failures_leave_the_baseline():
    classes = [RowClass.VALID] * 3 + [RowClass.INVALID] * 5
    found = grpo_advantages([1, 1, 0, None, None, 0, NAN, math.inf], ["g"] * 8, classes=classes)
    assert float(found.mean[0]) == pytest.approx(2 / 3)
    assert found.advantages[3:].tolist() == [0] * 5
    assert (found.counts.counted, found.counts.invalid) == (3, 5)


def test_the_four_classes():
    classes = [RowClass.VALID, RowClass.LOSS_MASKED, RowClass.INVALID, RowClass.PADDING]
    found = dr_grpo_advantages([1, 0, 0, None], ["g", "g", "g", None], classes=classes)
    assert found.advantages.tolist() == [0.5, -0.5, 0, 0]
    assert (found.counts.counted, found.counts.invalid, found.counts.padding, found.counts.missing) == (2, 1, 1, 0)
    assert mask_rows(torch.ones(4, 1), classes).tolist() == [[True], [False], [False], [False]]
    with pytest.raises(ValueError, match="there are 1 classes for 2 values"):
        dr_grpo_advantages([1, 0], [0, 0], classes=[RowClass.VALID])
    with pytest.raises(ValueError, match="broken"):
        dr_grpo_advantages([1, 0], [0, 0], classes=["broken", "valid"])


@pytest.mark.parametrize("reward", [0.1, 0.2, 0.3, 1 / 3, 0.7, 1e6 + 0.1])
@pytest.mark.parametrize("size", [3, 5, 7, 8, 16])
def test_equal_rewards_leave_no_residue(reward, size):
    form = Normaliser(Denominator.STD_PLUS_EPS, eps=1e-6)
    for rewards in ([reward] * size, torch.full((size,), reward, dtype=torch.float32)):
        for found in (grpo_advantages(rewards, [0] * size, normaliser=form), rloo_advantages(rewards, [0] * size)):
            assert not found.advantages.any() and found.counts.zero_variance == 1


def test_sums_of_tenths_are_equal_up_to_rounding():
    found = grpo_advantages([0.3, 0.1 + 0.2, 0.3], [0, 0, 0], normaliser=Normaliser(Denominator.STD_PLUS_EPS, eps=0.0))
    assert not found.advantages.any()


def test_the_variance_of_large_rewards_is_taken_in_two_passes():
    found = grpo_advantages([1e8, 1e8 + 1, 1e8 + 2], [0, 0, 0])
    assert float(found.std[0]) == 1.0 and found.advantages.tolist() == [-1, 0, 1]


def test_a_standard_deviation_that_underflows_divides_nothing():
    found = grpo_advantages([1e-200, 0.0], [0, 0], normaliser=Normaliser(Denominator.STD_PLUS_EPS, eps=0.0, zero_tol=0.0))
    assert found.advantages.tolist() == [0, 0] and found.counts.zero_variance == 1


def test_a_group_of_one_gets_zero_unless_its_reward_is_asked_for():
    kept = Normaliser(singleton=Singleton.REWARD)
    assert grpo_advantages([0.7], [0]).advantages.tolist() == [0]
    assert grpo_advantages([0.7], [0], normaliser=kept).advantages.tolist() == [0.7]
    assert rloo_advantages([0.7], [0], singleton=Singleton.REWARD).advantages.tolist() == [0.7]
    assert rloo_advantages([0.7, 1.0], [0, 1]).counts.singletons == 2
    assert math.isnan(rloo_advantages([0.7], [0]).baselines[0])


@pytest.mark.parametrize(
    "options", [{"ddof": 2}, {"eps": -1.0}, {"floor": NAN}, {"zero_tol": math.inf}, {"denominator": "std"}, {"singleton": "one"}]
)
def test_a_normaliser_that_makes_no_sense_is_refused(options):
    with pytest.raises(ValueError, match=r"ddof|eps|floor|zero_tol|std|one"):
        Normaliser(**options)


def test_groups_go_by_task_release_and_policy_version():
    keys = [(task, "r1", 7) for task in ("T1", "T2") for _ in range(4)]
    rewards = [1, 0, 0, 1, 0, 0, 0, 1]
    order = [5, 2, 7, 0, 3, 6, 1, 4]
    found = dr_grpo_advantages([rewards[i] for i in order], [keys[i] for i in order])
    assert found.counts.groups == 2 and dict(zip(found.keys, found.mean.tolist(), strict=True)) == {keys[0]: 0.5, keys[4]: 0.25}
    require_group_size(keys, 4)
    with pytest.raises(ValueError, match="has 1 trajectories where 4 were asked for"):
        require_group_size([(key, number) for number, key in enumerate(keys)], 4)
    with pytest.raises(ValueError, match="has 4 trajectories where 2"):
        require_group_size(keys, 2)


def test_group_ids_in_a_tensor_and_rewards_of_other_types():
    found = grpo_advantages(torch.tensor([True, False]), torch.tensor([3, 3]))
    assert found.advantages.tolist() == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)]) and found.keys == (3,)
    assert found.advantages.dtype == torch.float64
    assert read_rewards(torch.tensor([1, 2], dtype=torch.int32)).values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("rewards", "options", "message"),
    [
        ([[1, None], [0, 1]], {}, r"component 1 of rewards\[0\] is missing"),
        ([[1, 2], [0]], {}, "the same components"),
        ([[], []], {}, "the same components"),
        ([], {}, "there are no rewards"),
        ([[1], [0]], {"weights": [1, 2]}, "2 weights"),
        ([[1], [0]], {"weights": [NAN]}, "1 weights"),
        ([[1], [0]], {"statistics": "token"}, "number of live tokens"),
        ([[1], [0]], {"statistics": "token", "tokens": [1, -1]}, "from 0"),
        ([[1], [0]], {"eps": -1e-4}, "eps"),
    ],
)
def test_corrupt_components_are_refused(rewards, options, message):
    with pytest.raises(ValueError, match=message):
        gdpo_advantages(rewards, [0] * len(rewards), **options)


def test_gdpo_counts_what_is_missing():
    found = gdpo_advantages([[1, None], [0, 1], [None, NAN], [0.5, 1]], [0] * 4, missing="leave_out", statistics="none")
    assert found.missing_components == (0, 1) and found.counts.missing == 1 and found.counts.counted == 3
    assert found.zero_variance == (0, 1) and found.counts.zero_variance == 0
    assert found.advantages[2] == 0 and float(found.components[:, 1].abs().sum()) == 0


def test_hdpo_refuses_what_is_no_number_of_steps():
    for steps, message in (([1], "there are 1 steps"), ([1, -1], "from 0"), ([1, None], "from 0"), ([1, NAN], "from 0")):
        with pytest.raises(ValueError, match=message):
            efficiency_advantages([1, 1], steps, [0, 0])
    with pytest.raises(ValueError, match="bins"):
        efficiency_advantages([1, 1], [1, 2], [0, 0], bins=[1.0, 0.5])
    with pytest.raises(ValueError, match="correct holds only 0 and 1"):
        original_efficiency_advantages([1, 0.5], [1, 2], [0, 0])
    with pytest.raises(ValueError, match="weights are finite"):
        hdpo_advantages([1, 1], [1, 2], [0, 0], w_eff=NAN)
    found = efficiency_advantages([1, 1, None, 0], [0, 0, None, 3], [0] * 4, missing="leave_out")
    assert not found.advantages.any() and found.stratum_size.tolist() == [2, 2, 0, 1] and found.singletons == 1


def test_hdpo_keeps_both_advantages_and_clips_them_separately():
    found = hdpo_advantages([1, 1, 0, 0], [10, 30, 5, 15], [0] * 4)
    assert found.efficiency.advantages.tolist() == [0.5, -0.5, 0.5, -0.5]
    assert torch.equal(found.combined, found.accuracy.advantages + 0.1 * found.efficiency.advantages)

    def clipped(advantages):
        return torch.maximum(-1.5 * advantages, -1.2 * advantages)

    assert torch.equal(found.loss(clipped), clipped(found.accuracy.advantages) + 0.1 * clipped(found.efficiency.advantages))
    assert not torch.allclose(found.loss(clipped), clipped(found.combined))
    assert torch.allclose(found.loss(lambda advantages: -advantages), -found.combined)


def test_two_members_of_a_stratum_always_get_the_same_when_divided_by_their_deviation():
    for gap in (1, 100):
        found = efficiency_advantages([1, 1], [10, 10 + gap], [0, 0], std_normalise=True)
        assert found.advantages.tolist() == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)])


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="stands twice"):
        to_rows(torch.zeros(2), ["a", "a"], ["a"])
    with pytest.raises(ValueError, match="row 1 is of trajectory 'b'"):
        to_rows(torch.zeros(1), ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="do not fit a mask"):
        to_tokens(torch.zeros(2), torch.ones(3, 1))
    with pytest.raises(ValueError, match="truth values do not fit"):
        mask_rows(torch.ones(3, 1), counted=torch.ones(2))
