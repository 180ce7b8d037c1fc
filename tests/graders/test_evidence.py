from collections.abc import Iterator, Mapping
from typing import Any

from grading_samples import CLOSED, OTHER, SOLVED, START, TICKET, UPDATE, evidence_of

from cowork_gym.core.snapshot import Change
from cowork_gym.graders import Evidence
from cowork_gym.graders.evidence import label

MADE = Change("helpdesk.tickets", "T-3", None, {"ticket_id": "T-3"})
GONE = Change("helpdesk.tickets", "T-2", OTHER, None)


class Watched(Mapping[str, Any]):
    """Starting rows that remember which tables were read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __getitem__(self, name: str) -> Any:
        self.read.append(name)
        return START[name]

    def __iter__(self) -> Iterator[str]:
        return iter(START)

    def __len__(self) -> int:
        return len(START)


def test_rows_are_those_of_the_final_state() -> None:
    evidence = evidence_of(changes=(CLOSED, MADE, GONE))
    assert evidence.row("helpdesk.tickets", "T-1") == SOLVED
    assert evidence.row("helpdesk.tickets", "T-2") is None
    assert evidence.row("helpdesk.tickets", "T-9") is None
    assert evidence.row("crm.customers", "C-1") is None
    assert evidence.rows("helpdesk.tickets") == {"T-1": SOLVED, "T-3": {"ticket_id": "T-3"}}
    assert evidence.rows("crm.customers") == {}
    assert START["helpdesk.tickets"]["T-1"] == TICKET


def test_files_are_text_or_none() -> None:
    evidence = evidence_of(changes=(Change("workspace.files", "out.csv", None, {"path": "out.csv", "content": ""}),))
    assert evidence.file("notes.md") == "Rotate the key."
    assert evidence.file("out.csv") == ""
    assert evidence.file("logo.png") is None
    assert evidence.file("missing") is None


def test_the_untouched_world_has_the_same_start_and_nothing_else() -> None:
    untouched = evidence_of(UPDATE, changes=(CLOSED,), answer="done").untouched()
    assert untouched.row("helpdesk.tickets", "T-1") == TICKET
    assert (untouched.changes, len(untouched.ledger), untouched.dispatches, untouched.answer) == ((), 0, (), None)


def test_refused_calls_are_no_calls() -> None:
    refused = ("helpdesk_get_ticket", {"ticket_id": "T-9"}, {"error": "no such ticket", "type": "not_found"})
    evidence = evidence_of(refused, ("helpdesk_get_ticket", {"ticket_id": "T-1"}))
    assert [entry.sequence for entry in evidence.calls("helpdesk_get_ticket")] == [2]
    assert [entry.sequence for entry in evidence.successes] == [2]


def test_audit_collections_have_aliases_and_one_service() -> None:
    sent = ("gmail_send_message", {"to": "a@x"}, None, "sent_messages", {"to": "a@x"})
    evidence = evidence_of(sent, UPDATE)
    assert [(entry.sequence, record) for entry, record in evidence.audited("gmail.sent")] == [(1, {"to": "a@x"})]
    assert evidence.audited("gmail.sent") == evidence.audited("gmail.sent_messages")
    assert evidence.audited("helpdesk.sent_messages") == ()
    assert len(evidence.audited("helpdesk.updated_tickets")) == 1


def test_tables_are_read_only_when_asked_for() -> None:
    watched = Watched()
    evidence = Evidence(watched, changes=(CLOSED,))
    assert evidence.row("helpdesk.tickets", "T-1") == SOLVED
    assert watched.read == []
    evidence.row("helpdesk.tickets", "T-2")
    assert set(watched.read) == {"helpdesk.tickets"}


def test_rows_and_files_are_cited_in_their_own_way() -> None:
    assert label("helpdesk.tickets", "T-1") == "row:helpdesk.tickets/T-1"
    assert label("workspace.files", "a/b.csv") == "file:a/b.csv"
