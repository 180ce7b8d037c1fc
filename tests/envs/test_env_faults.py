"""Faults: what is not the policy's doing truncates the episode, earns no reward at all, and says who is to blame."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import pytest

import cowork_gym
from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import Blame, UserError
from cowork_gym.core.messages import call, final, message
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.mock_services.kit import Effect, Field, Record, Service, tool

FILES = {
    "task.yaml": """
schema_version: 1
id: Brittle
version: 0
title: Use the brittle service
request: Set the dial to 3.
mock_today: 2026-03-10
services: [brittle]
tools: [brittle_read, brittle_turn, brittle_peek]
""",
    "world/brittle.yaml": "dials: [{dial_id: D-1, value: 1}]",
    "private/grading.yaml": """
schema_version: 1
checks: [{id: turned, kind: tool_called, weight: 1, tool: brittle_turn}]
outcomes: [{id: at_three, kind: row_state, table: brittle.dials, key: D-1, fields: {value: 3}}]
""",
    "private/reference.yaml": "executions: [{name: turn, turns: [brittle_turn: {value: 3}], final: done}]",
    "private/negatives.yaml": "executions: [{name: wrong, max_reward: 0.4, why: wrong value, turns: [brittle_turn: {value: 2}], final: done}]",
}


class Dial(Record, table=True):
    """A dial."""

    dial_id: str = Field(primary_key=True)
    value: int


class Brittle(Service):
    """A service with defects."""

    name = "brittle"
    tables: ClassVar = [Dial]

    @tool(Effect.READ)
    def read(self) -> dict[str, Any]:
        """Read the dial."""
        return {"value": self.store.get(Dial, "D-1").value}

    @tool(Effect.WRITE)
    def turn(self, value: int) -> dict[str, Any]:
        """Turn the dial. It breaks at 13, after it was turned.

        Args:
            value: Where to.
        """
        self.store.update(Dial, "D-1", value=value)
        if value == 13:
            raise ZeroDivisionError("stuck")
        return {"value": value}

    @tool(Effect.READ)
    def peek(self) -> dict[str, Any]:
        """Read the dial, but write all the same."""
        self.store.update(Dial, "D-1", value=99)
        return {}


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[gymnasium.Env[Any, Any]]:
    for path, text in FILES.items():
        file = tmp_path / "Brittle" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(REGISTRY, "_tasks", {**REGISTRY.tasks()})
    monkeypatch.setattr(REGISTRY, "_services", {})
    cowork_gym.register("acme/Brittle-v0", tmp_path / "Brittle", services=[Brittle])
    made = gymnasium.make("acme/Brittle-v0")
    made.reset(seed=0)
    yield made
    made.close()
    del gymnasium.registry["acme/Brittle-v0"]


def test_a_service_of_ones_own_is_played_like_any_other(env: gymnasium.Env[Any, Any]) -> None:
    for action in cowork_gym.reference("acme/Brittle-v0"):
        *_, info = env.step(action)
    assert info["grade"].reward == 1.0


def test_a_task_may_be_named_without_its_namespace_and_registered_again(env: gymnasium.Env[Any, Any], tmp_path: Path) -> None:
    assert cowork_gym.load_task("Brittle").id == "Brittle"
    cowork_gym.register("acme/Brittle-v0", tmp_path / "Brittle", services=[Brittle])
    with pytest.raises(UserError, match="not an environment id"):
        cowork_gym.register("Brittle", tmp_path / "Brittle")
    with pytest.raises(UserError, match=r"no task\.yaml"):
        cowork_gym.register("acme/Other-v0", tmp_path)


@pytest.mark.parametrize(("action", "where", "text"), [
    (call("brittle_turn", value=13), "brittle_turn", "ZeroDivisionError: stuck"),
    (call("brittle_peek"), "brittle_peek", "a reading tool may set no columns"),
])
def test_a_defect_of_a_handler_quarantines_the_episode(
    env: gymnasium.Env[Any, Any], action: Any, where: str, text: str, tmp_path: Path,
) -> None:
    env.step(call("brittle_turn", value=2))
    before = env.unwrapped.world.fingerprint()
    observation, reward, terminated, truncated, info = env.step(action)
    assert (observation, reward, terminated, truncated) == ((), 0.0, False, True)
    assert (info["fault"].blame, info["fault"].where) == (Blame.ENVIRONMENT, where)
    assert text in info["fault"].message
    assert (info["grade"].reward, info["grade"].rewards, info["grade"].fault) == (None, {}, info["fault"])
    assert (env.unwrapped.world.fingerprint(), len(env.unwrapped.world.ledger)) == (before, 1)
    episode = env.unwrapped.episode()
    assert episode.ending is Ending.FAULT
    assert read_episode(write_episode(episode, tmp_path)).fault == info["fault"]


def test_what_was_called_before_the_fault_is_answered_and_what_comes_after_is_not_run(env: gymnasium.Env[Any, Any]) -> None:
    observation, *_, info = env.step(message(None, call("brittle_read"), call("brittle_turn", value=13), call("brittle_turn", value=3)))
    assert [one.name for one in observation] == ["brittle_read"]
    assert [one.tool for one in info["dispatches"]] == ["brittle_read"]
    assert env.unwrapped.world.rows("brittle.dials")["D-1"]["value"] == 1


def test_after_a_fault_a_reset_begins_anew(env: gymnasium.Env[Any, Any]) -> None:
    env.step(call("brittle_turn", value=13))
    observation, *_ = env.step(final("done"))
    assert "the episode is over" in observation[0].content
    env.reset(seed=1)
    assert env.step(call("brittle_turn", value=3))[3] is False
    assert env.step(final("done"))[4]["grade"].reward == 1.0


def test_a_grader_that_fails_is_a_fault_with_its_own_blame(env: gymnasium.Env[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> Any:
        raise RuntimeError("no scale")

    monkeypatch.setattr("cowork_gym.graders.grader.robustness", broken)
    _, reward, terminated, _, info = env.step(final("done"))
    assert (reward, terminated, info["grade"].reward) == (0.0, True, None)
    assert (info["grade"].fault.blame, info["grade"].fault.message) == (Blame.GRADER, "RuntimeError: no scale")


class _Stranger:
    name = "stranger"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def reply(self, *_: Any) -> None:
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("x"), OSError("x"), AttributeError("x"), ZeroDivisionError(), KeyError("x")], ids=repr)
def test_whatever_a_user_of_ones_own_raises_is_a_fault(error: Exception) -> None:
    env = CoworkEnv("M1003", user=lambda _: _Stranger(error))
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(final("Which one?"))
    assert (reward, terminated, truncated, info["grade"].reward) == (0.0, False, True, None)
    assert (info["fault"].blame, info["fault"].where) == (Blame.ENVIRONMENT, "user")
