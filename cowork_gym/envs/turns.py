"""One turn: from whatever an agent sent to a message that is safe to record, and from its calls to their results."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol

from cowork_gym.core.canonical import MAX_SIZE, check_id, check_value, encode, plain
from cowork_gym.core.episode import Dispatch, Turn
from cowork_gym.core.errors import ErrorKind, ToolError
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import InvalidAction, Message, ToolCall
from cowork_gym.envs.world import Outcome, World

__all__ = ["Caller", "Dispatcher", "as_text", "read_action", "recordable", "spoken"]

_RAW = 20_000  # characters kept of what was no message


class Caller(Protocol):
    """A way into a world: the world itself, or a door in front of it."""

    def call(self, tool: str, arguments: Mapping[str, Any], dispatch: str | None = None) -> Outcome:
        """Call a tool."""


def read_action(action: Any) -> Message:
    """An action as an assistant message whose text is safe.

    Raises:
        ToolError: It is no assistant message, or its text or a call's name or id cannot be kept.
    """
    if isinstance(action, InvalidAction):
        raise ToolError(action.reason, ErrorKind.INVALID_ACTION)
    try:
        message = Message.parse(action)
    except ToolError:
        raise
    except Exception as error:  # a mapping of another package's may raise anything when it is read
        raise ToolError(f"the action cannot be read: {type(error).__name__}", ErrorKind.INVALID_ACTION) from error
    if message.role != "assistant":
        raise ToolError(f"an action is an assistant message, not one of the role {message.role!r}", ErrorKind.INVALID_ACTION)
    if message.content is not None:
        check_value(message.content, what="the content")
    for at, one in enumerate(message.tool_calls):
        check_value(one.name, what=f"the name of tool_calls[{at}]")
        check_id(one.id, f"the id of tool_calls[{at}]")
    return message


def as_text(action: Any) -> str:
    """What an agent sent, as text that can be recorded, whatever it was."""
    try:
        text = action.text if isinstance(action, InvalidAction) else action if isinstance(action, str) else repr(action)
    except Exception:  # a repr may raise anything, RecursionError for one
        text = f"<{type(action).__name__}>"
    return str(text)[:_RAW].encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def spoken(action: Message | InvalidAction) -> Message:
    """An action as conversations have it: the message with its arguments as text, or the text of what was none."""
    return recordable(action) if isinstance(action, Message) else Message("assistant", as_text(action))


def recordable(message: Message) -> Message:
    """The message as it can be sealed, its arguments as text: nobody can change them afterwards.

    Arguments that no JSON text can hold give way to the reason why.
    """
    calls = tuple([ToolCall(one.name, _written(one), one.id) for one in message.tool_calls])
    return Message(message.role, message.content, calls)


def _written(call: ToolCall) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    try:
        return encode(call.arguments)
    except Exception as error:  # not JSON, too deep, or a mapping that raises when it is read
        return encode({"$refused": f"no JSON text can hold these arguments: {type(error).__name__}"})


class Dispatcher:
    """Runs the calls of an episode's messages, each under an id of its own.

    A call's id is its dispatch id where that is free. An id comes again for two reasons: servers number calls anew in each
    message, which means a new call, or a message is sent a second time because its answer was lost. The same call under the same id
    is such a retry if it was answered, stood in the last message (or just before, in this one), and nothing else was executed
    since. A retry returns the recorded result and executes nothing.

    Args:
        caller: The way into the world.
        turns: The turns so far, of the run whose messages these are.
        uses: How often each id was used in the whole episode; shared by its runs and counted on here.
    """

    def __init__(self, caller: Caller, turns: Sequence[Turn] = (), uses: Counter[str] | None = None) -> None:
        self._caller = caller
        self._uses = Counter[str]() if uses is None else uses
        self._recent: dict[str, Dispatch] = {}
        self._wires: list[str] = []
        self.done: list[Dispatch] = []
        """What the message's calls came to."""
        if turns:
            self._wires = [call.id or "" for call in (turns[-1].action.tool_calls if turns[-1].action else ())]
            self.done = [*turns[-1].dispatches]

    @property
    def taken(self) -> Set[str]:
        """The dispatch ids so far."""
        return self._uses.keys()

    def begin(self) -> None:
        """A new message begins."""
        self._recent, self._wires, self.done = dict(zip(self._wires, self.done, strict=False)), [], []

    def run(self, call: ToolCall, ledger: Ledger) -> None:
        """Run one call.

        Raises:
            Fault: The environment failed. The calls before it stand in `done`.
        """
        wire = call.id or ""
        try:
            if isinstance(call.arguments, str) and len(call.arguments) > MAX_SIZE:
                raise ToolError(f"{call.name}: the arguments are too large: more than {MAX_SIZE} characters")
            arguments = call.decoded()
            if wire in self._recent:
                arguments = plain(arguments, what=f"{call.name}: the arguments")  # they are compared before the world has checked them
        except ToolError as error:
            self.refuse(call, error)
            return
        key = self._retried(wire, call.name, arguments, ledger) or self._free(wire)
        outcome = self._caller.call(call.name, arguments, key)
        self._keep(wire, Dispatch(key, call.name, outcome.status, outcome.text, outcome.sequence, outcome.replayed))

    def answer(self, call: ToolCall, tool: Callable[[ToolCall, str], str], world: World) -> None:
        """Let the harness answer a call.

        Raises:
            Fault: What it needs for that failed.
        """
        wire, length = call.id or "", len(world.ledger)
        key = self._free(wire)
        self._uses[key] += 1  # what a child run dispatches meanwhile has other ids
        try:
            call.decoded()
            status, text = 200, tool(call, key)
        except ToolError as error:
            status, text = error.kind.status, encode(error.outcome())
        self._uses[key] -= 1
        self._keep(wire, Dispatch(key, call.name, status, text, inner=True))
        if len(world.ledger) > length:
            self._recent = {}

    def refuse(self, call: ToolCall, error: ToolError) -> None:
        """Note a call that is not run at all."""
        wire = call.id or ""
        self._keep(wire, Dispatch(self._free(wire), call.name, error.kind.status, encode(error.outcome())))

    def _keep(self, wire: str, dispatch: Dispatch) -> None:
        if not dispatch.replayed:
            self._uses[dispatch.id] += 1
            if dispatch.sequence is not None:
                self._recent = {}
        self._recent[wire] = dispatch
        self._wires.append(wire)
        self.done.append(dispatch)

    def _retried(self, wire: str, tool: str, arguments: Mapping[str, Any], ledger: Ledger) -> str | None:
        """The dispatch id of the call that this one repeats, if it does."""
        one = self._recent.get(wire)
        link = ledger.find(one.id) if one is not None and one.tool == tool and one.sequence is not None else None
        return link.dispatch if link is not None and link.repeats(tool, arguments) and not link.entry().failed else None

    def _free(self, wire: str) -> str:
        key = wire
        while key in self._uses:
            self._uses[wire] += 1  # so that the next one need not begin anew
            key = f"{wire}~{self._uses[wire]}"
        return key
