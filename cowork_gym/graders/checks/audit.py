"""Checks of the audit collections: the records that successful writes left there."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, StrictInt, model_validator

from cowork_gym.graders.checks.check import Check, CollectionName, Fields, Reference, Verdict, nearest_record
from cowork_gym.graders.evidence import Evidence, Row
from cowork_gym.graders.matchers import mismatches

__all__ = ["AuditAbsent", "AuditRecord"]

Records = list[tuple[str, Row]]


class AuditRecord(Check):
    """A collection has records like this, as many as are wanted."""

    kind: Literal["audit_record"]
    collection: CollectionName
    where: Fields = Field(default_factory=dict)
    min: Annotated[StrictInt, Field(ge=0)] = 1
    max: Annotated[StrictInt, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _bounded(self) -> "AuditRecord":
        if self.max is None and self.min == 0:
            raise ValueError("min 0 without max asks for nothing")
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max {self.max} is less than min {self.min}")
        return self

    def examine(self, evidence: Evidence) -> Verdict:
        """Count the records that match."""
        records, hits = _search(evidence, self.collection, self.where)
        cited = tuple(label for label, _ in hits)
        if self.max is not None and len(hits) > self.max:
            return Verdict(False, f"{self.collection} has {len(hits)} such records, at most {self.max} expected.", cited)
        if len(hits) >= self.min:
            return Verdict(True, f"{self.collection} has {len(hits)} such record{'s' if len(hits) != 1 else ''}.", cited)
        if hits or not records:
            return Verdict(False, f"{self.collection} has {len(hits) or 'no'} such record{'s' if len(hits) > 1 else ''}, {self.min} expected.", cited)
        label, problem = nearest_record(self.where, records)
        return Verdict(False, f"No record of {self.collection} is as required; in the nearest, {problem}.", (label,))

    def references(self) -> Iterable[Reference]:
        """The collection."""
        yield Reference("collection", "collection", self.collection)


class AuditAbsent(Check):
    """A collection has no record like this; without `where`, none at all."""

    kind: Literal["audit_absent"]
    collection: CollectionName
    where: Fields = Field(default_factory=dict)

    def examine(self, evidence: Evidence) -> Verdict:
        """Look for a record that must not be."""
        _, hits = _search(evidence, self.collection, self.where)
        if not hits:
            return Verdict(True, f"{self.collection} has no such record.")
        required = ", ".join(f"{name} is {matcher.describe()}" for name, matcher in self.where.items()) or "any record is one too many"
        return Verdict(False, f"{self.collection} has a record that must not be there: {required}.", tuple(label for label, _ in hits))

    def references(self) -> Iterable[Reference]:
        """The collection."""
        yield Reference("collection", "collection", self.collection)


def _search(evidence: Evidence, collection: str, where: Fields) -> tuple[Records, Records]:
    """All records of a collection, and those that match; each labelled with its call."""
    records = [(f"ledger:{entry.sequence}", record) for entry, record in evidence.audited(collection)]
    return records, [one for one in records if not mismatches(where, one[1])]
