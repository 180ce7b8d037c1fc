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
    """The argument that takes the id."""
    id: str | None
    """None calls the tool without an id."""

    @property
    def needed(self) -> Mapping[str, Any]:
        """The schema of the arguments that cannot be left out."""
        properties = {name: self.parameters["properties"][name] for name in self.parameters.get("required", ())}
        return {**self.parameters, "properties": properties}

    @property
    def texts(self) -> frozenset[str]:
        """The arguments that take free text."""
        return frozenset(name for name, form in self.parameters["properties"].items() if name != self.argument and _takes_text(form))

    def call(self, arguments: Mapping[str, Any]) -> ToolCall:
        """The call with the id and these other arguments."""
        others = {name: value for name, value in arguments.items() if name != self.argument}
        if self.argument is None or self.id is None:
            return ToolCall(self.tool, others)
        alone = self.parameters["properties"][self.argument].get("type") != "array"
        return ToolCall(self.tool, {self.argument: self.id if alone else [self.id], **others})


class Frontier:
    """Each tool once without an id, where it needs none, and with every id that was seen.

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
        self._tried.update((one.tool, one.id) for one in probes)
        self._turns -= 1
        return probes

    def _untried(self, seen: Seen, *, fitting: bool) -> Iterator[Probe]:
        rounds = [self._of(function, seen, fitting) for function in self._functions]
        while rounds := [one for one in rounds if one]:  # each tool in turn, so that no tool uses up the budget
            yield from (one.pop(0) for one in rounds)

    def _of(self, function: Mapping[str, Any], seen: Seen, fitting: bool) -> list[Probe]:
        name, parameters = function["name"], function["parameters"]
        argument = next((one for one in parameters["properties"] if takes_id(one)), None)
        ids: list[str | None] = [] if argument in parameters.get("required", ()) else [None]
        if argument is not None:
            ids += seen.fitting(argument) if fitting else seen.ids
        return [Probe(name, parameters, argument, id) for id in ids if (name, id) not in self._tried]


def _takes_text(form: Mapping[str, Any]) -> bool:
    if variants := form.get("anyOf"):
        return any(map(_takes_text, variants))
    return form.get("type") == "string" and not form.keys() & {"const", "enum", "examples", "format", "pattern"}
