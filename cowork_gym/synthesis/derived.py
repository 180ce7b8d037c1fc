"""Executions made from an execution: with calls left out, made twice or aimed elsewhere. Pure functions; nothing is played here."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.task import Execution

__all__ = ["Path", "appended", "astray", "beside", "calls_of", "doubled", "dropped", "leaves", "postponed", "put", "rewritten", "silenced", "spoken"]

Path = tuple[str | int, ...]
"""Where a value stands in a call's arguments, such as `("attendees", 0)`."""


def spoken(episode: Episode, name: str) -> Execution:
    """What an agent said in an episode, to the letter: a script's blanks are filled in, and calls have no ids."""
    return Execution(name, tuple(_plain(turn.said) for turn in episode.turns))


def _plain(said: Message) -> Message:
    return replace(said, tool_calls=tuple(ToolCall(one.name, one.decoded()) for one in said.tool_calls))


def calls_of(execution: Execution) -> tuple[ToolCall, ...]:
    """The calls in order. Their places here are the numbers by which the other functions know them."""
    return tuple(call for action in execution.actions for call in action.tool_calls)


def rewritten(execution: Execution, name: str, change: Callable[[int, ToolCall], Sequence[ToolCall]]) -> Execution:
    """An execution with each call replaced by some calls, or none. A message that loses all its calls goes with them."""
    number, actions = 0, list[Message]()
    for action in execution.actions:
        calls = list[ToolCall]()
        for call in action.tool_calls:
            calls += change(number, call)
            number += 1
        if calls or not action.tool_calls:
            actions.append(replace(action, tool_calls=tuple(calls)))
    return replace(execution, name=f"{execution.name}/{name}", actions=tuple(actions))


def dropped(execution: Execution, calls: Collection[int], name: str = "") -> Execution:
    """Without these calls; named after the first of them unless a name is given."""
    return rewritten(execution, name or _name("drop", execution, min(calls)), lambda number, call: [] if number in calls else [call])


def doubled(execution: Execution, call: int) -> Execution:
    """With one call made twice in a row."""
    return rewritten(execution, _name("double", execution, call), lambda number, one: [one, one] if number == call else [one])


def astray(execution: Execution, call: int, path: Path, value: Any) -> Execution:
    """With another value in one argument of one call."""
    name = f"{_name('astray', execution, call)}.{'.'.join(map(str, path))} {value}"
    return rewritten(execution, name, lambda number, one: [replace(one, arguments=put(one.decoded(), path, value)) if number == call else one])


def beside(execution: Execution, call: int, path: Path, value: Any) -> Execution:
    """With one call made a second time with another value in one argument."""
    name = f"{_name('beside', execution, call)}.{'.'.join(map(str, path))} {value}"
    return rewritten(execution, name, lambda number, one: [one, replace(one, arguments=put(one.decoded(), path, value))] if number == call else [one])


def appended(execution: Execution, call: ToolCall, name: str) -> Execution:
    """With one more call, in a message of its own before the last message."""
    *before, last = execution.actions or (Message("assistant", ""),)
    extra = Message("assistant", None, (call,))
    actions = (*before, last, extra) if last.tool_calls else (*before, extra, last)
    return replace(execution, name=f"{execution.name}/{name}", actions=actions)


def silenced(execution: Execution, turns: Collection[int], name: str) -> Execution:
    """Without the messages at these places."""
    return replace(execution, name=f"{execution.name}/{name}", actions=tuple(one for at, one in enumerate(execution.actions) if at not in turns))


def postponed(execution: Execution, turns: Collection[int], name: str) -> Execution:
    """With the messages at these places moved to the end, just before the last one."""
    *others, last = [one for at, one in enumerate(execution.actions) if at not in turns]
    late = [one for at, one in enumerate(execution.actions) if at in turns]
    return replace(execution, name=f"{execution.name}/{name}", actions=(*others, *late, last))


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value in a call's arguments that holds no others, with its place."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from leaves(item, (*path, at))
    else:
        yield path, value


def put(value: Any, path: Path, new: Any) -> Any:
    """A value with another one at a place inside it."""
    if not path:
        return new
    head, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {name: put(item, rest, new) if name == head else item for name, item in value.items()}
    return [put(item, rest, new) if at == head else item for at, item in enumerate(value)]


def _name(kind: str, execution: Execution, call: int) -> str:
    return f"{kind}:{call} {calls_of(execution)[call].name}"
