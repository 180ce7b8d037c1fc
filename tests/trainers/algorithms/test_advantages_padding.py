"""Rows that are no trajectory, and values nobody is to look at: whatever stands there, it changes no statistic, return or count."""

import math

import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers.algorithms import select_groups  # noqa: E402
from cowork_gym.trainers.algorithms.advantages import (  # noqa: E402
    CENTRED,
    RowClass,
    anchor_advantages,
    dr_grpo_advantages,
    gdpo_advantages,
    gigpo_advantages,
    mask_rows,
    outcome_token_rewards,
    reinforce_pp_advantages,
    reinforce_pp_baseline_advantages,
)

torch.set_num_threads(1)
VALID, MASKED, INVALID, PADDING = RowClass.VALID, RowClass.LOSS_MASKED, RowClass.INVALID, RowClass.PADDING


@pytest.mark.parametrize("group", ["g", "h", None])
@pytest.mark.parametrize("place", range(5))
def test_a_step_of_padding_may_bear_the_id_of_a_trajectory(place, group):
    steps = {"rewards": [0.0, 1.0, 0.0, 0.0], "trajectory_ids": list("AABB"), "group_ids": list("gggg"), "anchors": list("stst")}
    steps["classes"] = [VALID] * 4
    plain = gigpo_advantages(**steps)
    padding = {"rewards": math.nan, "trajectory_ids": "A", "group_ids": group, "anchors": "s", "classes": PADDING}
    found = gigpo_advantages(**{name: [*values[:place], padding[name], *values[place:]] for name, values in steps.items()})
    kept = [one for one in range(5) if one != place]
    assert found.advantages[kept].tolist() == plain.advantages.tolist() and found.returns[kept].tolist() == plain.returns.tolist()
    assert not found.advantages[place] and not found.counted[place]
    assert (found.counts.groups, found.counts.empty_groups, found.counts.padding) == (1, 0, 1)


def test_a_row_of_padding_truncates_nobody():
    rows = {"segment_index": [0, 0, 0], "trajectory_ids": list("ABB"), "group_ids": list("ggg"), "length_truncated": [False, False, True]}
    found = anchor_advantages([1, 0, None], **rows, classes=[VALID, VALID, PADDING], normaliser=CENTRED)
    assert found.in_loss.tolist() == [True, True, False] and found.truncated == 0


def test_padding_is_no_empty_group():
    rewards, groups, classes = [1, 0, None, None], ["g", "g", None, "h"], [VALID, VALID, PADDING, INVALID]
    assert dict(select_groups(rewards, groups, classes=classes).verdicts) == {"g": "kept", "h": "empty"}
    counts = dr_grpo_advantages(rewards, groups, classes=classes).counts
    assert (counts.groups, counts.empty_groups) == (1, 1)


def test_nobody_looks_at_the_components_of_one_that_does_not_count():
    plain = gdpo_advantages([[1, 0], [0, 0.5]], "gg", statistics="token", tokens=[1, 2])
    for nothing in (None, [], [math.inf, None], [1, 2, 3]):
        found = gdpo_advantages([[1, 0], [0, 0.5], nothing], "ggg", statistics="token", tokens=[1, 2, None], classes=[VALID, VALID, INVALID])
        assert found.advantages.tolist() == [*plain.advantages.tolist(), 0]


@pytest.mark.parametrize("rewards", [torch.zeros(2), [0.0, 1.0], [[0.0], None]])
def test_components_that_are_no_lists_are_refused(rewards):
    with pytest.raises(ValueError, match="the same components"):
        gdpo_advantages(rewards, "gg")


def test_rows_out_of_the_loss_carry_no_outcome():
    mask, classes = torch.ones(4, 2), [VALID, MASKED, INVALID, PADDING]
    rewards = outcome_token_rewards([1.0, 5.0, None, math.nan], mask, torch.ones(4, 2), 0.1, classes=classes)
    assert rewards.tolist() == [[pytest.approx(-0.1), pytest.approx(0.9)], [0, 0], [0, 0], [0, 0]]
    live = mask_rows(mask, classes)
    assert torch.equal(outcome_token_rewards([1.0, 5.0, None, None], live, classes=classes), torch.tensor([[0.0, 1], *[[0, 0]] * 3]).double())
    assert reinforce_pp_advantages(rewards, live).live_tokens == 2
    with pytest.raises(ValueError, match="there are 1 classes"):
        outcome_token_rewards([1.0, 5.0], torch.ones(2, 1), classes=[VALID])


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_without_ids_are_as_many_as_trajectories(rows):
    with pytest.raises(ValueError, match=f"{rows} rows .* 2 trajectories"):
        reinforce_pp_baseline_advantages([1, 0], "gg", torch.ones(rows, 2))
