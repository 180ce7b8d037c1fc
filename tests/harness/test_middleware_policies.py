"""Scripted and simple policies whose history is rewritten: they go by what they have read, not by what is still visible."""

from dataclasses import replace

import pytest

from cowork_gym.core.messages import Message, call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import compose, make_agent, play
from cowork_gym.harness.loops import PlanAct
from cowork_gym.harness.middleware import Prune, Slide, Summary
from cowork_gym.harness.policies.news import News
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.policies.seen import Seen

REQUEST = Message("user", "Do it.\n\nAt once.")


def _result(id: str, text: str) -> Message:
    return Message("tool", text, (), id, "make")


def _calls(id: str) -> Message:
    return call("make").with_ids(int(id))


FIRST, SECOND = _result("1", '{"id":"N-1"}'), _result("2", '{"id":"N-2"}')


def test_a_result_is_new_once() -> None:
    news = News()
    assert news.read((REQUEST, _calls("1"), FIRST)) == [FIRST]
    assert news.read((REQUEST, _calls("1"), FIRST, Message("user", "Plan."))) == []
    assert news.read((REQUEST, _calls("1"), replace(FIRST, content="{}"), _calls("2"), SECOND)) == [SECOND]  # a note in place of the first
    assert news.read((REQUEST, _calls("2"), SECOND)) == []
    again = _result("2", '{"id":"N-3"}')
    assert news.read((REQUEST, _calls("2"), SECOND, _calls("2"), again)) == [again]  # a server that numbers its calls anew
    assert news.results == [FIRST, SECOND, again]


def test_a_history_that_it_begins_with_is_all_new() -> None:
    assert News().read((REQUEST, _calls("1"), FIRST, _calls("2"), SECOND, final("?"))) == [FIRST, SECOND]


def test_blanks_are_filled_from_what_is_no_longer_visible() -> None:
    policy = ScriptedPolicy("s", [call("make"), call("make"), final("${make#1.id} ${make.id}")])
    policy.reset((), 0)
    policy.act((REQUEST,))
    policy.act((REQUEST, _calls("1"), FIRST))
    assert policy.act((REQUEST, _calls("2"), SECOND)) == final("N-1 N-2")
    policy.reset((), 0)
    policy.act((REQUEST,)), policy.act((REQUEST,))
    assert policy.act((REQUEST,)) == final("${make#1.id} ${make.id}")


def test_a_script_writes_what_came_of_its_calls() -> None:
    policy = ScriptedPolicy("s", [call("make")])
    assert policy.write((REQUEST,)) == final("Nothing was called so far.")
    assert policy.write((REQUEST, _calls("1"), FIRST, _calls("2"), SECOND)) == final('- make: {"id":"N-1"}\n- make: {"id":"N-2"}')
    policy = ScriptedPolicy("s", [])
    many = [_result(str(at), "x" * 500) for at in range(50)]
    assert len(policy.write((REQUEST, *many)).content or "") < 1600 - 10
    assert policy.writes


def test_a_script_has_children_with_scripts_or_with_an_answer() -> None:
    policy = ScriptedPolicy("s", [], children=[[call("make"), final("made")]])
    policy.write((REQUEST, _calls("1"), FIRST))
    first, second = policy.spawn(), policy.spawn()
    assert [first.act((REQUEST,)), first.act((REQUEST,))] == [call("make"), final("made")]
    assert second.act((REQUEST,)) == final('- make: {"id":"N-1"}')
    policy.reset((), 0)
    assert policy.spawn().act((REQUEST,)) == call("make")


def test_what_was_seen_stays_seen() -> None:
    seen = Seen()
    seen.read((Message("system", "Be careful."), REQUEST, _calls("1"), FIRST))
    seen.read((Message("system", "Be careful."), REQUEST, _calls("2"), SECOND, _calls("3"), _result("3", "no json")))
    assert seen.paragraphs == ("Do it.", "At once.")
    assert [*seen.ids] == ["N-1", "N-2"] and [*seen.texts] == ["Do it.", "At once.", "no json"]
    empty = Seen()
    empty.read((Message("system", "x"),))
    assert empty.paragraphs == () and not empty.texts


@pytest.mark.parametrize("agent", ["random", "spray", "read-everything"])
def test_simple_agents_play_under_rewrites(agent: str) -> None:
    env = CoworkEnv(load_task("M1003"))
    harness = compose(prompt="Be careful.", middleware=[Prune(keep=1, at=0, stride=1), Slide(2)])
    plain, rewritten = (play(env, make_agent(agent, env.task), harness=one, seed=3) for one in (compose(prompt="Be careful."), harness))
    assert plain.fault is rewritten.fault is None
    assert [one.said for one in rewritten.turns[:1]] == [one.said for one in plain.turns[:1]]
    if agent == "read-everything":  # it reads no text again, so that nothing changes for it
        assert [one.said for one in rewritten.turns] == [one.said for one in plain.turns]


@pytest.mark.parametrize("task", ["M1108", "M1204", "M1301"])
def test_references_win_under_rewrites(task: str) -> None:
    env = CoworkEnv(load_task(task))
    harness = compose(PlanAct(every=2), prompt="Be careful.", middleware=[Summary(at=1, keep=1), Slide(1)])
    episode = play(env, make_agent("reference", env.task), harness=harness, seed=0)
    assert episode.grade is not None and episode.grade.reward == 1.0
    assert len(episode.runs[0].segments) > 4
