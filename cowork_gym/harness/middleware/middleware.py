"""What stands between a loop and its policy: the protocol. A chain of middleware is asked in order; each does one thing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from cowork_gym.core.episode import Ending, Turn
from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import Purpose
from cowork_gym.harness.policies.policy import Action, Policy
from cowork_gym.harness.view import Rewritten

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["Middleware"]


class Middleware:
    """One part of a harness. Derived classes are frozen dataclasses: their fields are their settings, and what changes is in the run.

    Every method has a default that does nothing.
    """

    name: ClassVar[str]
    """How compositions call it."""

    def manifest(self) -> Mapping[str, Any]:
        """Name and settings, as plain JSON values: what is hashed into episodes."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]  # derived classes are dataclasses

    def lacks(self, policy: Policy, tools: Sequence[str]) -> str | None:
        """What is missing for it to work, found before anything is played.

        Args:
            policy: Who will play.
            tools: The tools that it will be offered.

        Returns:
            What it needs and does not get; None when nothing is missing.
        """
        return None

    def rewrite(self, run: "LiveRun") -> Rewritten | None:
        """Asked before each action: another view in place of the run's, or None. At most one rewrite happens before an action: the first.

        When `run.full` is set, the last prompt did not fit, and the run ends unless the view gets shorter.
        """
        return None

    def ask(self, run: "LiveRun", purpose: Purpose, ask: Callable[[], Action]) -> Action:
        """Around each call of the policy."""
        return ask()

    def show(self, run: "LiveRun", turn: Turn, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """What the policy is to see of what came back from a turn. There must be as many messages, in the same roles."""
        return messages

    def stop(self, run: "LiveRun") -> Ending | None:
        """Asked before each action: why the run has to end here, or None."""
        return None

    def note(self, run: "LiveRun", event: str, **what: Any) -> None:
        """Is told of what happens: `generation`, `turn`, `rewrite`, `start`, `end`."""
