"""The names of a harness's own tools: each can be called by a model, stands for one tool, and is none of the task's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cowork_gym.core.errors import UserError
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Harness, compose, play
from cowork_gym.harness.inner import Delegate, HarnessTool
from cowork_gym.harness.inner.read_skill import ReadSkill
from cowork_gym.harness.policies.random_agent import RandomPolicy
from cowork_gym.harness.skills import Skill

TASK = load_task("M1003")
SCHEMAS = CoworkEnv(TASK).action_space.schemas
SKILL = Skill("card", "How it is done.", "Like this.")


@dataclass(frozen=True)
class Note(HarnessTool):
    """A tool of the person's own."""

    name: str = "note"  # type: ignore[misc]  # one of each object's own, which nothing forbids
    shown: str | None = None

    @property
    def schema(self) -> Mapping[str, Any]:
        parameters = {"type": "object", "properties": {}, "additionalProperties": False}
        shown = self.name if self.shown is None else self.shown
        return {"type": "function", "function": {"name": shown, "description": "Notes it.", "parameters": parameters}}

    def answer(self, run: object, arguments: Mapping[str, Any], dispatch: str) -> str:
        return "{}"


def refused(harness: Harness) -> str:
    """What is told before anything is played."""
    with pytest.raises(UserError) as caught:
        play(CoworkEnv(TASK), RandomPolicy(), harness=harness, seed=0)
    with pytest.raises(UserError) as again:
        harness.check(RandomPolicy(), SCHEMAS)
    assert str(again.value) == str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["note", "Note-2", "n" * 64, "read_skill"])
def test_a_tool_of_ones_own_may_have_any_name_that_can_be_called(name: str) -> None:
    compose(tools=[Note(name), Delegate()]).check(Spawning(), SCHEMAS)


class Spawning(RandomPolicy):
    def spawn(self) -> RandomPolicy:
        return RandomPolicy()


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "nöte", "n" * 65])
def test_a_name_that_no_model_could_call_is_refused(name: str) -> None:
    told = refused(compose(tools=[Note(name, "note")]))
    assert f"needs a name of 1 to 64 letters, digits, _ or -: the tool Note has {name!r}"[:110] in told


def test_a_tool_beside_skills_may_not_take_the_name_of_theirs() -> None:
    assert "needs its name 'read_skill' for itself: two tools are called so" in refused(compose(tools=[Note("read_skill")], skills=[SKILL]))


def test_a_name_of_the_tasks_is_refused() -> None:
    assert refused(compose(tools=[Note("kb_search")])) == "the harness's tool 'kb_search' has the name of one of the task's"


def test_a_schema_of_another_name_is_refused() -> None:
    assert "note needs a schema of its own name 'note': it has 'other'" in refused(compose(tools=[Note(shown="other")]))


def test_two_tools_or_skills_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="two tools of the harness are called 'note'"):
        compose(tools=[Note(), Note()])
    assert refused(compose(skills=[SKILL, Skill("card", "Another.", "Like that.")])) == "skills: 'card' comes twice"
    with pytest.raises(UserError, match="skills: a name is empty"):
        ReadSkill((Skill("", "It has none.", "x"),))
