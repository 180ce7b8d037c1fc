"""What a service promises of optional arguments: each makes a difference, or its description says that it has no effect."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from cowork_gym.core.errors import Fault
from cowork_gym.core.ids import generator
from cowork_gym.envs.sampling import sample_arguments
from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Service, Tool
from cowork_gym.testing.demand import demand

__all__ = ["check_optional_arguments"]

_EXEMPT = "no effect"
_TRIES, _ENOUGH = 150, 20
"""How many pairs of calls are tried for an argument, and how many of them must have been answered before it is reported."""


def check_optional_arguments(worlds: Sequence[World], service: type[Service], *, seed: int = 0) -> None:
    """See that each optional argument of each tool makes a difference to result, audit record or state.

    From the same moment a tool is called with the argument and without it. Texts, numbers and days are sampled, or are some that the
    worlds' records have. An argument is reported when no pair of calls differed of which one was answered. A description with the
    words `no effect` exempts it, and nothing is said of a tool that hardly ever answers.

    Args:
        worlds: Where to begin, in turn; they stay as they are. What they lack cannot be found, so that filters need records that differ.
        service: The service.
        seed: Of the arguments.

    Raises:
        AssertionError: An argument has no effect; the text names it.
    """
    chance, values = generator(seed, service.name, "optional"), _Values(worlds)
    for tool in service.tools().values():
        needed = tool.parameters.get("required", ())
        for name in [one for one in tool.arguments if one not in needed]:
            if _EXEMPT not in tool.parameters["properties"][name].get("description", "").lower():
                _check_argument(worlds, tool, name, values, chance)


def _check_argument(worlds: Sequence[World], tool: Tool, name: str, values: "_Values", chance: Random) -> None:
    answered = 0
    for number in range(_TRIES):
        world, arguments = worlds[number % len(worlds)], values.arguments(tool, name, chance)
        given = _outcome(world, tool, arguments)
        without = _outcome(world, tool, {key: value for key, value in arguments.items() if key != name})
        if given and without and (given.answered or without.answered):
            if given != without:
                return
            answered += 1
    advice = f"give it an effect (or the suite records that show it), or say `{_EXEMPT}` where it is described"
    demand(answered < _ENOUGH, f"{tool.name}: the argument {name!r} made no difference in {answered} calls; {advice}")


class _Outcome(NamedTuple):
    """What a call comes to."""

    answered: bool
    text: str
    record: Mapping[str, Any] | None
    state: str


def _outcome(world: World, tool: Tool, arguments: Mapping[str, Any]) -> _Outcome | None:
    """What a call comes to from the world's present moment; None when it does not reach the tool, or the tool fails."""
    [fork] = world.fork()
    try:
        outcome = fork.call(tool.name, arguments)
        if outcome.sequence is None:
            return None
        return _Outcome(not fork.ledger[-1].failed, outcome.text, fork.ledger[-1].record, fork.fingerprint())
    except Fault:
        return None
    finally:
        fork.close()


class _Values:
    """Arguments made of what the worlds' records have."""

    def __init__(self, worlds: Sequence[World]) -> None:
        tables = [world.rows(table.public) for world in worlds for table in world.blueprint.tables.values()]
        self._keys = [key for rows in tables for key in rows]
        self._named: dict[str, list[Any]] = {}
        for rows in tables:
            for name, value in [item for row in rows.values() for item in row.items()]:
                self._named.setdefault(name, []).extend(value if isinstance(value, list) else [value])
        self._all = [value for values in self._named.values() for value in values]

    def arguments(self, tool: Tool, name: str, chance: Random) -> dict[str, Any]:
        """Arguments that a tool might take, one of this name among them and few of the other optional ones."""
        schema, needed = tool.parameters, tool.parameters.get("required", ())
        chosen = [one for one in tool.arguments if one == name or one in needed or chance.random() < 0.2]
        fields = {one: schema["properties"][one] for one in chosen}
        fields = {one: self._tuned(form, one) if chance.random() < 0.7 else form for one, form in fields.items()}
        return sample_arguments({**schema, "properties": fields, "required": chosen}, chance, self._keys)

    def _tuned(self, form: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """The schema of an argument, with examples from the records and from its own limits."""
        if "enum" in form or "examples" in form or "$ref" in form:
            return form
        examples = [value for variant in form.get("anyOf", [form]) for value in self._examples(variant, name)]
        return {**form, "examples": examples} if examples else form

    def _examples(self, form: Mapping[str, Any], name: str) -> list[Any]:
        kind = form.get("type")
        if kind == "array":
            items = [[one] for one in self._examples(form.get("items", {}), name)]
            return items if form.get("minItems") else [[], *items]
        if kind == "string":
            texts = [value for value in self._named.get(name, self._all) if isinstance(value, str)]
            days = [text[:10] for text in texts if text[4:5] == "-"]
            return days if form.get("format") == "date" else [*texts, *(f"{one} {other}" for one, other in pairwise(texts))]
        if kind not in {"integer", "number"}:
            return list(form.get("enum", ()))
        numbers = [value for value in self._all if isinstance(value, int | float | Decimal) and not isinstance(value, bool)]
        limits = [form[key] + step for key, step in (("minimum", 0), ("minimum", 1), ("maximum", 0)) if key in form]
        return [*limits, *([number for number in numbers if isinstance(number, int)] if kind == "integer" else numbers)]
