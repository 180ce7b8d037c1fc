"""Staleness: versions as numbers, rollouts, groups and tokens that are too old."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rollouts import made

from cowork_gym.trainers.data import By, Rollout, fresh, fresh_groups, fresh_tokens, grouped, update_of, updates_of
from cowork_gym.trainers.data.staleness import Updates, last_versions


def _over(*versions: str, id: str = "r") -> Rollout:
    """A rollout whose tokens are of these versions, one each; the last of them in a second segment where there are several."""
    whole = made(id, 1.0, sizes=(len(versions) - 1, 1) if len(versions) > 1 else (1,))
    parts = (versions[:-1], versions[-1:]) if len(versions) > 1 else (versions,)
    segments = [
        replace(one, mask=(True,) * len(part), logprobs=(-0.5,) * len(part), versions=part) for one, part in zip(whole.segments, parts, strict=True)
    ]
    return replace(whole, segments=tuple(segments))


@pytest.mark.parametrize(("version", "number"), [
    ("12", 12), ("step-12", 12), ("step_3", 3), ("v7", 7), ("update:9", 9), ("0", 0), ("", None), ("9f31c2", None), ("12a", None), ("abc12", None),
    ("a" * 60 + "1234", None),
])
def test_numbers_of_versions(version: str, number: int | None) -> None:
    assert update_of(version) == number


def test_the_updates_of_a_rollout_are_those_of_the_tokens_that_it_trains() -> None:
    one = _over("step-3", "step-7", "step-5", "step-6")
    assert updates_of(one) == Updates(3, 7, 6) and one.versions == ("step-3", "step-7", "step-5", "step-6")
    masked = replace(one, segments=(replace(one.segments[0], mask=(False, True, True)), one.segments[1]))
    assert updates_of(masked) == Updates(5, 7, 6)
    assert updates_of(_over("step-3", "")) is None and updates_of(one.without_loss("cut off")) is None


def test_rollouts_that_are_too_old_are_dropped_for_a_reason() -> None:
    rollouts = [_over("step-7", "step-9"), _over("step-6", "step-9"), _over("9", "hash"), _over("11"), _over("9").without_loss("cut off")]
    found = fresh(rollouts, 10)
    assert found.kept == (rollouts[0],)
    assert found.dropped == {"more than 3 updates old": 1, "unknown version": 1, "sampled after update 10": 1, "nothing to train": 1}
    assert fresh(rollouts, 10, by=By.LAST).kept == tuple(rollouts[:2])
    assert fresh(rollouts[:2], 10, most=0).kept == ()


def test_a_group_goes_as_a_whole() -> None:
    groups = grouped([_over("9", id="a"), _over("2", id="b")])
    assert fresh_groups(groups, 10).kept == () and fresh_groups(groups, 10).dropped == {"more than 3 updates old": 1}
    assert fresh_groups(groups, 10, most=8).kept == tuple(groups)
    masked = grouped([_over("9", id="a"), _over("2", id="b").without_loss("cut off")])
    assert fresh_groups(masked, 10).kept == tuple(masked)


def test_versions_without_a_number_are_ordered_by_when_they_were_met() -> None:
    number = last_versions(["aaa", "aaa", "bbb", "ccc"])
    assert [number(one) for one in ("aaa", "bbb", "ccc", "ddd")] == [0, 1, 2, None]
    assert fresh([_over("aaa", "bbb"), _over("ccc"), _over("ddd")], 2, 1, number=number).dropped == {
        "more than 1 updates old": 1, "unknown version": 1,
    }


@given(st.lists(st.sampled_from(["1", "2", "step-3", "4", "5", "?"]), min_size=1, max_size=8), st.integers(0, 5), st.integers(0, 4))
def test_only_tokens_that_are_young_enough_stay_trained(versions: list[str], now: int, most: int) -> None:
    one = _over(*versions)
    left = fresh_tokens(one, now, most)
    mask = [yes for segment in left.segments for yes in segment.mask]
    assert mask == [(number := update_of(version)) is not None and now - most <= number <= now for version in versions]
    assert [bool(segment.drop_reason) for segment in left.segments] == [not any(segment.mask) for segment in left.segments]
    assert left.reward == one.reward and [segment.ids for segment in left.segments] == [segment.ids for segment in one.segments]
    assert fresh_tokens(left, now, most) == left
