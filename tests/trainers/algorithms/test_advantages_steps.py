"""Steps in the same state: what an anchor is, and how GiGPO compares the steps that share one."""

import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers.algorithms.advantages import AnchorForm, RowClass, anchor_keys, discounted_returns, gigpo_advantages, seen_so_far  # noqa: E402

torch.set_num_threads(1)


def test_information_is_a_set_that_grows():
    first, second, third = seen_so_far([["mail 1"], ["mail 2"], []])
    assert len({first, second, third}) == 3 and first == seen_so_far([[]])[0]
    assert third == seen_so_far([["mail 2"], ["mail 1", "mail 2"], []])[2]
    assert second == seen_so_far([["mail 1"], []])[1] == seen_so_far([["mail 1"], ["mail 1"], []])[2]
    assert third != seen_so_far([["mail 1mail 2"], []])[1]


def test_both_forms_of_an_anchor():
    world, seen = ["w", "w", None, "w"], ["a", "b", "a", None]
    assert anchor_keys(world) == anchor_keys(world, seen) == world
    keys = anchor_keys(world, seen, AnchorForm.WORLD_AND_SEEN)
    assert keys[0] != keys[1] and keys[2:] == [None, None]
    assert anchor_keys(["", "w"], ["a", ""]) == [None, "w"]
    assert anchor_keys(["", "w"], ["a", ""], AnchorForm.WORLD_AND_SEEN) == [None, None]
    for given in (None, ["a"]):
        with pytest.raises(ValueError, match="needs a hash of what was seen for each of 4 steps"):
            anchor_keys(world, given, AnchorForm.WORLD_AND_SEEN)


def test_reads_tell_steps_apart_only_in_the_form_that_looks_at_them():
    rewards, ids, groups = [0, 1, 0, 0], ["A", "A", "B", "B"], ["g"] * 4
    world, seen = ["w"] * 4, [*seen_so_far([["mail"], []]), *seen_so_far([["other"], []])]
    plain = gigpo_advantages(rewards, ids, groups, anchor_keys(world))
    fine = gigpo_advantages(rewards, ids, groups, anchor_keys(world, seen, AnchorForm.WORLD_AND_SEEN))
    assert plain.cluster_sizes == {4: 1} and fine.cluster_sizes == {1: 2, 2: 1}
    assert fine.step.tolist() == pytest.approx([0.475, 0, -0.475, 0])


def test_one_step_alone_gets_no_step_advantage_and_keys_do_not_cross_groups():
    anchors, groups = ["x", "x", "y", "x", "x"], ["g", "g", "g", "g", "h"]
    found = gigpo_advantages([1, 0, 1, 0, 1], "ABCDE", groups, anchors)
    assert found.step.tolist() == pytest.approx([2 / 3, -1 / 3, 0, -1 / 3, 0])
    assert found.cluster_sizes == {1: 2, 3: 1}
    assert found.episode.tolist() == pytest.approx([0.5, -0.5, 0.5, -0.5, 0])
    assert found.counts.singletons == 1


def test_a_state_visited_twice_is_there_twice():
    found = gigpo_advantages([0, 1, 0], ["A", "A", "B"], ["g"] * 3, ["s", "s", "s"], gamma=0.5)
    assert found.returns.tolist() == [0.5, 1, 0] and found.step.tolist() == pytest.approx([0, 0.5, -0.5])


def test_interleaved_trajectories_have_their_own_returns():
    assert discounted_returns(torch.tensor([1.0, 0.0, 0.0, 2.0]), ["A", "B", "A", "B"], 0.5).tolist() == [1, 1, 0, 2]


def test_a_missing_anchor_is_an_error_or_is_counted():
    steps = ([1, 0], "AB", "gg", ["s", None])
    with pytest.raises(ValueError, match=r"anchors\[1\] is missing"):
        gigpo_advantages(*steps)
    found = gigpo_advantages(*steps, missing_anchor="leave_out")
    assert found.missing_anchors == 1 and found.step.tolist() == [0, 0] and found.episode.tolist() == [0.5, -0.5]


def test_a_trajectory_that_misses_a_reward_leaves_as_a_whole():
    rewards, ids, groups, anchors = [1, None, 0, 1], ["A", "A", "B", "C"], ["g"] * 4, ["s"] * 4
    with pytest.raises(ValueError, match=r"rewards\[1\] is missing"):
        gigpo_advantages(rewards, ids, groups, anchors)
    found = gigpo_advantages(rewards, ids, groups, anchors, missing="leave_out")
    assert found.counts.missing == 1 and found.counts.counted == 2
    assert found.advantages.tolist() == [0, 0, -1, 1] and found.counted.tolist() == [False, False, True, True]


def test_steps_of_other_classes():
    classes = [RowClass.VALID, RowClass.INVALID, RowClass.INVALID, RowClass.LOSS_MASKED, RowClass.PADDING]
    ids, groups = ["A", "B", "B", "C", None], ["g", "g", "g", "g", None]
    found = gigpo_advantages([1, None, None, 0, None], ids, groups, ["s", None, "s", "s", None], classes=classes)
    assert found.advantages.tolist() == [1, 0, 0, -1, 0]
    assert (found.counts.counted, found.counts.invalid, found.counts.padding, found.missing_anchors) == (2, 1, 1, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trajectory_ids": "AAA"}, "there are 3 trajectory_ids for 2 values"),
        ({"group_ids": "gh"}, "step 1 disagrees with an earlier one of trajectory 'A'"),
        ({"classes": ["valid", "invalid"]}, "step 1 disagrees"),
        ({"anchors": ["s"]}, "there are 1 anchors for 2 values"),
        ({"gamma": 1.2}, "gamma"),
        ({"omega": float("nan")}, "omega"),
        ({"norm": "median"}, "median"),
        ({"trajectory_ids": ["A", None]}, r"trajectory_ids\[1\] is missing"),
    ],
)
def test_corrupt_steps_are_refused(change, message):
    steps = {"rewards": [1, 0], "trajectory_ids": "AA", "group_ids": "gg", "anchors": ["s", "t"]}
    with pytest.raises(ValueError, match=message):
        gigpo_advantages(**{**steps, **change})
