"""Checks of what the world became: one row, one file."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StringConstraints, model_validator

from cowork_gym.graders.checks.check import Check, Fields, MatcherField, Reference, TableName, Verdict
from cowork_gym.graders.evidence import FILES, Evidence, label
from cowork_gym.graders.matchers import mismatches, show

__all__ = ["FileContent", "RowState"]


class RowState(Check):
    """A row is there and has these fields in the end, or is not there."""

    kind: Literal["row_state"]
    table: TableName
    key: Annotated[str, StringConstraints(min_length=1)]
    fields: Fields = Field(default_factory=dict)
    exists: StrictBool = True

    @model_validator(mode="after")
    def _possible(self) -> "RowState":
        if self.fields and not self.exists:
            raise ValueError("a row that must not exist has no fields")
        return self

    def examine(self, evidence: Evidence) -> Verdict:
        """Read the row in the final state."""
        row, cited = evidence.row(self.table, self.key), (label(self.table, self.key),)
        name = f"{self.table}/{self.key}"
        if row is None or not self.exists:
            return Verdict((row is not None) is self.exists, f"{name} {'does not exist' if row is None else 'exists'}.", cited)
        problems = mismatches(self.fields, row)
        if problems:
            return Verdict(False, f"{name} is not as required: {'; '.join(problems)}.", cited)
        shown = ", ".join(f"{field} is {show(row.get(field))}" for field in self.fields)
        return Verdict(True, f"{name} is as required: {shown}." if shown else f"{name} exists.", cited)

    def references(self) -> Iterable[Reference]:
        """The row."""
        yield Reference("key", "row", self.table, self.key)


class FileContent(Check):
    """A file of the workspace is text, and the text is as required."""

    kind: Literal["file_content"]
    path: Annotated[str, StringConstraints(min_length=1)]
    content: MatcherField

    def examine(self, evidence: Evidence) -> Verdict:
        """Read the file in the final state."""
        text, cited = evidence.file(self.path), (label(FILES, self.path),)
        if text is None:
            missing = evidence.row(FILES, self.path) is None
            return Verdict(False, f"The file {self.path} {'does not exist' if missing else 'is not text'}.", cited)
        expected = self.content.describe()
        if self.content.matches(text):
            return Verdict(True, f"The file {self.path} is as required: {expected}.", cited)
        return Verdict(False, f"The file {self.path} is not as required: expected {expected}, found {show(text)}.", cited)

    def references(self) -> Iterable[Reference]:
        """The file."""
        yield Reference("path", "file", self.path)
