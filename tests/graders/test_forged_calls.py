"""Records whose turns, dispatches, ledger and tool messages were made to tell different things."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Dispatch, Episode, Turn
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.harness import make_agent, play

Forge = Callable[[Turn], Turn]


@pytest.fixture(scope="module")
def played() -> tuple[CoworkEnv, Episode]:
    env = CoworkEnv("M1100")
    return env, play(env, make_agent("reference", env.task), seed=0)


def found(env: CoworkEnv, episode: Episode) -> str | None:
    grade = grade_episode(env.task, env.blueprint, episode)
    assert (grade.fault is None) == (grade.reward is not None)
    return grade.fault and grade.fault.message


def forged(episode: Episode, edit: Forge) -> Episode:
    """The record with its turns edited, and with the generations that led to them."""
    turns = tuple(map(edit, episode.turns))
    said = {turn.index: turn.said for turn in turns}
    runs = tuple(
        replace(run, segments=tuple(
            replace(one, generations=tuple(replace(each, said=said.get(each.turn, each.said)) for each in one.generations)) for one in run.segments
        )) for run in episode.runs
    )
    return replace(episode, turns=turns, runs=tuple(replace(run, segments=run.segments[:1]) for run in runs))


def working(edit: Forge) -> Forge:
    return lambda turn: edit(turn) if turn.dispatches else turn


def of_calls(**fields: Any) -> Forge:
    def edit(turn: Turn) -> Turn:
        calls = tuple(replace(one, **fields) for one in turn.action.tool_calls)
        return replace(turn, action=replace(turn.action, tool_calls=calls))
    return working(edit)


def of_dispatches(**fields: Any) -> Forge:
    return working(lambda turn: replace(turn, dispatches=tuple(replace(one, **fields) for one in turn.dispatches)))


def more(turn: Turn) -> Turn:
    return replace(turn, dispatches=(*turn.dispatches, replace(turn.dispatches[0], id="zz", sequence=None)))


def fewer_calls(turn: Turn) -> Turn:
    return replace(turn, action=final("hi"))


def results(turn: Turn) -> Turn:
    seen = tuple(replace(one, content='{"forged":true}') for one in turn.observation)
    return replace(turn, observation=seen, dispatches=tuple(replace(one, result='{"forged":true}') for one in turn.dispatches))


CASES = {
    "other names": (of_calls(name="forged_tool"), "was called, and"),
    "other arguments": (of_calls(arguments='{"forged":1}'), "has other arguments than the call"),
    "broken arguments": (of_calls(arguments="{"), "has other arguments than the call"),
    "no calls": (working(fewer_calls), "has 0 calls and 1 dispatches"),
    "one more dispatch": (working(more), "has 1 calls and 2 dispatches"),
    "other ids": (of_calls(id="other"), "was dispatched as"),
    "by the harness": (of_dispatches(inner=True), "was answered by the harness and has a ledger entry"),
    "other results": (working(results), "has another result than ledger entry"),
    "other messages": (working(lambda turn: replace(turn, observation=(Message("tool", "{}"),))), "what came back for the call"),
    "no messages": (working(lambda turn: replace(turn, observation=())), "called tools, and nothing came back"),
    "a message more": (working(lambda turn: replace(turn, observation=turn.observation * 2)), "2 messages came back"),
}


def test_what_was_played_is_graded(played):
    assert found(*played) is None


@pytest.mark.parametrize("case", CASES)
def test_turns_that_tell_otherwise_are_found(played, case):
    env, episode = played
    edit, told = CASES[case]
    assert told in found(env, forged(episode, edit))


def test_a_tool_renamed_where_it_was_dispatched_is_found():
    env = CoworkEnv("M1120")
    episode = play(env, make_agent("negative:crm_export_report", env.task), seed=0)
    bodies = [one.body.replace('"crm_export_report"', '"crm_list_customers"') for one in reversed([*episode.ledger.links()])]

    def rename(one: Dispatch) -> Dispatch:
        return replace(one, tool=one.tool.replace("crm_export_report", "crm_list_customers"))

    turns = tuple(replace(turn, dispatches=tuple(map(rename, turn.dispatches))) for turn in episode.turns)
    assert found(env, episode) is None
    renamed = replace(episode, turns=turns, ledger=Ledger.read(bodies))
    assert found(env, renamed) is not None


def test_what_was_executed_has_an_entry(played):
    env, episode = played
    extra = ToolCall("kb_search", "{}", "zz")

    def twice(turn: Turn, **fields: Any) -> Turn:
        dispatch = Dispatch("zz", "kb_search", 200, "{}", **fields)
        action = replace(turn.action, tool_calls=(*turn.action.tool_calls, extra))
        seen = (*turn.observation, Message("tool", "{}", (), "zz", "kb_search"))
        return replace(turn, action=action, dispatches=(*turn.dispatches, dispatch), observation=seen)

    def first(**fields: Any) -> Forge:
        return lambda turn: twice(turn, **fields) if turn.index == 0 else turn

    assert "was executed and has no ledger entry" in found(env, forged(episode, first()))
    assert "was executed and has no ledger entry" in found(env, forged(episode, first(replayed=True)))
    assert "which has no tool kb_search" in found(env, forged(episode, first(inner=True)))
    assert "repeats another call" in found(env, forged(episode, first(replayed=True, sequence=1)))


def test_the_answer_of_a_retry_may_spell_its_numbers_otherwise():
    env = CoworkEnv("M1100")
    env.reset(seed=0)
    call = env.task.references[0].actions[0].tool_calls[0]
    for _ in range(2):
        env.step(Message("assistant", None, (replace(call, id="a", arguments=encode(call.decoded()).replace(":", " : ")),)))
    episode = env.finish()
    assert [one.replayed for one in episode.dispatches] == [False, True]
    assert found(env, episode) is None
