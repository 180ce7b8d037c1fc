"""A small help desk to grade: its starting rows, and short ways to write ledgers, dispatches and contracts."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from cowork_gym.core.episode import Dispatch
from cowork_gym.core.ledger import Effect, Ledger
from cowork_gym.core.snapshot import Change
from cowork_gym.core.task import Task
from cowork_gym.graders import Evidence
from cowork_gym.graders.checks import KINDS, Check, Verdict

TICKET = {"ticket_id": "T-1", "status": "open", "resolution": None, "tags": ["auth", "urgent"]}
OTHER = {"ticket_id": "T-2", "status": "open", "resolution": None, "tags": []}
MAIL = {"message_id": "m1", "subject": "Hello", "is_read": False}
START = {
    "helpdesk.tickets": {"T-1": TICKET, "T-2": OTHER},
    "gmail.messages": {"m1": MAIL},
    "workspace.files": {"notes.md": {"path": "notes.md", "content": "Rotate the key."}, "logo.png": {"path": "logo.png", "bytes": 12}},
}
SOLVED = {**TICKET, "status": "closed", "resolution": "Rotate the API key (KB-7)"}
MARKS = frozenset({("gmail.messages", "is_read")})
ALIASES = {"gmail.sent": "gmail.sent_messages"}


def ledger_of(*calls: tuple[Any, ...]) -> Ledger:
    """A ledger of `(tool, arguments, outcome, audit, record)`; what stands last may be left out."""
    ledger = Ledger()
    for number, call in enumerate(calls, 1):
        tool, arguments, outcome, audit, record = (*call, *(None,) * (5 - len(call)))
        ledger = ledger.append(
            time="2026-01-05T09:00:00Z", dispatch=f"call_{number}", service=tool.partition("_")[0], tool=tool, effect=Effect.READ,
            arguments=arguments or {}, status=200, outcome={"ok": True} if outcome is None else outcome, audit=audit, record=record,
            refusal=outcome["type"] if outcome and "error" in outcome else None,
        )
    return ledger


def evidence_of(*calls: tuple[Any, ...], changes: tuple[Change, ...] = (), answer: str | None = None, **fields: Any) -> Evidence:
    """The evidence of an episode in which these calls were made."""
    ledger = ledger_of(*calls)
    dispatches = tuple(dispatch(call[0], sequence=number) for number, call in enumerate(calls, 1))
    return Evidence(**{"start": START, "changes": changes, "ledger": ledger, "dispatches": dispatches, "answer": answer, "marks": MARKS,
                       "aliases": ALIASES, **fields})


def dispatch(tool: str, status: int = 200, sequence: int | None = None, replayed: bool = False) -> Dispatch:
    return Dispatch(f"call_{sequence or 'x'}", tool, status, "{}", sequence, replayed)


def check(kind: str, **fields: Any) -> Check:
    return KINDS[kind].model_validate({"kind": kind, "id": "it", **fields})


def verdict(evidence: Evidence, kind: str, **fields: Any) -> Verdict:
    return check(kind, **fields).evaluate(evidence)


READ_LIST = ("helpdesk_list_tickets", {})
READ_ONE = ("helpdesk_get_ticket", {"ticket_id": "T-1"})
UPDATE = ("helpdesk_update_ticket", {"ticket_id": "T-1", "status": "closed"}, {"ok": True}, "updated_tickets", SOLVED)
CLOSED = Change("helpdesk.tickets", "T-1", TICKET, SOLVED)

GRADING: Mapping[str, Any] = {
    "schema_version": 1,
    "checks": [
        {"kind": "tool_called", "id": "listed", "weight": 0.3, "tool": "helpdesk_list_tickets"},
        {"kind": "tool_called_with", "id": "opened", "weight": 0.3, "tool": "helpdesk_get_ticket", "arguments": {"ticket_id": "T-1"}},
        {"kind": "audit_record", "id": "updated", "weight": 0.4, "collection": "helpdesk.updated_tickets", "where": {"ticket_id": "T-1"}},
        {"kind": "unchanged", "id": "tidy", "allow": [{"table": "helpdesk.tickets", "key": "T-1", "fields": ["status", "resolution"]}]},
    ],
    "outcomes": [
        {"kind": "row_state", "id": "resolved", "table": "helpdesk.tickets", "key": "T-1",
         "fields": {"resolution": {"contains_all": ["rotate", "KB-7"]}}},
    ],
    "forbidden_tools": ["crm_export_report"],
}


def graded_task(grading: Mapping[str, Any] = GRADING) -> Task:
    return Task("D1", 1, "Desk", "Resolve T-1.", date(2026, 1, 5), ("helpdesk",), ("helpdesk_list_tickets",), grading=grading)


def with_checks(*checks: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """The sample contract with other checks."""
    return {**GRADING, "checks": list(checks), **fields}
