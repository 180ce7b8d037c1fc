"""Tracing: what happens in a rollout, as JSON lines that can be watched while it goes on. Sizes only: no text of the conversation."""

import errno
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.trajectory import Generation
from cowork_gym.harness.middleware.middleware import Middleware

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cowork_gym.envs.session import Session
    from cowork_gym.harness.policies.policy import Policy
    from cowork_gym.harness.run import LiveRun

__all__ = ["Trace"]

_LOG = logging.getLogger(__name__)
_FAILED = 400
"""The lowest HTTP status of a failure."""
_TOLD: "WeakSet[Session]" = WeakSet()
"""Episodes of which it was said that lines are missing."""


@dataclass(frozen=True, slots=True)
class Trace(Middleware):
    """Appends a line to a file for each start, generation, turn, rewrite and end, each in one write, so that rollouts may share the file.

    A file that cannot be written is refused before anything is played. One that no longer can is told of in the log, once an episode, and stops
    nothing.
    """

    path: str | Path
    """Not in the manifest: where the lines go changes nothing in what is played."""
    name: ClassVar[str] = "trace"

    def manifest(self) -> Mapping[str, Any]:
        """The name."""
        return {"name": self.name}

    def lacks(self, policy: "Policy", tools: "Sequence[str]") -> str | None:
        """A file that can be written."""
        try:
            self._append(b"")  # a full device refuses even that
        except (OSError, ValueError) as error:
            return f"a file that it can write: {self.path}: {getattr(error, 'strerror', None) or error}"
        return None

    def note(self, run: "LiveRun", event: str, **what: Any) -> None:
        """Append a line."""
        session, size = run.session, {"messages": len(run.view.messages), "tokens": run.size}
        line = {
            "seconds": round(session.seconds, 6), "task": session.task.id, "seed": session.world.seed, "policy": run.policy.name, "run": run.number,
            "event": event, **size, **_details(what),
        }
        try:
            self._append(f"{encode(line)}\n".encode())
        except OSError as error:
            if session not in _TOLD:
                _TOLD.add(session)
                _LOG.warning("the trace %s misses lines of %s, seed %s: %s", self.path, session.task.id, session.world.seed, error.strerror)

    def _append(self, line: bytes) -> None:
        # Opening a pipe that nobody reads would wait for ever; writing to one that is read may wait.
        file = os.open(self.path, os.O_APPEND | os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK, 0o644)
        try:
            os.set_blocking(file, True)
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)


def _details(what: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is told of an event, beside what every line has."""
    told: dict[str, Any] = {}
    for name, value in what.items():
        if isinstance(value, Generation):
            told |= _of_generation(value)
        elif isinstance(value, Turn):
            failed = sum(one.status >= _FAILED for one in value.dispatches)
            told |= {"turn": value.index, "calls": [one.tool for one in value.dispatches], "failed": failed}
        elif isinstance(value, Episode):
            told |= {"ending": value.ending, "reward": value.grade and value.grade.reward}
        elif name in ("kind", "by"):
            told[name] = value
        elif name in ("before", "after"):
            told[name] = len(value)
    return told


def _of_generation(one: Generation) -> Mapping[str, Any]:
    tokens = one.tokens and {"context": len(one.tokens.context), "sampled": len(one.tokens.ids)}
    return {"generation": one.index, "purpose": one.purpose, "finish": one.finish, **(tokens or {})}
