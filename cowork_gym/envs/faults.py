"""Faults by plan: which calls of a task fail, and how an agent reads of it."""

from collections.abc import Mapping
from typing import NamedTuple

from cowork_gym.core.errors import ErrorKind, ToolError
from cowork_gym.core.ledger import AGENT, Ledger

__all__ = ["LOST", "Met", "meet"]

LOST = ErrorKind.TIMEOUT
"""The kind under which a call stands in the ledger that did its work and whose answer was lost."""

_TEXTS = {
    "timeout_before": (ErrorKind.TIMEOUT, "no answer in time; the request may or may not have been carried out"),
    "timeout_after": (LOST, "no answer in time; the request may or may not have been carried out"),
    "transient": (ErrorKind.TRANSIENT, "the service is unavailable for a moment; nothing was done"),
    "rate_limit": (ErrorKind.RATE_LIMIT, "too many requests; nothing was done, try again"),
}
"""An agent cannot tell the two timeouts apart."""


class Met(NamedTuple):
    """A fault that a call meets."""

    tool: str
    kind: str

    @property
    def after(self) -> bool:
        """Whether the call does its work first."""
        return self.kind == "timeout_after"

    def error(self) -> ToolError:
        """What the agent reads."""
        kind, text = _TEXTS[self.kind]
        return ToolError(f"{self.tool}: {text}", kind)


def meet(plan: Mapping[tuple[str, int], str], tool: str, ledger: Ledger) -> Met | None:
    """The fault that a tool's next call meets, if one is planned.

    Args:
        plan: Kinds by tool and number of its executed call, from 1.
        tool: The tool.
        ledger: The calls so far.
    """
    if not any(name == tool for name, _ in plan):
        return None
    number = 1 + sum(entry.tool == tool and entry.actor == AGENT for entry in ledger.entries)
    kind = plan.get((tool, number))
    return None if kind is None else Met(tool, kind)
