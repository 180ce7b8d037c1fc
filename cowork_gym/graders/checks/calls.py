"""Checks of what was called. A call that was refused does not count."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, StrictInt

from cowork_gym.core.ledger import Entry
from cowork_gym.graders.checks.check import Check, Clause, Fields, Reference, ToolName, Verdict, nearest_record, times
from cowork_gym.graders.evidence import Evidence
from cowork_gym.graders.matchers import mismatches

__all__ = ["Event", "Order", "ToolCalled", "ToolCalledWith"]


class ToolCalled(Check):
    """A tool was called, whatever its arguments."""

    kind: Literal["tool_called"]
    tool: ToolName
    min_calls: Annotated[StrictInt, Field(ge=1)] = 1

    def examine(self, evidence: Evidence) -> Verdict:
        """Count the calls."""
        calls = evidence.calls(self.tool)
        if len(calls) >= self.min_calls:
            return Verdict(True, f"{self.tool} was called {times(len(calls))}.", _cite(calls))
        return Verdict(False, _too_few(self.tool, len(calls), self.min_calls, evidence), _cite(calls))

    def references(self) -> Iterable[Reference]:
        """The tool."""
        yield Reference("tool", "tool", self.tool)


class ToolCalledWith(Check):
    """A tool was called with certain arguments; the arguments that are not named do not matter."""

    kind: Literal["tool_called_with"]
    tool: ToolName
    arguments: Annotated[Fields, Field(min_length=1)]

    def examine(self, evidence: Evidence) -> Verdict:
        """Look for a call whose arguments match."""
        calls = evidence.calls(self.tool)
        if not calls:
            return Verdict(False, _too_few(self.tool, 0, 1, evidence))
        hits = tuple(call for call in calls if not mismatches(self.arguments, call.arguments))
        if hits:
            return Verdict(True, f"{self.tool} was called with the required arguments ({', '.join(self.arguments)}).", _cite(hits))
        cited, problem = nearest_record(self.arguments, ((f"ledger:{call.sequence}", call.arguments) for call in calls))
        return Verdict(False, f"{self.tool} was called {times(len(calls))}, not as required: {problem}.", (cited,))

    def references(self) -> Iterable[Reference]:
        """The tool."""
        yield Reference("tool", "tool", self.tool)


class Event(Clause):
    """A call in an order of calls."""

    tool: ToolName
    arguments: Fields = Field(default_factory=dict)

    def is_met_by(self, call: Entry) -> bool:
        """Whether the call is of the tool and its arguments match."""
        return call.tool == self.tool and not mismatches(self.arguments, call.arguments)

    def __str__(self) -> str:
        listed = ", ".join(f"{name}: {matcher.describe()}" for name, matcher in self.arguments.items())
        return f"{self.tool}({listed})" if listed else self.tool


class Order(Check):
    """Calls happened in this order, with any others between them."""

    kind: Literal["order"]
    events: Annotated[tuple[Event, ...], Field(min_length=2)]

    def examine(self, evidence: Evidence) -> Verdict:
        """Find each event after the one before it."""
        calls, met = iter(evidence.successes), list[Entry]()
        for event in self.events:
            hit = next((call for call in calls if event.is_met_by(call)), None)
            if hit is None:
                after = f" after ledger:{met[-1].sequence}" if met else ""
                reason = f"No call of {event}{after}: it is number {len(met) + 1} of {len(self.events)} in the required order."
                return Verdict(False, reason, _cite(met))
            met.append(hit)
        return Verdict(True, f"{', '.join(event.tool for event in self.events)} happened in this order.", _cite(met))

    def references(self) -> Iterable[Reference]:
        """The tools."""
        for index, event in enumerate(self.events):
            yield Reference(f"events[{index}].tool", "tool", event.tool)


def _cite(calls: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(f"ledger:{call.sequence}" for call in calls)


def _too_few(tool: str, count: int, least: int, evidence: Evidence) -> str:
    refused = sum(entry.tool == tool and entry.failed for entry in evidence.ledger.entries)
    needed = f", needed {times(least)}" if least > 1 else ""
    return f"{tool} was {'never called' if not count else f'called {times(count)}'}{needed}{f' (refused {times(refused)})' if refused else ''}."
