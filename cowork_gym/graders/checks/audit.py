"""Checks of the audit collections: the records that successful writes left there."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from cowork_gym.graders.checks.check import Check, CollectionName, Fields, Reference, Verdict
from cowork_gym.graders.checks.counts import Counted, matching
from cowork_gym.graders.evidence import Evidence, Row

__all__ = ["AuditAbsent", "AuditRecord"]

class AuditRecord(Counted):
    """A collection has records like this, as many as are wanted."""

    kind: Literal["audit_record"]
    collection: CollectionName

    def examine(self, evidence: Evidence) -> Verdict:
        """Count the records that match."""
        return self.count(self.collection, _records(evidence, self.collection))

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
        hits = matching(self.where, _records(evidence, self.collection))
        if not hits:
            return Verdict(True, f"{self.collection} has no such record.")
        required = ", ".join(f"{name} is {matcher.describe()}" for name, matcher in self.where.items()) or "any record is one too many"
        return Verdict(False, f"{self.collection} has a record that must not be there: {required}.", tuple(hits))

    def references(self) -> Iterable[Reference]:
        """The collection."""
        yield Reference("collection", "collection", self.collection)


def _records(evidence: Evidence, collection: str) -> dict[str, Row]:
    """The records of a collection, each labelled with its call."""
    return {f"ledger:{entry.sequence}": record for entry, record in evidence.audited(collection)}
