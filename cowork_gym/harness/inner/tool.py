"""What a tool of the harness is: the protocol. Its calls are dispatches of the episode, and it may start child runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from cowork_gym.harness.policies.policy import Policy

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["HarnessTool", "lacks_name"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""As OpenAI's API takes them, https://platform.openai.com/docs/api-reference/chat/create."""


class HarnessTool:
    """A tool of the harness. Derived classes are frozen dataclasses: their fields are their settings."""

    name: ClassVar[str]

    @property
    def schema(self) -> Mapping[str, Any]:
        """The tool in OpenAI's form."""
        raise NotImplementedError

    def manifest(self) -> Mapping[str, Any]:
        """Name and settings: what is hashed into episodes."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]  # derived classes are dataclasses

    def lacks(self, policy: Policy, tools: Sequence[str]) -> str | None:
        """What it needs and does not get.

        Returns:
            What is missing, for the person who composes; None when nothing is.
        """
        return None

    def answer(self, run: "LiveRun", arguments: Mapping[str, Any], dispatch: str) -> str:
        """What the agent reads: JSON.

        Args:
            run: Whose call it is.
            arguments: As the agent wrote them.
            dispatch: The call's dispatch id.

        Raises:
            ToolError: The call cannot be answered so.
            Fault: What is needed for the answer failed.
        """
        raise NotImplementedError


def lacks_name(tool: HarnessTool, tools: Sequence[str]) -> str | None:
    """What every tool needs, whatever it says of itself: a name that servers of models take, its own alone, and a schema of that name.

    Args:
        tool: Which.
        tools: The names of all tools that are offered.

    Returns:
        As `HarnessTool.lacks` does.
    """
    if not _NAME.fullmatch(tool.name):
        return f"a name of 1 to 64 letters, digits, _ or -: the tool {type(tool).__name__} has {tool.name!r:.80}"
    if tools.count(tool.name) > 1:
        return f"its name {tool.name!r} for itself: two tools are called so"
    shown = tool.schema["function"]["name"]
    return None if shown == tool.name else f"a schema of its own name {tool.name!r}: it has {shown!r:.80}"
