"""Which groups are kept for training, and what is done about responses that are too long."""

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from cowork_gym.trainers.algorithms.groups import RowClass  # noqa: E402
from cowork_gym.trainers.algorithms.overlong import mask_truncated, soft_overlong_penalty  # noqa: E402
from cowork_gym.trainers.algorithms.sampling import GroupVerdict, select_groups  # noqa: E402

torch.set_num_threads(1)


@settings(max_examples=40, deadline=None)
@given(correct=st.lists(st.integers(0, 1), min_size=2, max_size=9))
def test_a_group_is_kept_when_some_but_not_all_are_correct(correct):
    found = select_groups(correct, ["g"] * len(correct))
    assert (found.verdicts["g"] is GroupVerdict.KEPT) is (0 < sum(correct) < len(correct))
    assert found.kept.tolist() == [0 < sum(correct) < len(correct)] * len(correct)


def test_every_group_has_a_verdict():
    metric = [0, 1, 0.2, 0.2, 1, 5, None, 0.1 + 0.2, 0.3]
    groups = ["a", "a", "b", "b", "c", "d", "c", "e", "e"]
    classes = [RowClass.INVALID if one == "d" else RowClass.VALID for one in groups]
    found = select_groups(metric, groups, classes=classes, missing="leave_out")
    assert dict(found.verdicts) == {"a": "kept", "b": "zero_variance", "c": "singleton", "d": "empty", "e": "zero_variance"}
    assert dict(found.counts) == {"kept": 1, "zero_variance": 2, "singleton": 1, "empty": 1}
    assert (found.invalid, found.missing) == (1, 1) and found.kept.tolist() == [True, True] + [False] * 7


def test_truncated_rollouts_are_looked_at_and_invalid_ones_are_not():
    assert select_groups([0, 1], "gg", classes=["loss_masked", "valid"]).verdicts["g"] == "kept"
    assert select_groups([0, 1, 0], "ggg", classes=["valid", "invalid", "valid"]).verdicts["g"] == "zero_variance"


def test_a_metric_that_is_none_is_refused():
    for metric, message in (([1, None], r"metric\[1\] is missing"), ([], "there are no metric"), ([1], "1 values"), ([1, float("inf")], "infinite")):
        with pytest.raises(ValueError, match=message):
            select_groups(metric, "gg")
    with pytest.raises(ValueError, match="zero_tol"):
        select_groups([1, 0], "gg", zero_tol=-1.0)


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(0, 40_000), min_size=2, max_size=8))
def test_the_penalty_falls_from_0_to_minus_1(lengths):
    found = soft_overlong_penalty(sorted(lengths), 20_480, 4096)
    assert bool((found <= 0).all()) and bool((found >= -1).all()) and bool((found.diff() <= 0).all())
    assert torch.equal(found == 0, torch.tensor(sorted(lengths)) <= 16_384)
    endless = soft_overlong_penalty(sorted(lengths), 20_480, 4096, saturate=False)
    assert torch.equal(endless.clamp(min=-1), found)


@pytest.mark.parametrize("limits", [(10, 0), (10, 11), (float("inf"), 2), (10, -1)])
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(ValueError, match="0 < cache_len <= max_len"):
        soft_overlong_penalty([1], *limits)


def test_lengths_that_make_no_sense_are_refused():
    for length in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="lengths are finite"):
            soft_overlong_penalty([length], 10, 5)


def test_truncated_rows_leave_the_loss_alone_or_with_their_siblings():
    mask, truncated = torch.tensor([[1, 1], [1, 0], [0, 0], [1, 1]]), [True, False, True, False]
    alone = mask_truncated(mask, truncated)
    assert alone.mask.tolist() == [[False, False], [True, False], [False, False], [True, True]]
    assert (alone.masked_rows, alone.masked_tokens) == (1, 2)
    together = mask_truncated(mask, truncated, ["A", "A", "B", "C"])
    assert together.mask.any(1).tolist() == [False, False, False, True]
    assert (together.masked_rows, together.masked_tokens) == (2, 3)
    with pytest.raises(ValueError, match="do not fit a mask"):
        mask_truncated(mask, [True])
    with pytest.raises(ValueError, match="3 ids do not fit 4 rows"):
        mask_truncated(mask, truncated, "ABC")
