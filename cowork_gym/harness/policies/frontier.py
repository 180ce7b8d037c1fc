"""The frontier: which calls an agent without understanding has not tried yet, breadth first. `spray` and `read_everything` advance it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import Budgets
from cowork_gym.harness.policies.seen import Seen, takes_id

__all__ = ["Frontier", "Probe"]


class Probe(NamedTuple):
    """A call to try."""

    tool: str
    parameters: Mapping[str, Any]
    """The schema of the tool's arguments."""
    argument: str | None
    """The argument that is probed: one that takes an id, or else a text that the tool needs."""
    value: str | None
    """What to put there; None leaves it out."""

    @property
    def needed(self) -> Mapping[str, Any]:
        """The schema of the arguments that cannot be left out."""
        properties = {name: self.parameters["properties"][name] for name in self.parameters.get("required", ())}
        return {**self.parameters, "properties": properties}

    @property
    def texts(self) -> frozenset[str]:
        """The other arguments that take free text."""
        return frozenset(name for name, form in self.parameters["properties"].items() if name != self.argument and _takes_text(form))

    def call(self, others: Mapping[str, Any]) -> ToolCall:
        """The call, with these other arguments; whatever they have for the probed one is dropped."""
        arguments = {name: value for name, value in others.items() if name != self.argument}
        if self.argument is not None and self.value is not None:
            form = self.parameters["properties"][self.argument]
            arguments[self.argument] = [self.value] if form.get("type") == "array" else self.value[: form.get("maxLength")]
        return ToolCall(self.tool, arguments)


class Frontier:
    """Each tool with every id that was seen, and once without one where it needs none. A tool that needs a text gets the request's paragraphs.

    Args:
        tools: OpenAI tool schemas, in the order in which they take their turn.
        budgets: Those of the task. One turn and one call are kept for the answer.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]], budgets: Budgets) -> None:
        self._functions = [one["function"] for one in tools]
        self._turns, self._calls = budgets.turns - 1, budgets.calls - 1
        self._tried: set[tuple[str, str | None]] = set()

    def advance(self, seen: Seen) -> list[Probe]:
        """Everything that can be tried by now; nothing when all is tried or the budget nearly spent.

        Ids go first to arguments of the name under which they were seen, and to all others when none of these is left.
        """
        room = self._calls - len(self._tried) if self._turns > 0 else 0
        probes = [*islice(self._untried(seen, fitting=True), room)] or [*islice(self._untried(seen, fitting=False), room)]
        self._tried.update((one.tool, one.value) for one in probes)
        self._turns -= 1
        return probes

    def _untried(self, seen: Seen, *, fitting: bool) -> Iterator[Probe]:
        queues = [self._queue(function, seen, fitting) for function in self._functions]
        while queues := [one for one in queues if one]:  # the tools take turns, so that none uses up the budget
            yield from (one.pop(0) for one in queues)

    def _queue(self, function: Mapping[str, Any], seen: Seen, fitting: bool) -> list[Probe]:
        name, parameters = function["name"], function["parameters"]
        argument = _probed(parameters)
        values: list[str | None] = [] if argument in parameters.get("required", ()) else [None]
        if argument is not None and takes_id(argument):
            values += seen.fitting(argument) if fitting else seen.ids
        elif argument is not None:
            values += seen.paragraphs
        return [Probe(name, parameters, argument, value) for value in values if (name, value) not in self._tried]


def _probed(parameters: Mapping[str, Any]) -> str | None:
    properties, needed = parameters["properties"], parameters.get("required", ())
    return next((one for one in properties if takes_id(one)), None) or next((one for one in needed if _takes_text(properties[one])), None)


def _takes_text(form: Mapping[str, Any]) -> bool:
    if variants := form.get("anyOf"):
        return any(map(_takes_text, variants))
    return form.get("type") == "string" and not form.keys() & {"const", "enum", "examples", "format", "pattern"}
