"""The check of what the user was asked: a fact counts when the user told it, however the question was worded."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import StringConstraints

from cowork_gym.graders.checks.check import Check, Reference, ToolName, Verdict
from cowork_gym.graders.evidence import Evidence

__all__ = ["Asked"]


class Asked(Check):
    """The user told a fact, before some work was done if need be."""

    kind: Literal["asked"]
    fact: Annotated[str, StringConstraints(min_length=1)]
    """A fact or a correction of the task's dialogue, by id."""
    before: ToolName | None = None
    """A tool whose first call must come after that; no call at all does too."""

    def examine(self, evidence: Evidence) -> Verdict:
        """Look for the first time that the fact was told."""
        told = min((one.sequence for one in evidence.heard if one.fact == self.fact), default=None)
        if told is None:
            return Verdict(False, f"The user never told {self.fact!r}.")
        first = next(iter(evidence.calls(self.before)), None) if self.before else None
        if first is None:
            return Verdict(True, f"The user told {self.fact!r}.")
        verb = "after" if first.sequence > told else "before"
        return Verdict(first.sequence > told, f"{self.before} was first called {verb} the user told {self.fact!r}.", (f"ledger:{first.sequence}",))

    def references(self) -> Iterable[Reference]:
        """The tool."""
        if self.before:
            yield Reference("before", "tool", self.before)
