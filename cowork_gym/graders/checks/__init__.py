"""The check kinds: frozen questions about the evidence, told apart by `kind`."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from cowork_gym.graders.checks.answer import Answer, Python
from cowork_gym.graders.checks.asked import Asked
from cowork_gym.graders.checks.audit import AuditAbsent, AuditRecord
from cowork_gym.graders.checks.calls import Event, Order, ToolCalled, ToolCalledWith
from cowork_gym.graders.checks.check import Check, Reference, Verdict
from cowork_gym.graders.checks.counts import RowCount
from cowork_gym.graders.checks.judge import Judged, Subject
from cowork_gym.graders.checks.state import FileContent, RowState
from cowork_gym.graders.checks.unchanged import Allowance, Unchanged

__all__ = [
    "KINDS", "Allowance", "Answer", "AnyCheck", "Asked", "AuditAbsent", "AuditRecord", "Check", "Event", "FileContent", "Judged",
    "Order", "Python", "Reference", "RowCount", "RowState", "Subject", "ToolCalled", "ToolCalledWith", "Unchanged", "Verdict",
]

AnyCheck = Annotated[
    Answer | Asked | AuditAbsent | AuditRecord | FileContent | Judged | Order | Python | RowCount | RowState | ToolCalled | ToolCalledWith
    | Unchanged,
    Field(discriminator="kind"),
]
"""A check of any kind."""

KINDS: Mapping[str, type[Check]] = {
    "answer": Answer, "asked": Asked, "audit_absent": AuditAbsent, "audit_record": AuditRecord, "file_content": FileContent, "judge": Judged,
    "order": Order, "python": Python, "row_count": RowCount, "row_state": RowState,
    "tool_called": ToolCalled, "tool_called_with": ToolCalledWith, "unchanged": Unchanged,
}
"""The model of each kind."""
