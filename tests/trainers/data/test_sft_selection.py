"""Selection by mean completion, and which labelled records are admitted."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.errors import UserError
from cowork_gym.trainers.data.sft.selection import (
    REWARDS,
    Label,
    Record,
    Rewards,
    Thresholds,
    admit,
    label,
    mean_score,
    prefix_of,
    published_label,
    read_score,
)


def test_the_completion_is_read_and_the_reward_only_where_there_is_none():
    assert read_score({"completion": 0.4, "reward": 0.9}) == 0.4
    assert read_score({"reward": 0.9}) == 0.9
    assert read_score({"completion": None, "reward": 0.9}) is None
    assert read_score({"completion": "bad", "reward": 0.9}) is None
    assert read_score({}) is None


@pytest.mark.parametrize("value", [None, "bad", "", True, float("nan"), float("inf"), -0.1, 1.2, [], {}, 10**400, "nan"])
def test_what_is_no_score_is_unreadable(value):
    assert read_score(value) is None
    assert mean_score([value, 0.5]) == 0.5


def test_a_task_without_readable_attempts_has_no_label():
    assert mean_score([]) is None
    assert mean_score([None, "x"]) is None
    assert label(None) is None


def test_zero_is_a_score():
    assert mean_score([0.0, 0, "0"]) == 0.0
    assert label(0.0) is Label.UNSOLVABLE


def test_the_limits_belong_to_keep_below_and_to_trivial_above():
    assert [label(one) for one in (0.1999, 0.2, 0.9499, 0.95, 1.0)] == [
        Label.UNSOLVABLE, Label.KEEP, Label.KEEP, Label.TRIVIAL, Label.TRIVIAL,
    ]
    assert label(0.9, Thresholds(0.3, 0.9)) is Label.TRIVIAL
    assert label(0.3, Thresholds(0.3, 0.9)) is Label.KEEP


@pytest.mark.parametrize("limits", [(0.9, 0.2), (-0.1, 0.5), (0.2, 1.1), (float("nan"), 0.5)])
def test_thresholds_out_of_order_are_refused(limits):
    with pytest.raises(UserError, match="thresholds"):
        Thresholds(*limits)


def test_only_the_published_mean_has_a_published_label():
    assert published_label(mean_score([0.8, 0.8, 0.8])) is Label.KEEP
    assert published_label(0.81) is published_label(None) is None


def test_the_published_reward_thresholds():
    assert (REWARDS["mixed"], REWARDS["safety"], REWARDS["multi_service"], REWARDS["clawmark"]) == (0.5, 0.8, 0.8, 0.3)
    assert REWARDS["document_extraction"] == 0.999
    rewards = Rewards(0.5, (("safety", 0.8),))
    assert (rewards.least("safety"), rewards.least("sales")) == (0.8, 0.5)
    with pytest.raises(UserError):
        Rewards(1.5)


@pytest.mark.parametrize(("path", "prefix"), [
    ("runs/M100_a", "M100"), ("M100_a_b", "M100"), ("M100", "M100"), ("a_b/M9_q/", "M9"), ("runs\\M7_x", "M7"), ("_x", ""), ("", ""),
])
def test_a_prefix_is_the_last_component_up_to_its_first_underscore(path, prefix):
    assert prefix_of(path) == prefix


def test_admission_takes_one_trivial_record_for_each_prefix_and_no_unsolvable_one():
    records = [
        Record("runs/M100_a", Label.TRIVIAL), Record("runs2/M100_b", Label.TRIVIAL), Record("runs/M133_x", Label.KEEP),
        Record("runs/M133_x", Label.KEEP, "2"), Record("runs/M9_q", Label.UNSOLVABLE), Record("runs/M8_q", None),
    ]
    found = admit(records)
    assert found.kept == (0, 2, 3)
    assert found.counts == {"trivial_prefix": 1, "unsolvable": 1, "no_label": 1}
    assert admit(records, one_a_prefix=False).kept == (0, 1, 2, 3)


def test_the_first_copy_of_a_trial_wins():
    records = [Record(name, Label.KEEP, trial) for name, trial in (("a/M1_x", "1"), ("b/M1_x", "1"), ("b/M1_x", "2"), ("b/M2_x", "1"))]
    found = admit(records)
    assert (found.kept, found.counts) == ((0, 2, 3), {"duplicate": 1})


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["M1_a", "M1_b", "M2_a"]), st.sampled_from([*Label, None]))))
def test_every_record_is_kept_or_counted(pairs):
    found = admit([Record(*one) for one in pairs])
    assert len(found.kept) + sum(found.counts.values()) == len(pairs)
    kept = [pairs[at] for at in found.kept]
    assert all(one[1] in (Label.KEEP, Label.TRIVIAL) for one in kept)
    assert len(trivial := [prefix_of(name) for name, each in kept if each is Label.TRIVIAL]) == len({*trivial})
    assert json.dumps(found.counts)
