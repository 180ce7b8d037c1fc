"""Trajectories of several rows: counted once in every statistic, trained in all their rows."""

import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers.algorithms.advantages import (  # noqa: E402
    CENTRED,
    RowClass,
    anchor_advantages,
    collect_trajectories,
    dr_grpo_advantages,
    outcome_token_rewards,
    reinforce_pp_advantages,
    reinforce_pp_baseline_advantages,
    reinforce_pp_returns,
    to_rows,
    to_tokens,
)

torch.set_num_threads(1)
VALID, MASKED, INVALID, PADDING = RowClass.VALID, RowClass.LOSS_MASKED, RowClass.INVALID, RowClass.PADDING


def test_an_episode_in_four_segments_weighs_as_much_as_one_in_one():
    found = collect_trajectories(["A", "B", "B", "B", "B"], [1, 0, 0, 0, 0], ["g"] * 5)
    assert (found.ids, found.rewards, found.group_ids) == (("A", "B"), (1, 0), ("g", "g"))
    advantages = dr_grpo_advantages(found.rewards, found.group_ids, classes=found.classes)
    assert float(advantages.mean[0]) == 0.5
    rows = to_rows(advantages.advantages, found.ids, ["A", "B", "B", "B", "B"])
    assert rows.tolist() == [0.5, -0.5, -0.5, -0.5, -0.5]
    assert to_tokens(rows[:2], torch.tensor([[1, 0], [1, 1]])).tolist() == [[0.5, 0], [-0.5, -0.5]]


def test_rows_of_one_trajectory_have_to_agree():
    for rewards, groups, classes in (
        ([1, 0], "gg", [VALID, VALID]),
        ([1, None], "gg", [VALID, VALID]),
        ([1, 1], "gh", [VALID, VALID]),
        ([1, 1], "gg", [VALID, INVALID]),
    ):
        with pytest.raises(ValueError, match="row 1 disagrees with an earlier one of trajectory 'A'"):
            collect_trajectories("AA", rewards, list(groups), classes)
    with pytest.raises(ValueError, match=r"trajectory_ids\[0\] is missing"):
        collect_trajectories([None], [1], ["g"])
    with pytest.raises(ValueError, match="there are 1 rewards for 2 rows"):
        collect_trajectories("AA", [1], "gg")


def test_padding_is_no_trajectory_and_a_row_out_of_the_loss_does_not_take_its_siblings_along():
    rows, classes = ["A", "A", None, "B"], [MASKED, VALID, PADDING, MASKED]
    found = collect_trajectories(rows, [1, 1, None, float("nan")], ["g", "g", None, "g"], classes)
    assert found.ids == ("A", "B") and found.rewards == (1, None) and found.classes == (VALID, MASKED)
    assert to_rows(torch.tensor([2.0, 3.0]), found.ids, rows, classes).tolist() == [2, 2, 0, 3]


def test_the_anchor_is_the_row_of_the_highest_segment_wherever_it_stands():
    found = anchor_advantages([9, 1, None, 0], [0, 2, 1, 0], ["A", "A", "A", "B"], ["g"] * 4, normaliser=CENTRED)
    assert found.advantages.tolist() == [0.5, 0.5, 0.5, -0.5]
    assert found.anchors == {"A": 1, "B": 3} and found.trajectory_ids == ("A", "B")


def test_a_truncated_trajectory_stays_in_the_statistics_and_leaves_the_loss():
    found = anchor_advantages([0, 1, 0], [0, 1, 0], ["A", "A", "B"], ["g"] * 3, length_truncated=[True, False, False], normaliser=CENTRED)
    assert found.advantages.tolist() == [0.5, 0.5, -0.5]
    assert found.in_loss.tolist() == [False, False, True] and found.truncated == 1
    assert dict(found.selection.verdicts) == {"g": "kept"}


def test_rows_that_do_not_count_as_anchors():
    classes = [VALID, INVALID, PADDING, MASKED]
    found = anchor_advantages([1, None, None, 0], [0, 0, 0, 0], ["A", "B", None, "C"], ["g", "g", None, "g"], classes=classes, normaliser=CENTRED)
    assert found.advantages.tolist() == [0.5, 0, 0, -0.5] and found.in_loss.tolist() == [True, False, False, False]
    found = anchor_advantages([1, None, 0], [0, 0, 0], "ABC", "ggg", missing="leave_out", normaliser=CENTRED)
    assert found.in_loss.tolist() == [True, False, True] and found.trajectories.counts.missing == 1


@pytest.mark.parametrize(
    ("rewards", "index", "ids", "groups", "message"),
    [
        ([1, 0], [0, 0], "AA", "gg", "two rows of segment index 0"),
        ([1, 0], [0, 1], "AA", "gh", "row 1 disagrees"),
        ([1, None], [0, 1], "AA", "gg", "is missing"),
        ([1, 0], [0], "AB", "gg", "1 segment indices for 2 rows"),
        ([1], [0, 0], "AB", "gg", "1 rewards for 2 rows"),
        ([1, 0], [0, 0], ["A", None], "gg", r"trajectory_ids\[1\] is missing"),
    ],
)
def test_corrupt_segments_are_refused(rewards, index, ids, groups, message):
    with pytest.raises(ValueError, match=message):
        anchor_advantages(rewards, index, ids, groups)


def test_returns_pass_over_observations_and_whatever_stands_there():
    mask = torch.tensor([[1, 0, 0, 1, 0]])
    for noise in (0.0, 7.0, float("nan")):
        rewards = torch.tensor([[0.0, noise, noise, 1.0, noise]])
        assert reinforce_pp_returns(rewards, mask, 0.5).tolist() == [[0.5, 0, 0, 1, 0]]


def test_padding_and_the_order_of_rows_do_not_matter_to_reinforce_pp():
    rewards, mask = torch.tensor([[0, 0, 1.0], [0, 2.0, 0]]), torch.tensor([[1, 0, 1], [1, 1, 0]])
    found = reinforce_pp_advantages(rewards, mask, 0.9).advantages
    wide = reinforce_pp_advantages(torch.nn.functional.pad(rewards, (0, 3), value=5.0), torch.nn.functional.pad(mask, (0, 3)), 0.9).advantages
    assert torch.allclose(wide[:, :3], found) and not wide[:, 3:].any()
    assert torch.allclose(reinforce_pp_advantages(rewards.flip(0), mask.flip(0), 0.9).advantages, found.flip(0))


def test_reinforce_pp_without_anything_to_compare():
    flat = reinforce_pp_advantages(torch.full((2, 2), 0.2), torch.tensor([[0, 1], [0, 1]]))
    assert flat.zero_variance and not flat.advantages.any()
    dead = reinforce_pp_advantages(torch.zeros(2, 2), torch.zeros(2, 2))
    assert dead.live_tokens == 0 and not dead.advantages.any()
    with pytest.raises(ValueError, match="more than 1 live values, and there are 1"):
        reinforce_pp_advantages(torch.ones(1, 2), torch.tensor([[1, 0]]))
    with pytest.raises(ValueError, match="gamma"):
        reinforce_pp_returns(torch.ones(1, 1), torch.ones(1, 1), 1.5)


def test_the_outcome_stands_on_the_last_live_token():
    mask = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0]])
    assert outcome_token_rewards([1.0, 2.0], mask).tolist() == [[0, 0, 1, 0], [0, 2, 0, 0]]
    with pytest.raises(ValueError, match="row 1 has a reward and no live token"):
        outcome_token_rewards([1.0, 2.0], torch.tensor([[1, 0], [0, 0]]))
    with pytest.raises(ValueError, match="1 rewards do not fit"):
        outcome_token_rewards([1.0], mask)
    with pytest.raises(ValueError, match=r"rewards\[0\] is missing"):
        outcome_token_rewards([None, 1.0], mask)


def test_the_baseline_variant_takes_no_statistic_over_tokens_that_do_not_train():
    mask = torch.ones(4, 2)
    classes = [VALID, VALID, MASKED, INVALID]
    found = reinforce_pp_baseline_advantages([1, 0, 0.5, 9], ["g"] * 4, mask, classes=classes)
    assert found.live_tokens == 4 and found.centred.advantages.tolist() == [0.5, -0.5, 0, 0]
    assert not found.advantages[2:].any() and float(found.advantages.sum()) == pytest.approx(0)
    rows = reinforce_pp_baseline_advantages([1, 0], "gg", torch.ones(3, 1), trajectory_ids="AB", row_trajectory_ids="ABB")
    assert rows.centred.advantages.tolist() == [0.5, -0.5] and rows.live_tokens == 3
