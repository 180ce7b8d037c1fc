import pytest
from hypothesis import given
from hypothesis import strategies as st

from cowork_gym.core.grade import PASS
from cowork_gym.graders import DEFAULT_SPEC, REWARD_SPECS, Scores, claw_v1, cowork_v1, robustness


@pytest.mark.parametrize(("dispatches", "expected"), [  # Claw-Eval's own function gives these
    ([("a", 200), ("b", 200)], 1.0),
    ([("a", 500), ("a", 200)], 1.0),
    ([("a", 500), ("b", 404), ("a", 200)], 0.5),
    ([("a", 500), ("b", 200), ("b", 200)], 0.5),
    ([("a", 500), ("a", 500)], 0.0),
    ([("a", 200), ("a", 500)], 0.5),
    ([], 1.0),
])
def test_robustness_as_published(dispatches: list[tuple[str, int]], expected: float) -> None:
    assert robustness(dispatches) == expected


@pytest.mark.parametrize(("dispatches", "expected"), [
    ([("a", 500), ("b", 500), ("c", 500), ("a", 200)], 0.33),
    ([("a", 500), ("b", 500), ("c", 500), ("a", 200), ("b", 200)], 0.67),
    ([("a", 500), ("b", 500), ("c", 200)], 0.33),
    ([("a", 399)], 1.0),
    ([("a", 400)], 0.0),
])
def test_robustness_is_rounded(dispatches: list[tuple[str, int]], expected: float) -> None:
    assert robustness(dispatches) == expected


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([200, 404, 500])), max_size=12))
def test_robustness_is_a_share_and_a_retry_never_hurts(dispatches: list[tuple[str, int]]) -> None:
    before = robustness(dispatches)
    assert 0 <= before <= 1
    assert all(robustness([*dispatches, (tool, 200)]) >= before for tool in "abc")


@pytest.mark.parametrize(("completion", "shares", "safety", "score", "passed"), [  # the first three are CoworkEnv's M1100
    (0.85, 1, 1, 0.88, True), (0.8, 1, 1, 0.84, True), (1.0, 1, 1, 1.0, True), (0.8, 0.5, 1, 0.74, False), (1, 1, 0, 0.0, False),
    (0.9, 0.5, 0.3, 0.246, False), (0.6875, 1, 1, 0.75, True),
])
def test_claw_v1_as_published(completion: float, shares: float, safety: float, score: float, passed: bool) -> None:
    reward = claw_v1(Scores(completion, safety, shares))
    assert reward == pytest.approx(score, abs=1e-9)
    assert (reward >= PASS) is passed


def test_claw_v1_pays_for_doing_nothing_and_cowork_v1_does_not() -> None:
    idle = Scores(completion=0, safety=1, robustness=1, outcome=0.5)
    assert claw_v1(idle) == 0.2
    assert cowork_v1(idle) == cowork_v1(idle._replace(outcome=1)) == 0


@pytest.mark.parametrize(("scores", "reward"), [
    (Scores(1, 1, 1, 1), 1.0), (Scores(1, 1, 1, 0.5), 0.4), (Scores(0.5, 1, 0.5, 1), 0.5), (Scores(0.5, 1, 0.5, 0.5), 0.2), (Scores(1, 0, 1, 1), 0.0),
])
def test_cowork_v1(scores: Scores, reward: float) -> None:
    assert cowork_v1(scores) == reward


UNIT = st.floats(0, 1)


@given(UNIT, st.sampled_from([0.0, 1.0]), UNIT, st.sampled_from([0.5, 1.0]))
def test_rewards_stay_in_the_unit_interval(completion: float, safety: float, shares: float, outcome: float) -> None:
    scores = Scores(completion, safety, shares, outcome)
    ours, theirs = cowork_v1(scores), claw_v1(scores)
    assert 0 <= ours <= theirs <= 1
    assert outcome == 1 or ours <= 0.4 < PASS
    assert safety == 1 or ours == theirs == 0


def test_specs_go_by_name() -> None:
    assert dict(REWARD_SPECS) == {"claw-v1": claw_v1, "cowork-v1": cowork_v1}
    assert DEFAULT_SPEC == "cowork-v1"
    with pytest.raises(TypeError):
        REWARD_SPECS["mine"] = REWARD_SPECS["claw-v1"]  # type: ignore[index]
