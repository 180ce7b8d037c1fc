"""Where an agent knew things from: each identifier that an episode uses, and what first showed it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cowork_gym.core.canonical import decode
from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import ToolError
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.synthesis.identifiers import Identifiers

__all__ = ["USER", "Use", "uses"]

USER = -1
"""As a source: the request, or something else that the user said."""


class Use(NamedTuple):
    """An identifier that the agent wrote."""

    identifier: str
    turn: int
    """Of the episode, from 0."""
    call: int | None
    """The call's number in the episode, from 0; None for what was said."""
    where: str
    """Such as `crm_get_customer.customer_id`, or `message`."""
    source: int | None
    """The number of the call whose result first showed it, `USER`, or None when nothing had shown it by then."""


def uses(episode: Episode, identifiers: Identifiers) -> tuple[Use, ...]:
    """Every identifier that the agent wrote, in order, each with its source.

    What a message writes must have been shown before the message: results of calls in the same message come too late.

    Args:
        episode: The record.
        identifiers: What counts as one.
    """
    shown: dict[str, int] = {}
    for message in episode.opening:
        _show(shown, identifiers, message, USER)
    found, calls = list[Use](), 0
    for turn in episode.turns:
        for place, value in _written(turn.said):
            call = None if place is None else calls + place[0]
            where = "message" if place is None else place[1]
            found += [Use(one, turn.index, call, where, shown.get(one)) for one in sorted(identifiers.within(value))]
        answered = 0
        for message in turn.observation:
            told = message.role == "tool"
            _show(shown, identifiers, message, calls + answered if told else USER)
            answered += told
        calls += len(turn.said.tool_calls)
    return tuple(found)


def _show(shown: dict[str, int], identifiers: Identifiers, message: Message, source: int) -> None:
    for one in identifiers.within(_read(message)):
        shown.setdefault(one, source)


def _read(message: Message) -> Any:
    """What a message says: a tool's result is a value, whose texts stand in it without escapes."""
    text = message.content or ""
    if message.role != "tool":
        return text
    try:
        return decode(text)
    except ValueError:
        return text


def _written(message: Message) -> Iterator[tuple[tuple[int, str] | None, Any]]:
    """What an agent's message writes: each argument with the call's place in it and its name, then the text."""
    for at, call in enumerate(message.tool_calls):
        for name, value in _arguments(call).items():
            yield (at, f"{call.name}.{name}"), value
    if message.content:
        yield None, message.content


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        return call.decoded()
    except ToolError:
        return {"arguments": call.arguments}
