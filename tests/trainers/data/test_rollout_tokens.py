"""Rollouts of random episodes hold what the engine saw and drew, every trained token once, and nothing else is trained."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from played_rollouts import Asked, TokenScript, at_random, env_of, played, reading
from token_script import END

from cowork_gym.core.messages import call, final
from cowork_gym.core.trajectory import Run
from cowork_gym.harness import branch, compose
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.middleware import Slide, Summary, Window
from cowork_gym.trainers.data import Boundary, Conversion, Packaging, Rollout, rollout_of

MERGED = Conversion(packaging=Packaging.MERGED_FIRST)
seeds = st.integers(0, 100_000)


def _kept(runs: Sequence[Run]) -> int:
    """Tokens that were sampled and kept, as the record has them."""
    return sum(sum(one.tokens.mask) for run in runs for segment in run.segments for one in segment.kept)


def _check(rollout: Rollout, runs: Sequence[Run], log: Sequence[Asked]) -> None:
    """For an episode of one run, whose generations are the engine's answers in order."""
    assert rollout.trained == _kept(runs)
    owners = Counter(
        id for one in rollout.segments for id, trained in zip(one.response_ids, one.mask, strict=True) if trained and id != END
    )
    kept = {id for run in runs for one in run.generations if one.kept for id in one.tokens.ids if id != END}
    assert set(owners) == kept and set(owners.values()) <= {1}
    for one in rollout.segments:
        read = set(range(len(one.response_ids)))
        for step in one.steps:
            asked = log[step.generation]
            span = slice(step.start, step.end)
            read -= set(range(step.start, step.end))
            assert one.prompt_ids + one.response_ids[: step.start] == asked.prompt
            assert one.response_ids[span] == asked.drawn.ids and one.logprobs[span] == asked.drawn.logprobs
            assert set(one.versions[span]) == {asked.drawn.version} and all(one.mask[span])
            assert runs[one.run].generations[step.generation].turn == step.turn
        assert one.steps[0].start == 0 and one.steps[-1].end == len(one.response_ids)
        assert one.ids == log[one.steps[-1].generation].prompt + log[one.steps[-1].generation].drawn.ids
        assert not any(one.mask[at] or one.logprobs[at] or one.versions[at] for at in read)


@settings(max_examples=60)
@given(seeds)
def test_each_sequence_is_what_the_engine_saw_and_each_sampled_token_is_trained_once(seed: int) -> None:
    episode, log = at_random(seed)
    for conversion in (Conversion(), MERGED):
        rollout = rollout_of(episode, conversion)
        assert rollout.valid and rollout.live == rollout.segments
        assert rollout.reward == episode.grade.reward and rollout.accuracy == float(episode.grade.passed)
        assert rollout.components == {name: getattr(episode.grade, name) for name in ("completion", "safety", "robustness", "outcome")}
        assert rollout.truncated == any(one.kept and one.finish == "length" for one in episode.runs[0].generations)
        assert rollout.interaction_steps == len(episode.turns)
        _check(rollout, episode.runs, log)


@settings(max_examples=30)
@given(seeds)
def test_packaging_moves_tokens_between_samples_and_changes_none(seed: int) -> None:
    episode, _ = at_random(seed)
    literal, merged = rollout_of(episode), rollout_of(episode, MERGED)
    assert literal.trained == merged.trained
    assert len(merged.segments) == len(episode.runs[0].segments)
    trained = [
        [(id, logprob) for one in each.segments for id, logprob, yes in zip(one.response_ids, one.logprobs, one.mask, strict=True) if yes]
        for each in (literal, merged)
    ]
    assert trained[0] == trained[1]
    where = [
        {step.generation: (step.turn, step.anchor, step.information) for one in each.segments for step in one.steps} for each in (literal, merged)
    ]
    assert where[0] == where[1]


@pytest.mark.parametrize(("turns", "literal", "merged"), [
    (7, [(0, 7)], [(0, 7)]),
    (30, [(0, 10), (10, 20), (20, 30)], [(0, 30)]),
    (35, [(0, 10), (10, 20), (20, 30), (30, 35)], [(0, 30), (30, 35)]),
    (41, [(0, 10), (10, 20), (20, 30), (30, 40), (40, 41)], [(0, 30), (30, 40), (40, 41)]),
])
def test_windows_are_cut_as_the_text_says(turns: int, literal: list[tuple[int, int]], merged: list[tuple[int, int]]) -> None:
    episode, log = reading(turns, Window(30, 10))
    for conversion, expected in ((Conversion(), literal), (MERGED, merged)):
        rollout = rollout_of(episode, conversion)
        assert [(one.steps[0].turn, one.steps[-1].turn + 1) for one in rollout.segments] == expected
        _check(rollout, episode.runs, log)
    cut = rollout_of(episode)
    inner = [one.boundary for one in cut.segments[:-1]]
    assert inner == [Boundary.STRIDE, Boundary.STRIDE, Boundary.WINDOW, Boundary.WINDOW][: len(inner)] and cut.segments[-1].boundary is Boundary.END
    assert all(len(one.prompt_ids) > len(cut.segments[0].prompt_ids) for one in cut.segments[1:3])


@pytest.mark.parametrize("chain", [(), (Slide(30),), (Summary(at=10**6),)])
def test_without_a_fifo_window_nothing_is_cut(chain) -> None:
    episode, _ = reading(30, *chain)
    assert len(rollout_of(episode).segments) == 1


def test_a_branch_counts_the_turns_that_were_taken_over_and_trains_none_of_them() -> None:
    harness = compose(middleware=[Window(8, 4)])
    episode, _ = reading(12, Window(8, 4))
    policy = TokenScript([*[call("helpdesk_list_tickets")] * 5, final("Otherwise.")], Random(5))
    [other] = branch(episode, 6, 1, lambda task: policy, harness=harness, task=env_of().task)
    rollout, whole = rollout_of(other), rollout_of(episode, MERGED).segments[0]
    assert rollout.interaction_steps == 6 and rollout.group != rollout_of(episode).group
    assert [[step.turn for step in one.steps] for one in rollout.segments] == [[6, 7], [8, 9, 10, 11]]
    first, same = rollout.segments[0].steps[0], next(step for step in whole.steps if step.turn == 6)
    assert (first.anchor, first.information) == (same.anchor, same.information)
    assert rollout.segments[0].prompt_ids == policy.log[0].prompt
    assert policy.log[0].prompt[: len(whole.prompt_ids)] == whole.prompt_ids
    assert rollout.trained == sum(len(one.drawn.ids) for one in policy.log)
    for one in rollout.segments:
        assert one.ids == policy.log[one.steps[-1].generation].prompt + policy.log[one.steps[-1].generation].drawn.ids


def test_summaries_of_the_policys_own_are_trained_where_they_were_sampled() -> None:
    episode, log = reading(40, Summary(at=800))
    rollout = rollout_of(episode)
    written = [step for one in rollout.segments for step in one.steps if step.purpose == "summary"]
    assert written and len(written) == len(rollout.segments) - 1
    assert all(step.turn is None for step in written)
    _check(rollout, episode.runs, log)


def test_what_was_discarded_is_not_trained() -> None:
    found = 0
    for seed in range(40):
        episode, _ = at_random(seed)
        gone = {id for one in episode.runs[0].generations if not one.kept for id in one.tokens.ids if id != END}
        found += len(gone)
        assert not gone & {id for one in rollout_of(episode).segments for id in one.ids}
    assert found > 100


def test_children_belong_to_the_rollout_and_their_loss_can_be_left_out() -> None:
    work = call("helpdesk_list_tickets")
    lines = [work, call("delegate", task="List."), work, work, final("listed"), work, final("done")]
    episode, log = played(lines, harness=compose(tools=[Delegate()]))
    together, alone = rollout_of(episode), rollout_of(episode, Conversion(children=False))
    assert [(one.run, [step.turn for step in one.steps]) for one in together.segments] == [(1, [1, 2, 3]), (0, [0, 4, 5, 6])]
    assert together.trained == _kept(episode.runs) == sum(len(one.drawn.ids) for one in log)
    assert [one.drop_reason for one in alone.segments] == ["a child run", ""] and alone.trained == _kept(episode.runs[:1])
    assert together.reward == alone.reward == episode.grade.reward and together.children == {1: "token-script"}
    assert together.interaction_steps == alone.interaction_steps == 7


@pytest.mark.parametrize(("root", "child", "expected"), [
    ((Window(4, 2),), None, [(1, [1, 2]), (1, [3, 4]), (1, [5]), (0, [0, 6]), (0, [7])]),
    ((), (Window(6, 3),), [(1, [1, 2, 3]), (1, [4, 5]), (0, [0, 6, 7])]),
    ((Window(4, 2),), (), [(1, [1, 2, 3, 4, 5]), (0, [0, 6]), (0, [7])]),
])
def test_children_are_cut_by_the_window_that_they_had(root, child, expected) -> None:
    work = call("helpdesk_list_tickets")
    lines = [work, call("delegate", task="List."), *[work] * 4, final("listed"), final("done")]
    episode, _ = played(lines, harness=compose(tools=[Delegate(middleware=child)], middleware=root))
    assert [(one.run, [step.turn for step in one.steps]) for one in rollout_of(episode).segments] == expected
