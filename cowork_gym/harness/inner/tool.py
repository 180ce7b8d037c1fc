"""What a tool of the harness is: the protocol. Its calls are dispatches of the episode, and it may start child runs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from cowork_gym.harness.policies.policy import Policy

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["HarnessTool"]


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
        """What it needs and does not get; None when nothing is missing."""
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
