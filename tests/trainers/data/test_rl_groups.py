"""Groups: complete or not, worth learning from or not, and what has still to be played."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rollouts import made

from cowork_gym.trainers.data import Group, Refill, grouped, sample_dynamically, split_complete


def _group(*rewards: float | None, size: int | None = None, id: str = "T/1/s0") -> Group:
    [group] = grouped([made(f"{id}-{at}", reward, id) for at, reward in enumerate(rewards)], size)
    return group


def test_rollouts_are_grouped_in_whatever_order_they_come() -> None:
    every = [made(f"{seed}-{at}", at / 4, f"T/1/s{seed}") for at in range(4) for seed in (0, 1)]
    groups = grouped(every[::-1], 4)
    assert [(one.seed, [each.id for each in one.rollouts]) for one in groups] == [
        (1, ["1-3", "1-2", "1-1", "1-0"]), (0, ["0-3", "0-2", "0-1", "0-0"]),
    ]
    assert all(one.complete for one in groups)


def test_grouping_by_something_of_the_rollouts_own_is_refused() -> None:
    every = [made(f"r{at}", 1.0, f"T/1/s{at}") for at in range(8)]
    with pytest.raises(ValueError, match="each of 8 groups has one rollout, and 4 were asked for"):
        grouped(every, 4)
    assert len(grouped(every, 1)) == len(grouped(every)) == 8


def test_faults_leave_the_group_smaller_and_count_nowhere() -> None:
    group = _group(1.0, 1.0, 0.0, *[None] * 5, size=8)
    assert [one.reward for one in group.rollouts] == [1.0, 1.0, 0.0]
    assert (group.complete, group.lacking) == (False, 5)
    sampled = sample_dynamically([group])
    assert sampled.kept == () and sampled.dropped == {} and sampled.refill == (Refill("T/1/s0", "T", "1", 0, 5),)


def test_groups_refuse_what_does_not_belong_into_them() -> None:
    good = made("a", 1.0)
    for rollouts, match in (
        ((made("b", None),), "enters no statistic"), ((made("b", 1.0, "T/1/s1"),), "belongs to group"), ((good, good), "twice"),
    ):
        with pytest.raises(ValueError, match=match):
            Group("T/1/s0", "T", "1", 0, rollouts)
    with pytest.raises(ValueError, match="twice"):
        grouped([good, good])
    with pytest.raises(ValueError, match="the tokenizer u, and rollout a the tokenizer t"):
        grouped([good, replace(made("b", 1.0), tokenizer="u")])


def test_a_group_is_kept_if_its_outcomes_differ() -> None:
    groups = [_group(*rewards, id=f"T/1/s{at}") for at, rewards in enumerate([(0, 1), (0, 0), (1, 1), (0.2, 0.2 + 1e-9), (0.5,), (0.2, 0.3)])]
    sampled = sample_dynamically(groups)
    assert [one.seed for one in sampled.kept] == [0, 5]
    assert sampled.dropped == {"every outcome is 0": 1, "every outcome is 1": 1, "every outcome is 0.2": 1, "fewer than two outcomes": 1}


def test_the_raw_metric_decides_and_a_shaped_reward_does_not() -> None:
    failures = _group(0.0, 0.0, 0.0, 0.0)
    shaped = dict(zip((one.id for one in failures.rollouts), (0, 0, -1, -0.5), strict=True))
    assert sample_dynamically([failures]).kept == ()
    assert sample_dynamically([failures], raw=lambda one: shaped[one.id]).kept == (failures,)
    mixed = _group(0.8, 0.9)
    assert sample_dynamically([mixed]).kept == (mixed,) and sample_dynamically([mixed], raw=lambda one: one.accuracy).kept == ()


def test_a_missing_outcome_is_none_of_the_outcomes() -> None:
    group = _group(1.0, 1.0, 0.0)
    sampled = sample_dynamically([group], raw=lambda one: one.reward or None)
    assert sampled.kept == () and sampled.dropped == {"every outcome is 1": 1}


def test_a_batch_is_filled_and_tells_what_it_lacks() -> None:
    groups = [_group(0, 1, id=f"T/1/s{at}") for at in range(3)]
    full = sample_dynamically(groups, batch=2)
    assert [one.seed for one in full.kept] == [0, 1] and full.dropped == {"the batch is full": 1} and full.short == 0
    assert sample_dynamically(groups, batch=5).short == 2


def test_an_empty_group_is_incomplete_and_wants_a_trial() -> None:
    split = split_complete([Group("T/1/s0", "T", "1", 0), _group(1.0)])
    assert [one.complete for one in (*split.complete, *split.incomplete)] == [True, False]
    assert split.refill == (Refill("T/1/s0", "T", "1", 0, 1),)


@given(st.lists(st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=5), max_size=8), st.integers(1, 4))
def test_no_group_is_lost_and_none_is_decided_twice(rewards: list[list[float | None]], size: int) -> None:
    every = [made(f"{at}-{number}", reward, f"T/1/s{at}") for at, each in enumerate(rewards) for number, reward in enumerate(each)]
    try:
        groups = grouped(every, size)
    except ValueError:
        assert size > 1 and len(rewards) > 1 and all(len(each) == 1 for each in rewards)
        return
    sampled = sample_dynamically(groups)
    assert len(sampled.kept) + sum(sampled.dropped.values()) + len(sampled.refill) == len(rewards)
    for one in sampled.kept:
        assert len({each.reward for each in one.rollouts}) > 1 and len(one.rollouts) >= size
