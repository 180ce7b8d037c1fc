from typing import Any

import pytest
from grading_samples import READ_LIST, READ_ONE, SOLVED, UPDATE, check, evidence_of, verdict
from pydantic import ValidationError

REFUSED = ("helpdesk_get_ticket", {"ticket_id": "T-1"}, {"error": "slow down", "type": "rate_limit"})
WRONG = ("helpdesk_get_ticket", {"ticket_id": "T-2"})
TWICE = (UPDATE, (*UPDATE[:4], {**SOLVED, "status": "open"}))


def test_tool_called() -> None:
    found = verdict(evidence_of(READ_ONE, READ_LIST, READ_ONE), "tool_called", tool="helpdesk_get_ticket", min_calls=2)
    assert found == (True, "helpdesk_get_ticket was called 2 times.", ("ledger:1", "ledger:3"))


@pytest.mark.parametrize(("calls", "least", "reason", "cited"), [
    ((), 1, "helpdesk_get_ticket was never called.", ()),
    ((REFUSED,), 1, "helpdesk_get_ticket was never called (refused once).", ()),
    ((READ_ONE, REFUSED), 2, "helpdesk_get_ticket was called once, needed 2 times (refused once).", ("ledger:1",)),
    ((READ_LIST,), 1, "helpdesk_get_ticket was never called.", ()),
])
def test_tool_not_called(calls: tuple[Any, ...], least: int, reason: str, cited: tuple[str, ...]) -> None:
    assert verdict(evidence_of(*calls), "tool_called", tool="helpdesk_get_ticket", min_calls=least) == (False, reason, cited)


def test_tool_called_with() -> None:
    found = verdict(evidence_of(WRONG, READ_ONE), "tool_called_with", tool="helpdesk_get_ticket", arguments={"ticket_id": "T-1"})
    assert found == (True, "helpdesk_get_ticket was called with the required arguments (ticket_id).", ("ledger:2",))


def test_tool_called_with_other_arguments_cites_the_nearest_call() -> None:
    near = ("helpdesk_update_ticket", {"ticket_id": "T-1", "status": "open"})
    far = ("helpdesk_update_ticket", {"ticket_id": "T-2", "status": "open"})
    found = verdict(evidence_of(far, near), "tool_called_with", tool="helpdesk_update_ticket", arguments={"ticket_id": "T-1", "status": "closed"})
    assert found == (False, 'helpdesk_update_ticket was called 2 times, not as required: status: expected "closed", found "open".', ("ledger:2",))


def test_tool_called_with_counts_no_refused_call() -> None:
    found = verdict(evidence_of(REFUSED), "tool_called_with", tool="helpdesk_get_ticket", arguments={"ticket_id": "T-1"})
    assert found == (False, "helpdesk_get_ticket was never called (refused once).", ())


def test_an_absent_argument_is_nothing() -> None:
    assert verdict(evidence_of(READ_ONE), "tool_called_with", tool="helpdesk_get_ticket", arguments={"limit": {"present": False}}).passed
    assert not verdict(evidence_of(READ_ONE), "tool_called_with", tool="helpdesk_get_ticket", arguments={"limit": 3}).passed


ORDER = {"events": [
    {"tool": "helpdesk_list_tickets"}, {"tool": "helpdesk_get_ticket", "arguments": {"ticket_id": "T-1"}}, {"tool": "helpdesk_update_ticket"},
]}


def test_order_allows_other_calls_between() -> None:
    found = verdict(evidence_of(READ_ONE, READ_LIST, WRONG, READ_ONE, READ_LIST, UPDATE), "order", **ORDER)
    assert found.passed
    assert found.evidence == ("ledger:2", "ledger:4", "ledger:6")
    assert found.reason == "helpdesk_list_tickets, helpdesk_get_ticket, helpdesk_update_ticket happened in this order."


@pytest.mark.parametrize(("calls", "reason", "cited"), [
    ((), "helpdesk_list_tickets: it is number 1", ()),
    ((READ_ONE, READ_LIST, UPDATE), 'helpdesk_get_ticket(ticket_id: "T-1") after ledger:2: it is number 2', ("ledger:2",)),
    ((READ_LIST, REFUSED, UPDATE), 'helpdesk_get_ticket(ticket_id: "T-1") after ledger:1: it is number 2', ("ledger:1",)),
    ((READ_LIST, UPDATE, READ_ONE), "helpdesk_update_ticket after ledger:3: it is number 3", ("ledger:1", "ledger:3")),
])
def test_another_order(calls: tuple[Any, ...], reason: str, cited: tuple[str, ...]) -> None:
    assert verdict(evidence_of(*calls), "order", **ORDER) == (False, f"No call of {reason} of 3 in the required order.", cited)


def test_one_call_is_not_two_events() -> None:
    events = [{"tool": "helpdesk_get_ticket"}, {"tool": "helpdesk_get_ticket"}]
    assert not verdict(evidence_of(READ_ONE), "order", events=events).passed
    assert verdict(evidence_of(READ_ONE, READ_ONE), "order", events=events).passed


RECORD = {"collection": "helpdesk.updated_tickets", "where": {"ticket_id": "T-1", "status": "closed"}}


def test_audit_record() -> None:
    assert verdict(evidence_of(READ_ONE, UPDATE), "audit_record", **RECORD) == (True, "helpdesk.updated_tickets has 1 such record.", ("ledger:2",))


@pytest.mark.parametrize(("calls", "bounds", "reason", "cited"), [
    ((READ_ONE,), {}, "helpdesk.updated_tickets has no such record, 1 expected.", ()),
    ((TWICE[1],), {}, 'No record of helpdesk.updated_tickets is as required; in the nearest, status: expected "closed", found "open".',
     ("ledger:1",)),
    ((UPDATE,), {"min": 2}, "helpdesk.updated_tickets has 1 such record, 2 expected.", ("ledger:1",)),
    ((UPDATE, UPDATE), {"max": 1}, "helpdesk.updated_tickets has 2 such records, at most 1 expected.", ("ledger:1", "ledger:2")),
    (((*UPDATE[:2], {"error": "no", "type": "conflict"}, *UPDATE[3:]),), {}, "helpdesk.updated_tickets has no such record, 1 expected.", ()),
])
def test_audit_record_missing(calls: tuple[Any, ...], bounds: dict[str, int], reason: str, cited: tuple[str, ...]) -> None:
    assert verdict(evidence_of(*calls), "audit_record", **RECORD, **bounds) == (False, reason, cited)


def test_audit_record_may_ask_for_none() -> None:
    assert verdict(evidence_of(), "audit_record", **RECORD, min=0, max=0) == (True, "helpdesk.updated_tickets has 0 such records.", ())


def test_audit_collections_go_by_their_aliases() -> None:
    sent = ("gmail_send_message", {}, None, "sent_messages", {"to": "a@x"})
    assert verdict(evidence_of(sent), "audit_record", collection="gmail.sent", where={"to": "a@x"}).evidence == ("ledger:1",)


def test_audit_absent() -> None:
    assert verdict(evidence_of(TWICE[1]), "audit_absent", **RECORD) == (True, "helpdesk.updated_tickets has no such record.", ())
    found = verdict(evidence_of(READ_ONE, *TWICE), "audit_absent", **RECORD)
    assert found == (False, 'helpdesk.updated_tickets has a record that must not be there: ticket_id is "T-1", status is "closed".', ("ledger:2",))
    found = verdict(evidence_of(*TWICE), "audit_absent", collection="helpdesk.updated_tickets")
    assert found == (False, "helpdesk.updated_tickets has a record that must not be there: any record is one too many.", ("ledger:1", "ledger:2"))


def test_why_is_told_when_a_check_fails() -> None:
    assert verdict(evidence_of(), "tool_called", tool="kb_search", why="the procedure is there").reason.endswith(" (the procedure is there)")
    assert "procedure" not in verdict(evidence_of(("kb_search", {})), "tool_called", tool="kb_search", why="the procedure is there").reason


@pytest.mark.parametrize(("kind", "fields"), [
    ("tool_called", {"tool": "x", "min_calls": 0}), ("tool_called", {"tool": "x", "min_calls": True}), ("tool_called", {"tool": ""}),
    ("tool_called_with", {"tool": "x", "arguments": {}}), ("order", {"events": [{"tool": "x"}]}),
    ("audit_record", {"collection": "updated_tickets"}), ("audit_record", {"collection": "a.b", "min": 0}),
    ("audit_record", {"collection": "a.b", "min": 2, "max": 1}), ("tool_called", {"tool": "x", "weight": "0.3"}),
    ("tool_called", {"tool": "x", "weight": -0.1}), ("tool_called", {"tool": "x", "weight": True}),
])
def test_checks_that_ask_for_nothing_are_refused(kind: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        check(kind, **fields)
