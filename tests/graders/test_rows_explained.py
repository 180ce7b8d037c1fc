"""Rows that changed, and the calls that could have changed them."""

from dataclasses import replace
from typing import Any

import pytest
from grading_samples import MAIL, OTHER, START, TICKET, dispatch
from grading_samples import evidence_of as sample

from cowork_gym.core.ledger import ENVIRONMENT, Effect, Ledger
from cowork_gym.core.snapshot import Change
from cowork_gym.graders import Evidence
from cowork_gym.graders.reconcile import contradiction

T1 = Change("helpdesk.tickets", "T-1", TICKET, {**TICKET, "status": "closed"})
T2 = Change("helpdesk.tickets", "T-2", OTHER, {**OTHER, "status": "closed"})
SENT = Change("gmail.messages", "m1", MAIL, {**MAIL, "subject": "Other"})
READ = Change("gmail.messages", "m1", MAIL, {**MAIL, "is_read": True})
NOTES = Change("workspace.files", "notes.md", START["workspace.files"]["notes.md"], None)
CLOSE = {"tool": "helpdesk_close_ticket", "arguments": {"ticket_id": "T-1"}, "audit": "closed", "record": {"ticket_id": "T-1"}}


def of(*calls: dict[str, Any], changes: tuple[Change, ...] = (), **fields: Any) -> Evidence:
    """The evidence of writing calls, as told by what differs from a plain one."""
    ledger, dispatches = Ledger(), list[Any]()
    for number, call in enumerate(calls, 1):
        plain = {"time": "t", "dispatch": f"call_{number}", "service": call["tool"].partition("_")[0], "effect": Effect.WRITE, "arguments": {},
                 "status": 200, "outcome": {"ok": True}, "audit": None, "record": None, "refusal": None}
        ledger = ledger.append(**{**plain, **call})
        if call.get("actor") != ENVIRONMENT:
            dispatches.append(dispatch(call["tool"], sequence=number, status=call.get("status", 200)))
    return replace(sample(), ledger=ledger, dispatches=tuple(dispatches), changes=changes, **fields)


def told(change: Change) -> str:
    return f"{change.table}/{change.key} changed, though no writing call that succeeded names it"


def test_a_row_is_explained_by_the_call_that_names_it():
    assert contradiction(of(CLOSE, changes=(T1,))) is None
    assert contradiction(of({**CLOSE, "arguments": {}, "record": {}, "outcome": {"ids": ["T-1"]}}, changes=(T1,))) is None


@pytest.mark.parametrize("change", [T2, SENT, NOTES, Change("helpdesk.tickets", "T-9", None, {"ticket_id": "T-9"}), Change("x.y", "1", None, TICKET)])
def test_one_write_does_not_excuse_another_row(change):
    assert contradiction(of(CLOSE, changes=(T1, change))) == told(change)


@pytest.mark.parametrize("call", [
    {**CLOSE, "effect": Effect.READ}, {**CLOSE, "refusal": "conflict", "status": 409, "record": None, "audit": None},
    {**CLOSE, "tool": "crm_close", "service": "crm"}, {**CLOSE, "actor": ENVIRONMENT, "dispatch": ""},
    {**CLOSE, "arguments": {"note": 'about "T-1" and T-1'}, "record": {}},
])
def test_what_cannot_have_changed_a_row_does_not_explain_it(call):
    assert contradiction(of(call, changes=(T1,))) == told(T1)


def test_a_lost_answer_explains_what_was_done():
    lost = {**CLOSE, "refusal": "timeout", "status": 504, "outcome": {"error": "no answer", "type": "timeout"}}
    assert contradiction(of(lost, changes=(T1,))) is None
    assert contradiction(of({**lost, "audit": None, "record": None}, changes=(T1,))) == told(T1)


def test_a_tool_without_audit_record_may_not_tell_what_it_changed():
    silent = {"tool": "helpdesk_close_all"}
    assert contradiction(of(silent, changes=(T1, T2))) is None
    assert contradiction(of({**silent, "arguments": {"ticket_id": "T-1"}}, changes=(T1, T2))) == told(T2)
    assert contradiction(of({**silent, "audit": "closed", "record": {"number": 2}}, changes=(T1, T2))) == told(T1)
    assert contradiction(of(silent, changes=(SENT,))) == told(SENT)


def test_a_key_that_is_a_number_is_found_as_one():
    row = Change("helpdesk.tickets", "7", None, {"ticket_id": 7})
    assert contradiction(of({**CLOSE, "record": {"ticket_id": 7}}, changes=(row,))) is None
    assert contradiction(of({**CLOSE, "record": {"ticket_id": 17}}, changes=(row,))) == told(row)


def test_a_file_is_explained_by_the_call_that_has_its_path():
    assert contradiction(of({"tool": "crm_export", "outcome": "saved as notes.md", "audit": "exports", "record": {}}, changes=(NOTES,))) is None
    assert contradiction(of(changes=(NOTES,))) == told(NOTES)


def test_a_mark_is_explained_by_a_reading_call():
    read = {"tool": "gmail_get_message", "effect": Effect.READ, "arguments": {"message_id": "m1"}}
    assert contradiction(of(read, changes=(READ,))) is None
    assert contradiction(of({**read, "refusal": "timeout", "status": 504}, changes=(READ,))) is None
    refused = of({**read, "refusal": "conflict", "status": 409}, changes=(READ,))
    assert contradiction(refused) == "gmail.messages/m1 was marked, though no call names it"
    assert contradiction(of(read, changes=(SENT,))) == told(SENT)


def test_what_the_world_changed_is_not_held_against_the_calls():
    moved = of(CLOSE, changes=(T1, T2), given=((T2,),), closed=(of(CLOSE, changes=(T1,)),))
    assert contradiction(moved) is None
    assert contradiction(replace(moved, given=((),))) == told(T2)


def test_every_part_is_looked_at():
    whole = of(CLOSE, changes=(T1,), given=((),))
    assert contradiction(replace(whole, closed=(of(changes=(T1,)),))) == told(T1)
    assert contradiction(replace(whole, closed=(replace(whole, dispatches=()),))) == "ledger entry 1 (helpdesk_close_ticket) has no dispatch"
