"""Compaction by summary: who writes, what is discarded, what happens when none is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from run_checks import check_episode, visible_prompts
from token_script import TokenScript

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.core.messages import InvalidAction, Message, ToolCall, call, final, message
from cowork_gym.core.trajectory import Provenance, Purpose, RewriteKind
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Policy, compose, play
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.middleware import Summary
from cowork_gym.harness.policies.policy import Action
from cowork_gym.harness.policies.scripted import ScriptedPolicy

TASK = load_task("M1003")
LIST = "helpdesk_list_tickets"
ALWAYS: Mapping[str, Any] = {"at": 1, "keep": 1}


class Writing(TokenScript):
    """Reads lists and writes the given texts; a text that is an exception is raised."""

    def __init__(self, *texts: Action | Exception, reads: int = 4, context: int | None = None) -> None:
        super().__init__([*(call(LIST) for _ in range(reads)), final("done")], Random(1), context=context)
        self._texts = iter(texts)

    def _text(self, history: Sequence[Message]) -> Action:
        text = next(self._texts)
        if isinstance(text, Exception):
            raise text
        return text


def _played(policy: TokenScript, summary: Summary) -> Episode:
    env = CoworkEnv(TASK)
    episode = play(env, policy, harness=compose(middleware=[summary]), seed=0)
    check_episode(episode, policy.log, policy.prompts)
    return episode


def test_the_third_attempt_is_accepted_and_the_others_are_not_trained() -> None:
    calling = message(None, ToolCall(LIST, "{}", "call_99"))
    episode = _played(Writing(InvalidAction("cut off", "So"), calling, final("All read."), reads=2), Summary(**ALWAYS))
    (run,) = episode.runs
    old, new = run.segments
    attempts = [one for one in old.generations if one.purpose is Purpose.SUMMARY]
    assert [(one.kept, one.reason, any(one.tokens.mask)) for one in attempts] == [
        (False, "cut off", False), (False, "a summary calls no tool", False), (True, "", True),
    ]
    assert new.rewrite.kind is RewriteKind.SUMMARY and new.rewrite.summary == Provenance("policy", "token-script", 1, attempts[-1].index)
    given = new.generations[0].given
    assert [one.role for one in given] == ["user", "user", "assistant", "tool"]
    assert given[0] == episode.opening[0] and (given[1].content or "").endswith("\nAll read.")
    assert [one.turn for one in run.generations if one.turn is not None] == [0, 1, 2]
    assert all(turn.dispatches[0].id != "call_99" for turn in episode.turns[:-1])


def test_a_later_summary_replaces_the_earlier_one() -> None:
    (run,) = _played(Writing(final("One."), final("Two."), final("Three."), reads=4), Summary(**ALWAYS)).runs
    prompts = [[one.content or "" for one in visible] for segment in run.segments for _, visible in visible_prompts(segment)]
    assert any("One." in text for text in prompts[4])  # what the second summary is asked about
    assert [sum("no longer shown:" in text for text in one) for one in prompts[-2:]] == [1, 1]
    assert any("Three." in text for text in prompts[-1]) and not any("Two." in text for text in prompts[-1])


@pytest.mark.parametrize("wrong", [final(""), final(" \n"), final("long " * 1000), InvalidAction("no", "")])
def test_when_all_attempts_fail_the_old_is_dropped(wrong: Action) -> None:
    episode = _played(Writing(*[wrong] * 4, reads=3), Summary(**ALWAYS, attempts=2))
    (run,) = episode.runs
    assert [(one.rewrite.kind, one.rewrite.summary) for one in run.segments[1:]] == [(RewriteKind.WINDOW, None)] * 2
    assert [one.kept for one in run.generations if one.purpose is Purpose.SUMMARY] == [False] * 4
    assert not any(any(one.tokens.mask) for one in run.generations if one.purpose is Purpose.SUMMARY)
    assert [len(one.given) for one in run.segments[-1].generations] == [3]
    assert episode.ending is Ending.FINAL


def test_an_earlier_summary_outlives_failed_attempts() -> None:
    (run,) = _played(Writing(final("One."), final(""), reads=3), Summary(**ALWAYS, attempts=1)).runs
    assert [one.rewrite.kind for one in run.segments[1:]] == [RewriteKind.SUMMARY, RewriteKind.WINDOW]
    assert [one.role for one in run.segments[-1].generations[0].given] == ["user", "user", "assistant", "tool"]
    assert (run.segments[-1].generations[0].given[1].content or "").endswith("One.")


def test_a_fault_in_the_middle_leaves_the_history_as_it_was() -> None:
    policy = Writing(final(""), Fault(Blame.MODEL_SERVER, "engine", "down"), reads=3)
    episode = play(CoworkEnv(TASK), policy, harness=compose(middleware=[Summary(**ALWAYS)]), seed=0)
    assert episode.ending is Ending.FAULT and episode.fault is not None and episode.fault.blame is Blame.MODEL_SERVER
    (segment,) = episode.runs[0].segments
    assert [one.kept for one in segment.generations] == [True, True, False]
    assert segment.rewrite is None


def test_without_room_to_ask_the_old_is_dropped() -> None:
    policy = Writing(ContextFull("full"), ContextFull("full"), reads=3)
    (run,) = _played(policy, Summary(**ALWAYS)).runs
    assert [one.purpose for one in run.generations] == [Purpose.ACT] * 4
    assert [one.rewrite.kind for one in run.segments[1:]] == [RewriteKind.WINDOW] * 2


def test_a_full_context_drops_what_was_to_be_kept_until_the_prompt_fits() -> None:
    policy = Writing(reads=8, context=1500)
    plain = play(CoworkEnv(TASK), Writing(reads=8, context=1500), seed=0)
    assert plain.ending is Ending.CONTEXT
    episode = _played(policy, Summary(at=10**6, keep=6))
    assert episode.ending is Ending.FINAL and len(episode.runs[0].segments) > 1
    assert {one.rewrite.kind for one in episode.runs[0].segments[1:]} == {RewriteKind.WINDOW}


def test_what_cannot_get_shorter_ends_the_run() -> None:
    assert _played(Writing(reads=3, context=200), Summary(**ALWAYS)).ending is Ending.CONTEXT


class Other(Policy):
    """Writes what it is told to."""

    name, writes = "other", True

    def __init__(self, text: Action | Exception) -> None:
        self._text = text

    def write(self, history: Sequence[Message]) -> Action:
        if isinstance(self._text, Exception):
            raise self._text
        return self._text


def _other(text: Action | Exception) -> Callable[[], Policy]:
    return lambda: Other(text)


def test_another_writers_summary_is_conditioning_only() -> None:
    (run,) = _played(Writing(reads=2), Summary(**ALWAYS, by=_other(final("Theirs.")))).runs
    assert {one.purpose for one in run.generations} == {Purpose.ACT}
    assert run.segments[1].rewrite.summary == Provenance("model", "other", 1)
    assert (run.segments[1].generations[0].given[1].content or "").endswith("Theirs.")


def test_a_rule_may_write() -> None:
    (run,) = _played(Writing(reads=2), Summary(**ALWAYS, by=lambda: ScriptedPolicy("list", []), author="rule")).runs
    assert run.segments[1].rewrite.summary == Provenance("rule", "list", 1)
    assert f"- {LIST}: " in (run.segments[1].generations[0].given[1].content or "")


@pytest.mark.parametrize("text", [final(""), ContextFull("full")])
def test_where_another_writer_fails_the_old_is_dropped(text: Action | Exception) -> None:
    (run,) = _played(Writing(reads=2), Summary(**ALWAYS, by=_other(text))).runs
    assert run.segments[1].rewrite.kind is RewriteKind.WINDOW
    assert {one.purpose for one in run.generations} == {Purpose.ACT}


def test_another_writer_that_breaks_is_to_blame() -> None:
    episode = play(CoworkEnv(TASK), Writing(reads=3), harness=compose(middleware=[Summary(**ALWAYS, by=_other(KeyError("x")))]), seed=0)
    assert episode.fault is not None and (episode.fault.blame, episode.fault.where) == (Blame.HARNESS, "other")
    assert len(episode.runs[0].segments) == 1


def test_the_manifest_names_the_other_writer() -> None:
    assert Summary().manifest()["by"] is None
    assert Summary(by=_other(final("x"))).manifest()["by"] == {"name": "other", "author": "model"}
    one, two = (compose(middleware=[Summary(by=_other(final("x")))]) for _ in range(2))
    assert one.composition.sha256 == two.composition.sha256 != compose(middleware=[Summary()]).composition.sha256


def test_who_cannot_write_is_refused_before_the_play() -> None:
    class Silent(ScriptedPolicy):
        writes = False

    silent = Silent("silent", [final("done")])
    with pytest.raises(UserError, match="summary needs a policy that can write a summary, which silent cannot"):
        play(CoworkEnv(TASK), silent, harness=compose(middleware=[Summary()]), seed=0)
    assert play(CoworkEnv(TASK), silent, harness=compose(middleware=[Summary(by=_other(final("x")))]), seed=0).ending is Ending.FINAL
    with pytest.raises(UserError, match="which silent cannot"):
        play(CoworkEnv(TASK), silent, harness=compose(middleware=[Summary(by=lambda: silent)]), seed=0)


def test_settings_that_cannot_be() -> None:
    for name in ("at", "attempts", "most"):
        with pytest.raises(UserError, match=rf"^summary: {name} must be at least 1, not 0$"):
            Summary(**{name: 0})
    assert replace(Summary(), keep=0).keep == 0
