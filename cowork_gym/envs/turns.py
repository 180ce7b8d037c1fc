"""One turn: from whatever an agent sent to a message that is safe to record, and from its calls to their results."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from cowork_gym.core.canonical import MAX_SIZE, check_value, encode
from cowork_gym.core.episode import Dispatch
from cowork_gym.core.errors import ErrorKind, ToolError
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.envs.world import Outcome

__all__ = ["Caller", "dispatch_call", "read_action", "recordable", "refusal"]


class Caller(Protocol):
    """A way into a world: the world itself, or a door in front of it."""

    def call(self, tool: str, arguments: Mapping[str, Any], dispatch: str | None = None) -> Outcome:
        """Call a tool."""


def read_action(action: Any) -> Message:
    """An action as an assistant message whose text is safe.

    Raises:
        ToolError: It is no assistant message, or its text or a call's name or id cannot be kept.
    """
    message = Message.parse(action)
    if message.role != "assistant":
        raise ToolError(f"an action is an assistant message, not one of the role {message.role!r}", ErrorKind.INVALID_ACTION)
    if message.content is not None:
        check_value(message.content, what="the content")
    for at, one in enumerate(message.tool_calls):
        check_value([one.name, one.id], what=f"name or id of tool_calls[{at}]")
    return message


def recordable(message: Message, dispatches: Sequence[Dispatch]) -> Message:
    """The message as it can be sealed: arguments that no JSON text can hold give way to the reason why.

    Args:
        message: What the agent sent.
        dispatches: What its calls came to, as far as they were run. Arguments that reached a service are in order.
    """
    if len(dispatches) == len(message.tool_calls) and all(one.sequence is not None for one in dispatches):
        return message
    return replace(message, tool_calls=tuple(_recordable(one) for one in message.tool_calls))


def dispatch_call(call: ToolCall, caller: Caller, ledger: Ledger) -> Dispatch:
    """Run one call.

    Its id is the dispatch id. An id that was used for another call is made unique: models that number their calls anew in
    each message mean a new call, not a retry.

    Raises:
        Fault: The environment failed.
    """
    id = call.id or ""
    try:
        if isinstance(call.arguments, str) and len(call.arguments) > MAX_SIZE:
            raise ToolError(f"{call.name}: the arguments are too large: more than {MAX_SIZE} characters")
        arguments = call.decoded()
        key = _unused(id, call.name, arguments, ledger)
    except ToolError as error:
        return Dispatch(id, call.name, error.kind.status, encode(error.outcome()))
    outcome = caller.call(call.name, arguments, key)
    return Dispatch(key, call.name, outcome.status, outcome.text, outcome.sequence, outcome.replayed)


def refusal(call: ToolCall, error: ToolError) -> Dispatch:
    """The dispatch of a call that is not run at all."""
    return Dispatch(call.id or "", call.name, error.kind.status, encode(error.outcome()))


def _unused(id: str, tool: str, arguments: Mapping[str, Any], ledger: Ledger) -> str:
    key, again = id, 1
    while (link := ledger.find(key)) is not None:
        check_value(arguments, what=f"{tool}: the arguments")
        if link.repeats(tool, arguments):
            return key
        again += 1
        key = f"{id}~{again}"
    return key


def _recordable(call: ToolCall) -> ToolCall:
    try:
        check_value(call.arguments, what="the arguments")
    except ToolError as error:
        return replace(call, arguments={"$refused": str(error)})
    return call
