"""What must not be trained, or must not be counted, is dropped with a reason; and values that contradict themselves are refused."""

import math
from dataclasses import replace

import pytest
from played_rollouts import played, reading

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.errors import Blame, FaultRecord
from cowork_gym.core.messages import final
from cowork_gym.core.trajectory import Purpose
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import compose, make_agent, play
from cowork_gym.harness.middleware import Window
from cowork_gym.trainers.data import Rollout, Segment, Step, rollout_of, same_tokenizer


def _with_segment(episode: Episode, at: int, **changes: object) -> Episode:
    run = episode.runs[0]
    segments = tuple(replace(one, **changes) if number == at else one for number, one in enumerate(run.segments))
    return replace(episode, runs=(replace(run, segments=segments),))


def test_a_segment_for_audit_only_keeps_its_place_and_trains_nothing() -> None:
    episode, _ = reading(12, Window(8, 4))
    before, rollout = rollout_of(episode), rollout_of(_with_segment(episode, 1, audit="rendered anew"))
    assert [one.drop_reason for one in before.segments] == ["", "", ""]
    assert [one.drop_reason for one in rollout.segments] == ["", "", "for audit only: rendered anew"]
    assert rollout.trained == sum(one.trained for one in before.segments[:2]) and rollout.valid
    assert rollout.segments[2].ids == before.segments[2].ids and not any(rollout.segments[2].mask)


def test_missing_token_data_are_a_reason_and_no_zeros() -> None:
    with CoworkEnv("M1100") as env:
        episode = play(env, make_agent("reference", load_task("M1100")), harness=compose(), seed=0)
    rollout = rollout_of(episode)
    assert [(one.drop_reason, one.response_ids) for one in rollout.segments] == [("no token data", ())]
    assert rollout.valid and not rollout.live and rollout.reward == 1.0


def test_a_segment_of_which_nothing_was_kept_and_one_without_a_mask_train_nothing() -> None:
    episode, _ = reading(3)
    run = episode.runs[0]
    gone = tuple(replace(one, kept=False, turn=None) for one in run.segments[0].generations)
    unmasked = tuple(
        replace(one, tokens=replace(one.tokens, mask=(False,) * len(one.tokens.ids))) for one in run.segments[0].generations
    )
    for generations, reason in ((gone, "nothing was kept"), (unmasked, "no token to train")):
        [one] = rollout_of(_with_segment(episode, 0, generations=generations)).segments
        assert one.drop_reason == reason


def test_a_missing_reward_is_none_and_never_zero() -> None:
    episode, _ = reading(3)
    fault = FaultRecord(Blame.MODEL_SERVER, "sglang", "down")
    lost = replace(episode.grade, reward=None, completion=None, safety=None, robustness=None, outcome=None, fault=fault)
    for changed, reason in (
        (replace(episode, grade=None), "not graded"),
        (replace(episode, grade=lost), "quarantined: model_server"),
        (replace(episode, ending=Ending.FAULT, fault=fault), "quarantined: model_server"),
        (replace(episode, ending=Ending.FAULT, grade=None), "quarantined: unknown"),
        (replace(episode, grade=replace(lost, fault=None)), "no reward"),
    ):
        rollout = rollout_of(changed)
        assert rollout.drop_reason == reason and not rollout.valid and rollout.segments == () and rollout.live == ()
        assert rollout.reward is None or reason == "quarantined: model_server"
        assert rollout.reward != 0 or changed.grade.reward == 0
    assert rollout_of(replace(episode, grade=lost)).components == {}


def test_a_reward_that_is_no_number_is_refused_by_name() -> None:
    episode, _ = reading(3)
    for field in ("reward", "completion"):
        with pytest.raises(ValueError, match=f"{field} is nan"):
            rollout_of(replace(episode, grade=replace(episode.grade, **{field: math.nan})))


def test_an_answer_that_was_cut_off_is_a_truncation_and_a_spent_budget_is_none() -> None:
    cut = [seed for seed in range(12) if rollout_of(played([final("x")] * 3, chance=seed, garbled=0.7)[0]).truncated]
    assert 0 < len(cut) < 12
    episode, _ = reading(3)
    assert not rollout_of(replace(episode, ending=Ending.TURNS)).truncated


def test_a_rollout_can_lose_its_loss_and_keep_its_reward() -> None:
    rollout = rollout_of(reading(12, Window(8, 4))[0])
    masked = rollout.without_loss("an answer was cut off")
    assert masked.valid and masked.reward == rollout.reward and masked.trained == 0 and masked.live == ()
    gone = rollout.dropped("stale")
    assert not gone.valid and gone.live == () and gone.trained == 0


def test_tokenizers_are_not_mixed() -> None:
    one = rollout_of(reading(3)[0])
    other = replace(one, tokenizer="e" * 64)
    with pytest.raises(ValueError, match=r"e{64}.*f{64}"):
        list(same_tokenizer([one, other]))
    assert list(same_tokenizer([one, one])) == [one, one]


_STEP = Step(0, 2, 0, Purpose.ACT, "a", "i")
_SEGMENT = Segment("r", 0, 0, 1, (1, 2), (3, 4), (True, False), (-0.5, 0.0), ("1", ""), (_STEP,))


@pytest.mark.parametrize(("changes", "match"), [
    ({"mask": (True,)}, "a mask of 1"), ({"logprobs": (-0.5,)}, "1 log-probabilities"), ({"versions": ()}, "0 versions"),
    ({"logprobs": (-0.5, math.nan)}, "not finite"), ({"weight": math.inf}, "not finite"), ({"drop_reason": "stale"}, "is dropped"),
    ({"steps": (replace(_STEP, end=3),)}, "a step ends behind its 2 tokens"),
])
def test_segments_that_contradict_themselves_are_refused(changes, match) -> None:
    with pytest.raises(ValueError, match=match):
        replace(_SEGMENT, **changes)


def test_steps_and_rollouts_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(ValueError, match="from token 3 to token 2"):
        replace(_STEP, start=3)
    good = Rollout("r", "g", "T", "1", 0, 0, "t", 0.5, {}, 0.0, 1, Ending.FINAL, False, (_SEGMENT,))
    for changes, match in (
        ({"reward": None}, "no reward and no reason"), ({"reward": math.inf}, "reward is inf"), ({"accuracy": math.nan}, "accuracy is nan"),
        ({"segments": (replace(_SEGMENT, index=1),)}, "not numbered"), ({"segments": (replace(_SEGMENT, rollout="x"),)}, "another rollout's"),
        ({"segments": (_SEGMENT, _SEGMENT)}, "not numbered"),
    ):
        with pytest.raises(ValueError, match=match):
            replace(good, **changes)
