"""Checks that count records: as many as are wanted must match, and no more than are allowed."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field, StrictInt, model_validator

from cowork_gym.graders.checks.check import Check, Fields, Reference, TableName, Verdict, nearest_record
from cowork_gym.graders.evidence import Evidence, Row, label
from cowork_gym.graders.matchers import mismatches

__all__ = ["Counted", "RowCount", "matching"]


class Counted(Check):
    """How many records must match."""

    where: Fields = Field(default_factory=dict)
    min: Annotated[StrictInt, Field(ge=0)] = 1
    max: Annotated[StrictInt, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _bounded(self) -> "Counted":
        if self.max is None and self.min == 0:
            raise ValueError("min 0 without max asks for nothing")
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max {self.max} is less than min {self.min}")
        return self

    def count(self, name: str, records: Mapping[str, Row]) -> Verdict:
        """The verdict on the records of a table or collection, by label."""
        hits = matching(self.where, records)
        cited = tuple(hits)
        if self.max is not None and len(hits) > self.max:
            return Verdict(False, f"{name} has {len(hits)} such records, at most {self.max} expected.", cited)
        if len(hits) >= self.min:
            return Verdict(True, f"{name} has {len(hits)} such record{'s' if len(hits) != 1 else ''}.", cited)
        if hits or not records:
            return Verdict(False, f"{name} has {len(hits) or 'no'} such record{'s' if len(hits) > 1 else ''}, {self.min} expected.", cited)
        nearest, problem = nearest_record(self.where, records.items())
        return Verdict(False, f"No record of {name} is as required; in the nearest, {problem}.", (nearest,))


class RowCount(Counted):
    """A table ends with rows like this, as many as are wanted: for rows whose keys nobody knows beforehand."""

    kind: Literal["row_count"]
    table: TableName

    def examine(self, evidence: Evidence) -> Verdict:
        """Count the rows of the final state that match."""
        return self.count(self.table, {label(self.table, key): row for key, row in evidence.rows(self.table).items()})

    def references(self) -> Iterable[Reference]:
        """The table."""
        yield Reference("table", "table", self.table)


def matching(where: Fields, records: Mapping[str, Row]) -> dict[str, Row]:
    """The records that match, by label."""
    return {name: record for name, record in records.items() if not mismatches(where, record)}
