"""Negatives that depart from a reference: a few edits in place of a second copy of the whole execution."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field, model_validator

from cowork_gym.core.errors import nearest
from cowork_gym.core.messages import Message, ToolCall, final, message
from cowork_gym.envs.package_files import Shape, Text

__all__ = ["Edit", "edited"]

_PLACE = re.compile(r"([A-Za-z0-9_]+)(?:#([1-9][0-9]{0,5}))?")


class Edit(Shape):
    """One edit: `drop`, `change`, `add`, `swap` or `final`."""

    drop: Text | None = None
    change: Text | None = None
    add: Text | None = None
    swap: Annotated[dict[Text, str], Field(min_length=1)] | None = None
    final: str | None = None
    arguments: dict[str, Any] | None = None
    before: Text | None = None
    after: Text | None = None

    @model_validator(mode="after")
    def _one(self) -> "Edit":
        kinds = [name for name in ("drop", "change", "add", "swap", "final") if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError("an edit is one of drop, change, add, swap and final")
        allowed = {"change": {"arguments"}, "add": {"arguments", "before", "after"}}.get(kinds[0], set())
        for name in ("arguments", "before", "after"):
            if getattr(self, name) is not None and name not in allowed:
                raise ValueError(f"{kinds[0]} takes no {name}")
        if self.change is not None and not self.arguments:
            raise ValueError("change needs arguments")
        if self.before is not None and self.after is not None:
            raise ValueError("give before or after, not both")
        return self


@dataclass(frozen=True, slots=True)
class _Placed:
    """Calls of an execution by tool, with their number among the calls of that tool."""

    tool: str
    number: int | None

    @classmethod
    def read(cls, text: str, actions: Sequence[Message]) -> "_Placed":
        """What `crm_get_customer#2` means.

        Raises:
            ValueError: There is no such call.
        """
        found = _PLACE.fullmatch(text)
        counts: dict[str, int] = {}
        for one in actions:
            for call in one.tool_calls:
                counts[call.name] = counts.get(call.name, 0) + 1
        tool = found[1] if found else text
        if tool not in counts:
            raise ValueError(f"the execution calls no {text!r}, {nearest(tool, counts)}")
        number = int(found[2]) if found and found[2] else None
        if number is not None and number > counts[tool]:
            raise ValueError(f"the execution calls {tool} {counts[tool]} times, not {number}")
        return cls(tool, number)


def edited(actions: Sequence[Message], edits: Sequence[Edit]) -> tuple[Message, ...]:
    """An execution after some edits, which are made one after the other.

    Raises:
        ValueError: An edit names a call that is not there, or a text to swap that does not occur.
    """
    for edit in edits:
        actions = _apply(tuple(actions), edit)
    return tuple(actions)


def _apply(actions: tuple[Message, ...], edit: Edit) -> tuple[Message, ...]:
    if edit.final is not None:
        ends = bool(actions) and not actions[-1].tool_calls
        return (*(actions[:-1] if ends else actions), final(edit.final))
    if edit.swap is not None:
        return _swapped(actions, edit.swap)
    if edit.add is not None:
        return _added(actions, edit)
    place = _Placed.read(edit.drop or edit.change or "", actions)
    return _mapped(actions, place, None if edit.drop else edit.arguments or {})


def _mapped(actions: tuple[Message, ...], place: _Placed, arguments: Mapping[str, Any] | None) -> tuple[Message, ...]:
    """The actions with other arguments for the calls meant, or without these calls. A message that loses all its calls goes with them."""
    seen, kept = 0, list[Message]()
    for one in actions:
        calls = list[ToolCall]()
        for call in one.tool_calls:
            seen += call.name == place.tool
            if call.name != place.tool or place.number not in (None, seen):
                calls.append(call)
            elif arguments is not None:
                calls.append(replace(call, arguments=_merged(call.decoded(), arguments)))
        if calls or not one.tool_calls:
            kept.append(replace(one, tool_calls=tuple(calls)))
    return tuple(kept)


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with some of them replaced; null takes one away."""
    return {name: value for name, value in {**old, **new}.items() if value is not None}


def _added(actions: tuple[Message, ...], edit: Edit) -> tuple[Message, ...]:
    extra = message(None, ToolCall(edit.add or "", edit.arguments or {}))
    at = len(actions) - (bool(actions) and not actions[-1].tool_calls)
    if (where := edit.before or edit.after) is not None:
        place, seen = _Placed.read(where, actions), 0
        for index, one in enumerate(actions):
            seen += sum(call.name == place.tool for call in one.tool_calls)
            if seen >= (place.number or 1):
                at = index + (edit.after is not None)
                break
    return (*actions[:at], extra, *actions[at:])


def _swapped(actions: tuple[Message, ...], texts: Mapping[str, str]) -> tuple[Message, ...]:
    pattern, found = re.compile("|".join(re.escape(one) for one in sorted(texts, key=len, reverse=True))), set[str]()

    def put(value: Any) -> Any:
        if isinstance(value, str):
            found.update(pattern.findall(value))
            return pattern.sub(lambda match: texts[match[0]], value)
        if isinstance(value, Mapping):
            return {put(key): put(one) for key, one in value.items()}
        return [put(one) for one in value] if isinstance(value, list | tuple) else value

    done = tuple(
        replace(one, content=put(one.content), tool_calls=tuple(replace(call, arguments=put(call.arguments)) for call in one.tool_calls))
        for one in actions
    )
    if missing := [one for one in texts if one not in found]:
        raise ValueError(f"nothing to swap: {missing[0]!r} does not occur in the execution")
    return done
