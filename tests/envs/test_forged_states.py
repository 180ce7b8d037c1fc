"""Records whose rows, entries or states no tool could have left so."""

from dataclasses import replace
from typing import Any

import pytest

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.episode import Episode
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.snapshot import Change
from cowork_gym.envs.end_state import contradiction_of_states
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.told_calls import contradiction_of_tools
from cowork_gym.harness import make_agent, play

Played = tuple[CoworkEnv, Episode]


def reference(task: str) -> Played:
    env = CoworkEnv(task)
    return env, play(env, make_agent("reference", env.task), seed=0)


@pytest.fixture(scope="module")
def played() -> Played:
    return reference("M1113")


@pytest.fixture(scope="module")
def parts() -> Played:
    return reference("M1301")


def entry_with(episode: Episode, at: int, **fields: Any) -> Episode:
    bodies = [one.body for one in reversed([*episode.ledger.links()])]
    bodies[at] = encode({**decode(bodies[at]), **fields})
    return replace(episode, ledger=Ledger.read(bodies))


def test_what_was_played_contradicts_nothing(played, parts):
    for env, episode in (played, parts):
        assert (contradiction_of_states(episode, env.blueprint), contradiction_of_tools(episode, env.blueprint)) == (None, None)


@pytest.mark.parametrize("after", [
    {"path": "e", "bytes": 3}, {"path": "e", "content": 5}, {"path": "e", "content": None}, {"path": "e"}, {"path": "f", "content": "x"},
    {"path": "e", "content": "x", "bytes": 1}, {"path": "e", "content": ["x"]}, {},
])
def test_a_file_that_no_tool_writes_does_not_hide_the_end(played, after):
    env, episode = played
    odd = replace(episode, end="0" * 64, turns=(), changes=(*episode.changes, Change("workspace.files", "e", None, after)))
    assert contradiction_of_states(odd, env.blueprint) == "workspace.files/e is told as no tool could have stored it"


def test_a_row_has_its_key():
    env, episode = reference("M1003")
    one = next(one for one in episode.changes if one.after is not None and one.table != "workspace.files")
    name = next(name for name, value in one.after.items() if str(value) == one.key)
    changes = tuple(replace(each, after={**each.after, name: "other"}) if each == one else each for each in episode.changes)
    assert contradiction_of_states(replace(episode, changes=changes), env.blueprint).endswith("is told as no tool could have stored it")


@pytest.mark.parametrize("fields", [
    {"tool": "forged"}, {"service": "forged"}, {"status": 404}, {"refusal": "conflict"}, {"refusal": "conflict", "status": 409}, {"audit": "forged"},
    {"dispatch": ""},
])
def test_an_entry_is_one_of_its_tool(played, fields):
    env, episode = played
    assert "is of no call that" in contradiction_of_tools(entry_with(episode, 0, **fields), env.blueprint)


def test_the_effect_of_an_entry_is_that_of_its_tool(played):
    env, episode = played
    other = "read" if episode.ledger[0].effect == "write" else "write"
    assert "is of no call that" in contradiction_of_tools(entry_with(episode, 0, effect=other), env.blueprint)


def test_a_call_that_had_to_fail_by_plan_failed(played):
    env, episode = played
    for kind in ("timeout_before", "timeout_after", "transient", "rate_limit"):
        planned = replace(env.blueprint, faults={(episode.ledger[0].tool, 1): kind})
        assert "had to fail by plan" in contradiction_of_tools(episode, planned)


def test_a_turn_that_could_change_nothing_left_the_state(played, parts):
    env, episode = played
    looked = next(turn.index for turn in episode.turns if all(env.blueprint.tools[one.tool].tool.effect == "read" for one in turn.dispatches))
    turns = tuple(replace(turn, state="0" * 64) if turn.index == looked else turn for turn in episode.turns)
    assert contradiction_of_tools(replace(episode, turns=turns), env.blueprint).startswith(f"turn {looked} could change nothing")
    env, episode = parts
    end = episode.stages[0]
    stages = (replace(end, fingerprint="0" * 64), *episode.stages[1:])
    told = contradiction_of_tools(replace(episode, stages=stages), env.blueprint)
    assert told.startswith(f"turn {end.turns - 1} closed a part of the task in another state")
