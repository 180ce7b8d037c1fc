"""Records in which the request, the user's replies, the parts of a task or the answer were changed."""

from dataclasses import replace
from typing import Any

import pytest

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import Message, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.graders.spoken import contradiction_of_words
from cowork_gym.harness import make_agent, play

Played = tuple[CoworkEnv, Episode]


def reference(task: str) -> Played:
    env = CoworkEnv(task)
    return env, play(env, make_agent("reference", env.task), seed=0)


@pytest.fixture(scope="module")
def talk() -> Played:
    return reference("M1203")


@pytest.fixture(scope="module")
def parts() -> Played:
    return reference("M1301")


def with_turn(episode: Episode, index: int, **fields: Any) -> Episode:
    return replace(episode, turns=tuple(replace(one, **fields) if one.index == index else one for one in episode.turns))


def test_what_was_played_contradicts_nothing(talk, parts):
    for env, episode in (talk, parts):
        assert contradiction_of_words(episode, env.task) is None


def test_facts_are_told_by_replies(talk):
    env, episode = talk
    working = next(one.index for one in episode.turns if one.dispatches)
    heard = next(one for one in episode.turns if one.heard)
    moved = with_turn(with_turn(episode, heard.index, heard=()), working, heard=heard.heard)
    assert contradiction_of_words(moved, env.task).startswith(f"turn {working} calls tools, and a user told")
    silent = with_turn(episode, heard.index, observation=(Message("user", " "),))
    assert contradiction_of_words(silent, env.task).startswith(f"turn {heard.index}: a user who said nothing told")
    gone = with_turn(episode, heard.index, observation=())
    assert contradiction_of_words(gone, env.task).startswith(f"turn {heard.index}: a user who said nothing told")
    other = with_turn(episode, heard.index, observation=(Message("tool", "yes"),))
    assert contradiction_of_words(other, env.task).endswith("is no user's reply")
    last = with_turn(episode, episode.turns[-1].index, heard=("limit",))
    assert contradiction_of_words(last, env.task).endswith("a user who said nothing told limit")


def test_the_request_and_the_task_are_those_of_the_task(talk):
    env, episode = talk
    assert "another request" in contradiction_of_words(replace(episode, opening=(Message("user", "x"),)), env.task)
    assert "not of M1203" in contradiction_of_words(replace(episode, task="M1"), replace(env.task, id="M1203"))


def test_the_answer_is_the_last_message(talk):
    env, episode = talk
    assert contradiction_of_words(replace(episode, answer="x"), env.task) == "the final answer is not the last message"
    assert "ended by turns" in contradiction_of_words(replace(episode, ending=Ending.TURNS), env.task)


def test_a_closed_part_got_the_next_request(parts):
    env, episode = parts
    end = episode.stages[0]
    at = end.turns - 1
    assert "is not the next request" in contradiction_of_words(with_turn(episode, at, observation=(Message("user", "nothing"),)), env.task)
    assert "is not the message that closed" in contradiction_of_words(with_turn(episode, at, action=final("other")), env.task)
    answered = replace(episode, stages=(replace(end, answer="other"), *episode.stages[1:]))
    assert "is not the message that closed" in contradiction_of_words(answered, env.task)
    beyond = replace(episode, stages=(replace(end, turns=99), *episode.stages[1:]))
    assert "one after the other" in contradiction_of_words(beyond, env.task)


def test_the_world_moved_as_the_task_says_and_when_the_part_was_closed(parts):
    env, episode = parts
    end = episode.stages[0]
    for entries in (end.entries - 1, end.entries + 1):
        moved = replace(episode, stages=(replace(end, entries=entries), *episode.stages[1:]))
        assert "ledger entry" in contradiction_of_words(moved, env.task)
    bodies = [one.body for one in reversed([*episode.ledger.links()])]
    ours = [body.replace('"dispatch":', '"actor":"environment","dispatch":', 1) for body in bodies[:1]] + bodies[1:]
    assert "of which the task does not say so" in contradiction_of_words(replace(episode, ledger=Ledger.read(ours)), env.task)
    short = replace(episode, ledger=Ledger.read(bodies[: end.entries]))
    assert "has no ledger entry" in contradiction_of_words(short, env.task)


def test_a_refused_action_is_told_as_one(talk):
    env, episode = talk
    first = episode.turns[0]
    assert "was refused as a whole" in contradiction_of_words(with_turn(episode, 0, invalid="no"), env.task)
    assert "was refused as a whole" in contradiction_of_words(with_turn(episode, 0, raw="no"), env.task)
    bare = with_turn(episode, 0, action=None, dispatches=(), observation=(Message("user", '{"error":"no"}'),))
    assert first.dispatches and "as a refused one does" in contradiction_of_words(bare, env.task)
    assert contradiction_of_words(with_turn(bare, 0, invalid="no", raw="x"), env.task) is None
    assert contradiction_of_words(with_turn(bare, 0, invalid="yes", raw="x"), env.task).endswith("what came back is not why")
