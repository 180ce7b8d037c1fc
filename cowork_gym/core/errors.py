"""Errors: who is to blame, and who gets to read the text.

CoworkError
├── ToolError      a refusal whose text the agent reads; the world is as it was before
├── UserError      a mistake of the person at the keyboard: one line that names place and nearest valid choice
│   ├── PackageError   a task package (or another file of ours) that cannot be used
│   └── MissingExtra   a feature whose optional dependency is not installed
└── Fault          not the policy's doing: the episode is quarantined, its reward is None, never 0
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "Blame", "CoworkError", "ErrorKind", "Fault", "FaultRecord", "MissingExtra", "PackageError", "ToolError", "UserError", "nearest",
    "told",
]


class Blame(StrEnum):
    """The part of the system that failed. Only a policy's failure may become a reward."""

    POLICY = "policy"
    HARNESS = "harness"
    PROXY = "proxy"
    MODEL_SERVER = "model_server"
    SANDBOX = "sandbox"
    ENVIRONMENT = "environment"
    GRADER = "grader"
    TIMEOUT = "timeout"


class ErrorKind(StrEnum):
    """What kind of refusal a tool answered with. Each kind has one HTTP status."""

    NOT_FOUND = "not_found"
    INVALID_ACTION = "invalid_action"
    PERMISSION = "permission"
    UNKNOWN_TOOL = "unknown_tool"
    CONFLICT = "conflict"
    EPISODE_OVER = "episode_over"
    VALIDATION = "validation"
    RATE_LIMIT = "rate_limit"
    TRANSIENT = "transient"
    TIMEOUT = "timeout"

    @property
    def status(self) -> int:
        """The HTTP status. A missing record is an answer (200 with an `error`), as in Claw-Eval's services."""
        return _STATUS[self]


_STATUS = {
    ErrorKind.NOT_FOUND: 200, ErrorKind.INVALID_ACTION: 400, ErrorKind.PERMISSION: 403, ErrorKind.UNKNOWN_TOOL: 404, ErrorKind.CONFLICT: 409,
    ErrorKind.EPISODE_OVER: 410, ErrorKind.VALIDATION: 422, ErrorKind.RATE_LIMIT: 429, ErrorKind.TRANSIENT: 503, ErrorKind.TIMEOUT: 504,
}


class CoworkError(Exception):
    """The root of every error that this package raises on purpose."""


class ToolError(CoworkError):
    """A refusal whose text the agent reads; the call leaves no trace in the state."""

    def __init__(self, text: str, kind: ErrorKind = ErrorKind.VALIDATION) -> None:
        super().__init__(text)
        self.kind = kind

    def outcome(self) -> dict[str, str]:
        """What the agent sees in place of a result."""
        return {"error": str(self), "type": self.kind.value}


class UserError(CoworkError):
    """A mistake of the person at the keyboard, told in one line."""


class PackageError(UserError):
    """A file of ours that cannot be used.

    Args:
        path: The file, as its author knows it.
        where: Line or field inside the file, empty when the whole file is meant.
        problem: What is wrong, with the nearest valid choice where there is one.
    """

    def __init__(self, path: object, where: str, problem: str) -> None:
        self.path, self.where, self.problem = str(path), where, problem
        super().__init__(": ".join(part for part in (self.path, where, problem) if part))


class MissingExtra(UserError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, feature: str, install: str) -> None:
        super().__init__(f"{feature} is not installed: {install}")


class Fault(CoworkError):
    """A failure that is not the policy's: it quarantines the episode."""

    def __init__(self, blame: Blame, where: str, message: str) -> None:
        super().__init__(f"{blame}: {where}: {message}")
        self.record = FaultRecord(blame, where, message)


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """A fault as a value, for the episode and the grade."""

    blame: Blame
    where: str
    """The tool, check or file in which it happened."""
    message: str


def told(error: BaseException) -> str:
    """An exception of somebody else's as text: its class and what it says, if it can say anything."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def nearest(word: str, choices: Iterable[str]) -> str:
    """A hint for an unknown word: the nearest choice, or the list of a few.

    Returns:
        Text such as `did you mean 'tickets'?`, or `choose from a, b, c`.
    """
    known = sorted(choices)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
    return f"choose from {shown}" if known else "there is none to choose from"
