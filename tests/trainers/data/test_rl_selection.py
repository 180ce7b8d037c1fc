"""Which tasks are trained on: those that are passed sometimes, and those that only a stronger policy passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rollouts import made

from cowork_gym.trainers.data import PassRate, pass_rates, select_tasks
from cowork_gym.trainers.data.selection_by_pass import form_of

rates = st.integers(0, 6).flatmap(lambda attempts: st.builds(PassRate, st.integers(0, attempts), st.just(attempts)))


def test_a_fault_is_no_failure() -> None:
    rollouts = [made("a", 1.0), made("b", 0.7), made("c", None), made("d", 1.0, "T/1/s1"), made("e", None, "T/1/s2")]
    rollouts.append(made("f", 1.0).dropped("stale"))
    assert pass_rates(rollouts) == {("T", "1"): PassRate(2, 3)}
    forms = pass_rates(rollouts, form_of)
    assert forms == {("T", "1", "0"): PassRate(1, 2), ("T", "1", "1"): PassRate(1, 1), ("T", "1", "2"): PassRate(0, 0)}
    assert [one.rate for one in forms.values()] == [0.5, 1.0, None]


def test_each_task_is_kept_or_left_out_for_a_reason() -> None:
    mine = {
        ("mixed",): PassRate(1, 4), ("easy",): PassRate(4, 4), ("hard",): PassRate(0, 4), ("beyond",): PassRate(0, 4), ("unseen",): PassRate(0, 4),
        ("once",): PassRate(1, 1), ("lost",): PassRate(0, 0),
    }
    chosen = select_tasks(mine, {("hard",): PassRate(1, 3), ("beyond",): PassRate(0, 3), ("easy",): PassRate(3, 3)})
    assert chosen.kept == (("mixed",), ("hard",))
    assert chosen.counts == {
        "both outcomes seen": 1, "always passed": 1, "never passed, but by a stronger policy": 1, "never passed, and by no stronger policy": 2,
        "too few outcomes": 2,
    }
    assert chosen.reasons[("hard",)] == "never passed, but by a stronger policy"
    assert select_tasks(mine).kept == (("mixed",),)


def test_contradictions_are_refused() -> None:
    for passed, attempts in ((3, 2), (-1, 2)):
        with pytest.raises(ValueError, match="attempts passed"):
            PassRate(passed, attempts)
    with pytest.raises(ValueError, match="cannot show both outcomes"):
        select_tasks({}, attempts=1)


@given(st.dictionaries(st.tuples(st.sampled_from("abcdefgh")), rates), st.dictionaries(st.tuples(st.sampled_from("abcdefgh")), rates))
def test_what_is_kept_can_still_be_learned(mine, stronger) -> None:
    chosen = select_tasks(mine, stronger)
    assert chosen.reasons.keys() == mine.keys() and sum(chosen.counts.values()) == len(mine)
    for task in mine:
        can = 0 < mine[task].passed < mine[task].attempts or (mine[task].passed == 0 and task in stronger and stronger[task].passed > 0)
        assert (task in chosen.kept) == (can and mine[task].attempts >= 2)
