"""Retry with backoff: a policy whose server failed is asked again, and nothing is recorded of the tries that failed."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar

from cowork_gym.core.errors import Blame, Fault
from cowork_gym.core.trajectory import Purpose
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.middleware.settings import require
from cowork_gym.harness.policies.policy import Action

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["Retry"]

_PASSING = frozenset({Blame.MODEL_SERVER, Blame.TIMEOUT})
_LOG = logging.getLogger(__name__)


def _sleep(seconds: float) -> None:
    Event().wait(seconds)


@dataclass(frozen=True, slots=True)
class Retry(Middleware):
    """Asks `tries` times in all when the model server fails or does not answer in time. Other failures pass.

    Raises:
        UserError: A setting is too small.
    """

    tries: int = 3
    wait: float = 1.0
    """Seconds before the second try."""
    factor: float = 2.0
    """How much longer each wait is than the one before it."""
    most: float = 30.0
    """The longest wait in seconds."""
    sleep: Callable[[float], None] = field(default=_sleep, repr=False, compare=False)
    """How it waits: no part of the manifest."""
    name: ClassVar[str] = "retry"

    def __post_init__(self) -> None:
        require(self, {"tries": 1, "wait": 0, "factor": 1, "most": 0})

    def manifest(self) -> Mapping[str, Any]:
        """Name and settings."""
        return {"name": self.name, "tries": self.tries, "wait": self.wait, "factor": self.factor, "most": self.most}

    def ask(self, run: "LiveRun", purpose: Purpose, ask: Callable[[], Action]) -> Action:
        """Ask until an answer comes or the tries are used up.

        Raises:
            Fault: The last try failed, or it is nothing that passes.
        """
        wait = self.wait
        for number in range(1, self.tries):
            try:
                return ask()
            except Fault as fault:
                if fault.record.blame not in _PASSING:
                    raise
                _LOG.info("try %d of %d failed: %s", number, self.tries, fault)
            self.sleep(min(wait, self.most))
            wait *= self.factor
        return ask()
