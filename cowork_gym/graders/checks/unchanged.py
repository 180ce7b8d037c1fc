"""The whole-world check: nothing changed but what the task allows."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from cowork_gym.core.snapshot import Change
from cowork_gym.graders.checks.check import Check, Clause, Reference, TableName, Verdict
from cowork_gym.graders.evidence import FILES, Evidence, label

__all__ = ["Allowance", "Unchanged"]

_NAMED = 5


class Allowance(Clause):
    """A change that is allowed: of a table, of one of its rows, or of some fields of it."""

    table: TableName
    key: Annotated[str, StringConstraints(min_length=1)] | None = None
    fields: Annotated[frozenset[str], Field(min_length=1)] | None = None
    """Where given, only updates of these fields are allowed."""
    change: Literal["created", "updated", "deleted", "any"] = "any"

    @model_validator(mode="after")
    def _possible(self) -> "Allowance":
        if self.fields is not None and self.change in ("created", "deleted"):
            raise ValueError(f"fields are of an update: a {self.change} row has them all")
        return self

    def covers(self, change: Change) -> bool:
        """Whether the allowance is about this row and this sort of change."""
        sort = _sort(change)
        return change.table == self.table and self.key in (None, change.key) and self.change in ("any", sort) \
            and (self.fields is None or sort == "updated")


class Unchanged(Check):
    """Every row is as it was, save for what is allowed and for the marks that reading may set."""

    kind: Literal["unchanged"]
    allow: tuple[Allowance, ...] = ()

    def examine(self, evidence: Evidence) -> Verdict:
        """Compare the changes with what is allowed."""
        stray = tuple((change, fields) for change in evidence.own if (fields := self._beyond(change, evidence.marks)) is not None)
        if not stray:
            return Verdict(True, "Nothing changed that may not." if evidence.own else "Nothing changed.")
        named = ", ".join(_name(change, fields) for change, fields in stray[:_NAMED])
        more = f" and {len(stray) - _NAMED} more" if len(stray) > _NAMED else ""
        return Verdict(False, f"Changed without need: {named}{more}.", tuple(label(change.table, change.key) for change, _ in stray))

    def references(self) -> Iterable[Reference]:
        """The tables and rows that may change."""
        for index, one in enumerate(self.allow):
            if one.key is None:
                yield Reference(f"allow[{index}].table", "table", one.table)
            elif one.table == FILES:  # one that the agent is to write need not be there yet
                yield Reference(f"allow[{index}].key", "file", one.key)
            else:
                yield Reference(f"allow[{index}].key", "row", one.table, one.key)

    def _beyond(self, change: Change, marks: frozenset[tuple[str, str]]) -> frozenset[str] | None:
        """The fields that changed beyond what is allowed, or None when the change is allowed."""
        rules = [one for one in self.allow if one.covers(change)]
        if any(one.fields is None for one in rules):
            return None
        changed = change.fields()
        if _sort(change) != "updated" or not changed:  # a binary file of equal size changes without showing it in a field
            return changed
        beyond = changed.difference(*(one.fields or () for one in rules), (column for table, column in marks if table == change.table))
        return beyond or None


def _sort(change: Change) -> Literal["created", "updated", "deleted"]:
    if change.before is None:
        return "created"
    return "deleted" if change.after is None else "updated"


def _name(change: Change, fields: frozenset[str]) -> str:
    detail = f" ({', '.join(sorted(fields))})" if _sort(change) == "updated" and fields else ""
    return f"{change.table}/{change.key} {_sort(change)}{detail}"
