"""Records of child runs and harness tools that do not fit the dispatches that asked for them."""

from dataclasses import replace
from typing import Any

import pytest

from cowork_gym.core.episode import Dispatch, Episode
from cowork_gym.core.messages import Message, call, final
from cowork_gym.core.trajectory import Origin
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.graders.children import contradiction_of_children
from cowork_gym.harness import compose, play
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.policies.scripted import ScriptedPolicy


@pytest.fixture(scope="module")
def played() -> tuple[CoworkEnv, Episode]:
    env = CoworkEnv("M1100")
    *work, answer = env.task.references[0].actions
    policy = ScriptedPolicy("p", [work[0], call("delegate", task="Do it."), answer], children=[[*work[1:], final("Done.")]])
    return env, play(env, policy, harness=compose(tools=[Delegate()]), seed=0)


def found(env: CoworkEnv, episode: Episode) -> str | None:
    return contradiction_of_children(episode, env.blueprint.tools.keys())


def with_child(episode: Episode, **fields: Any) -> Episode:
    root, child = episode.runs
    return replace(episode, runs=(root, replace(child, **fields)))


def with_root(episode: Episode, **fields: Any) -> Episode:
    root, child = episode.runs
    return replace(episode, runs=(replace(root, **fields), child))


def asked_by(episode: Episode, **fields: Any) -> Episode:
    def edit(one: Dispatch) -> Dispatch:
        return replace(one, **fields) if one.tool == "delegate" else one

    return replace(episode, turns=tuple(replace(turn, dispatches=tuple(map(edit, turn.dispatches))) for turn in episode.turns))


def test_what_was_played_contradicts_nothing(played):
    env, episode = played
    assert (found(env, episode), episode.grade.fault, len(episode.runs)) == (None, None, 2)


@pytest.mark.parametrize(("fields", "told"), [
    ({"call": "other"}, "handed work to a child run, which there is not"), ({"handoff": "other"}, "asked for and handed back otherwise"),
    ({"result": "other"}, "handed back another text than its last message"), ({"result": None}, "ended by final and handed back nothing"),
    ({"ending": "turns"}, "ended by turns and handed something back"), ({"tools": ("other",)}, "which run 1 was not offered"),
])
def test_a_child_fits_the_call_that_asked_for_it(played, fields, told):
    env, episode = played
    assert told in found(env, with_child(episode, **fields))


@pytest.mark.parametrize("fields", [{"call": "x"}, {"handoff": "x"}, {"result": "x"}, {"ending": "final"}])
def test_nobody_asked_for_the_root(played, fields):
    env, episode = played
    assert "is the root" in found(env, with_root(episode, **fields))


def test_the_harness_answers_its_own_tools_and_no_others(played):
    env, episode = played
    assert "the harness did not answer it" in found(env, asked_by(episode, inner=False))
    assert "which has no tool kb_search" in found(env, asked_by(episode, tool="kb_search"))
    assert "which has no tool delegate" in found(env, replace(episode, composition=None))
    assert "which run 0 was not offered" in found(env, with_root(episode, tools=("delegate",)))
    result = next(one for one in episode.dispatches if one.inner).result
    assert "handed back otherwise" in found(env, asked_by(episode, result=result.replace("Done.", "Gone.")))


def test_turns_are_what_their_generations_said(played):
    env, episode = played
    last = len(episode.turns) - 1
    turns = (*episode.turns[:-1], replace(episode.turns[-1], action=Message("assistant", "other")))
    assert found(env, replace(episode, turns=turns)).startswith(f"turn {last} was taken over, or says something else")
    assert found(env, replace(episode, origin=Origin("0" * 64, 1))).startswith("turn 0 was taken over")
    assert found(env, replace(episode, origin=Origin("0" * 64, 2))).endswith("after which a child run was under way")
    negative = (replace(episode.turns[0], tokens=-1), *episode.turns[1:])
    assert found(env, replace(episode, turns=negative)) == "turn 0 has -1 tokens"
