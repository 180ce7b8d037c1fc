"""Failure normalisation: whatever failed, the policy reads it in one form, with what to do about it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.episode import Turn
from cowork_gym.core.errors import ErrorKind
from cowork_gym.core.messages import Message
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.middleware.settings import require

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["Normalise"]

_OTHER = "error"
_FAILED = 400
"""The lowest HTTP status of a failure."""
_HINTS: Mapping[str, str] = {
    ErrorKind.NOT_FOUND: "check the id: list or search first",
    ErrorKind.INVALID_ACTION: "answer with a text, or with tool calls whose arguments are JSON objects",
    ErrorKind.PERMISSION: "this is not allowed; look for another way or say so",
    ErrorKind.UNKNOWN_TOOL: "use a tool from the list",
    ErrorKind.CONFLICT: "read the current state before you try again",
    ErrorKind.EPISODE_OVER: "no more calls are possible; give the final answer",
    ErrorKind.VALIDATION: "correct the arguments",
    ErrorKind.RATE_LIMIT: "try again",
    ErrorKind.TRANSIENT: "try again",
    ErrorKind.TIMEOUT: "check whether it was carried out before you try again",
    _OTHER: "try another way",
}


@dataclass(frozen=True, slots=True)
class Normalise(Middleware):
    """Shows each failure as `{"error", "type", "hint"}`: refused calls, errors of services and of the harness's tools, actions that were none.

    Results that are no failures stay as they are.

    Raises:
        UserError: A setting is too small.
    """

    most: int = 500
    """Characters of an error's text; what is longer is cut."""
    name: ClassVar[str] = "normalise"

    def __post_init__(self) -> None:
        require(self, {"most": 20})

    def show(self, run: "LiveRun", turn: Turn, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages, failures in the one form."""
        statuses = [_FAILED] if turn.invalid is not None else [one.status for one in turn.dispatches]
        statuses += [0] * len(messages)  # what answers no call is no failure
        return tuple([self._shown(message, status) for message, status in zip(messages, statuses, strict=False)])

    def _shown(self, message: Message, status: int) -> Message:
        text = message.content or ""
        outcome = _outcome(text)
        if status < _FAILED and (message.role != "tool" or outcome is None or outcome[1] == _OTHER):
            return message
        told, kind = outcome or (text, _OTHER)
        told = told if len(told) <= self.most else told[: self.most - 2] + " …"
        return replace(message, content=encode({"error": told, "type": kind, "hint": _HINTS[kind]}))


def _outcome(text: str) -> tuple[str, str] | None:
    """Text and kind of a failure as services and the harness tell it; None when it is told in another way, or is none."""
    try:
        value: Any = decode(text)
    except ValueError:
        return None
    if not isinstance(value, Mapping):
        return None
    told, kind = value.get("error"), value.get("type")
    return (told, kind) if isinstance(told, str) and isinstance(kind, str) and kind in _HINTS else None
