"""The names of a harness's own tools are looked at whatever a tool says of its own needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cowork_gym.core.errors import UserError
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import compose
from cowork_gym.harness.inner import HarnessTool
from cowork_gym.harness.policies.random_agent import RandomPolicy
from cowork_gym.harness.skills import Skill

SCHEMAS = CoworkEnv("M1003").action_space.schemas


@dataclass(frozen=True)
class Content(HarnessTool):
    """A tool that says it lacks nothing, and does not ask the class that it derives from."""

    name: str = "note"  # type: ignore[misc]  # one of each object's own, which nothing forbids
    shown: str = "note"

    @property
    def schema(self) -> Mapping[str, Any]:
        return {"type": "function", "function": {"name": self.shown, "description": "Notes it.", "parameters": {"type": "object"}}}

    def lacks(self, policy: object, tools: object) -> str | None:
        return None


@pytest.mark.parametrize(("tool", "told"), [
    (Content("read_skill", "read_skill"), "needs its name 'read_skill' for itself: two tools are called so"),
    (Content("a b", "a b"), "needs a name of 1 to 64 letters, digits, _ or -: the tool Content has 'a b'"),
    (Content("note", "other"), "note needs a schema of its own name 'note': it has 'other'"),
    (Content("kb_search", "kb_search"), "the harness's tool 'kb_search' has the name of one of the task's"),
])
def test_a_name_that_cannot_be_is_refused_although_the_tool_lacks_nothing(tool: Content, told: str) -> None:
    with pytest.raises(UserError, match=told):
        compose(tools=[tool], skills=[Skill("card", "How it is done.", "Like this.")]).check(RandomPolicy(), SCHEMAS)
