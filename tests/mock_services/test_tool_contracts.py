"""Every tool of every service: its schema, its handler and the ledger agree."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from office import RECORDS, TOOLS, arguments_of, ask, office

from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Effect

ALL = sorted(TOOLS)
ANY_CALL = st.sampled_from(ALL).flatmap(lambda tool: st.tuples(st.just(tool), arguments_of(tool)))

AUDITS = {
    "calendar_create_event": "created_events", "calendar_delete_event": "deleted_events", "calendar_update_event": "updated_events",
    "contacts_send_message": "sent_messages", "contacts_update": "updated_contacts",
    "crm_export_report": "exported_reports", "files_delete": "deleted_files", "files_write": "written_files",
    "finance_submit_report": "submitted_reports", "gmail_mark_read": "marked",
    "gmail_modify_labels": "labelled", "gmail_reply_message": "sent_messages", "gmail_save_draft": "drafts",
    "gmail_send_message": "sent_messages", "helpdesk_close_ticket": "closed", "helpdesk_update_ticket": "updated_tickets",
    "inventory_create_order": "created_orders", "inventory_reserve": "reservations", "inventory_update_order": "updated_orders",
    "kb_update_article": "updates", "todo_create_task": "created_tasks", "todo_delete_task": "deleted_tasks", "todo_update_task": "updated_tasks",
}

MEETING = {"title": "t", "start_time": "2026-03-10T12:00:00Z", "end_time": "2026-03-10T12:30:00Z"}
RENAMED, MOVED_ON = {"event_id": "E-3", "title": "t"}, {"contact_id": "P-1", "phone": "1"}

REFILL, LATER = {"product_id": "S-1", "quantity": 2}, {"order_id": "O-1", "expected_date": "2026-03-20"}
RAISED, CHAIRS = {"task_id": "D-2", "priority": "high"}, {"title": "Chairs"}

EFFECTS: dict[str, dict[str, tuple[dict[str, Any], Any]]] = {
    "calendar_create_event": {
        "attendees": (MEETING, ["Ann"]), "location": (MEETING, "Lobby"), "room_id": (MEETING, "R-1"), "description": (MEETING, "about"),
    },
    "calendar_list_events": {"days": ({"date": "2026-03-10"}, 3)},
    "calendar_update_event": {
        "title": ({"event_id": "E-3", "location": "Lobby"}, "t"), "start_time": (RENAMED, "2026-03-12T09:00:00Z"),
        "end_time": (RENAMED, "2026-03-12T17:00:00Z"), "attendees": (RENAMED, ["Ann"]), "location": (RENAMED, "Lobby"),
        "room_id": (RENAMED, "R-1"), "description": (RENAMED, "about"),
    },
    "contacts_list": {"department": ({}, "SALES")},
    "contacts_search": {"department": ({"query": "example"}, "sales")},
    "contacts_update": {
        "name": (MOVED_ON, "Zoë Frei"), "email": (MOVED_ON, "frei@example.com"), "phone": ({"contact_id": "P-1", "name": "Zoë Frei"}, "1"),
        "department": (MOVED_ON, "Support"), "title": (MOVED_ON, "Lead"), "company": (MOVED_ON, "Partner Ltd"), "manager": (MOVED_ON, "P-3"),
        "location": (MOVED_ON, "Bern"), "notes": (MOVED_ON, "on leave"), "status": (MOVED_ON, "left"),
    },
    "crm_list_customers": {"status": ({}, "at_risk"), "tier": ({}, "vip"), "industry": ({}, "retail")},
    "finance_list_transactions": {
        "start_date": ({}, "2026-03-05"), "end_date": ({}, "2026-03-05"), "min_amount": ({}, 100.10), "max_amount": ({}, 100.10),
        "status": ({}, "pending"), "category": ({}, "travel"), "customer_id": ({}, "C-1"),
    },
    "gmail_list_messages": {"days_back": ({}, 60), "max_results": ({}, 1), "label": ({}, "客户"), "unread_only": ({}, True)},
    "gmail_mark_read": {"is_read": ({"message_id": "M-2"}, False)},
    "gmail_modify_labels": {
        "add": ({"message_id": "M-1", "remove": ["x"]}, ["later"]), "remove": ({"message_id": "M-1", "add": ["inbox"]}, ["客户"]),
    },
    "gmail_save_draft": {"reply_to_message_id": ({"to": "a@example.com", "subject": "", "body": "b"}, "M-1")},
    "helpdesk_list_tickets": {"status": ({}, "all"), "priority": ({}, "high"), "category": ({}, "authentication")},
    "helpdesk_update_ticket": {
        "priority": ({"ticket_id": "T-1", "category": "A"}, "low"), "tags": ({"ticket_id": "T-1", "category": "A"}, []),
        "category": ({"ticket_id": "T-1", "priority": "low"}, "A"), "assigned_to": ({"ticket_id": "T-1", "priority": "low"}, "Bo"),
        "status": ({"ticket_id": "T-1", "priority": "low"}, "resolved"), "resolution": ({"ticket_id": "T-1", "priority": "low"}, "done"),
    },
    "files_list": {"folder": ({}, "notes")},
    "inventory_create_order": {"supplier": (REFILL, "Other AG"), "notes": (REFILL, "urgent")},
    "inventory_list_orders": {"status": ({}, "SHIPPED"), "product_id": ({}, "S-2")},
    "inventory_list_products": {"category": ({}, "AV"), "low_stock": ({}, True)},
    "inventory_list_reservations": {"product_id": ({}, "S-2"), "reference": ({}, "t-1")},
    "inventory_update_order": {
        "status": (LATER, "received"), "quantity": (LATER, 3), "notes": (LATER, "late"),
        "expected_date": ({"order_id": "O-1", "notes": "late"}, "2026-03-20"),
    },
    "todo_create_task": {
        "description": (CHAIRS, "six"), "priority": (CHAIRS, "low"), "due_date": (CHAIRS, "2026-03-31"), "assignee": (CHAIRS, "Ann"),
        "tags": (CHAIRS, ["office"]),
    },
    "todo_list_tasks": {"status": ({}, "pending"), "priority": ({}, "low"), "assignee": ({}, "ANN"), "tag": ({}, "q1")},
    "todo_update_task": {
        "title": (RAISED, "Chairs"), "description": (RAISED, "six"), "status": (RAISED, "completed"), "due_date": (RAISED, "2026-03-31"),
        "priority": ({"task_id": "D-2", "title": "Chairs"}, "high"), "assignee": (RAISED, "Ann"), "tags": (RAISED, []),
    },
    "kb_search": {"category": ({"query": "key"}, "office"), "max_results": ({"query": "key"}, 1)},
}
"""For each optional argument: arguments without it, and a value with which the call comes to something else."""


def _optional(tool: str) -> set[str]:
    return set(TOOLS[tool].arguments) - set(TOOLS[tool].parameters.get("required", ()))


def _entry_agrees(world: World, tool: str, arguments: dict[str, Any], text: str, status: int) -> None:
    entry, definition = world.ledger[-1], TOOLS[tool]
    assert (entry.tool, entry.service, entry.effect) == (tool, definition.service, definition.effect)
    assert entry.status == status
    assert json.loads(json.dumps(entry.arguments, default=float)) == arguments
    assert json.loads(json.dumps(entry.outcome, default=float)) == json.loads(text)
    if not entry.failed:
        definition.check_result(text)
    assert (entry.audit, entry.record is None) == ((None, True) if entry.failed else (definition.audit, definition.audit is None))


@pytest.mark.parametrize("tool", ALL)
@settings(max_examples=25)
@given(data=st.data())
def test_schema_handler_and_ledger_agree(tool, data):
    world = office()
    for name, arguments in data.draw(st.lists(ANY_CALL, max_size=2), label="before"):
        world.call(name, arguments)
    arguments = data.draw(arguments_of(tool), label="arguments")
    before, length = world.snapshot(), len(world.ledger)
    outcome = world.call(tool, arguments)
    answer = json.loads(outcome.text)
    failed = "error" in answer and "type" in answer
    changes = world.diff(before)
    assert failed or outcome.status == 200
    if outcome.sequence is None:
        assert outcome.status == 422 and failed and len(world.ledger) == length
    else:
        assert outcome.sequence == len(world.ledger) == length + 1
        _entry_agrees(world, tool, arguments, outcome.text, outcome.status)
    if failed:
        assert not changes and set(answer) == {"error", "type"}
    elif TOOLS[tool].effect is Effect.READ:
        assert all(change.before and change.after and change.fields() <= TOOLS[tool].marks for change in changes)
    assert world.ledger.verify()


@pytest.mark.parametrize("tool", ALL)
@settings(max_examples=5)
@given(data=st.data())
def test_what_the_schema_forbids_is_refused_at_the_door(tool, data):
    world, arguments = office(), data.draw(arguments_of(tool))
    before = world.fingerprint()
    wrong = [{**arguments, "surplus": 1}]
    wrong += [{name: value for name, value in arguments.items() if name != missing} for missing in TOOLS[tool].parameters.get("required", ())]
    wrong += [{**arguments, name: {"a": 1}} for name in TOOLS[tool].arguments]
    for one in wrong:
        outcome = world.call(tool, one)
        assert (outcome.status, outcome.value["type"], outcome.sequence) == (422, "validation", None)
    assert len(world.ledger) == 0 and world.fingerprint() == before


@pytest.mark.parametrize("tool", ALL)
def test_every_writing_tool_has_its_audit_collection(tool):
    assert TOOLS[tool].audit == AUDITS.get(tool)
    assert (TOOLS[tool].effect is Effect.WRITE) == (tool in AUDITS)


def test_every_optional_argument_has_its_effect_below():
    assert {tool: _optional(tool) for tool in ALL if _optional(tool)} == {tool: set(cases) for tool, cases in EFFECTS.items()}


@pytest.mark.parametrize(("tool", "argument"), [(tool, argument) for tool, cases in EFFECTS.items() for argument in cases])
def test_an_optional_argument_changes_result_or_state(tool, argument):
    (given_before, value), default = EFFECTS[tool][argument], TOOLS[tool].parameters["properties"][argument]["default"]
    results = []
    for arguments in (given_before, {**given_before, argument: value}, {**given_before, argument: default}):
        world = office()
        results.append((ask(world, tool, **arguments), world.fingerprint()))
    without, passed, with_default = results
    assert passed != without
    assert with_default == without


@pytest.mark.parametrize("tool", ALL)
def test_every_argument_and_tool_is_described(tool):
    schema = TOOLS[tool].schema["function"]
    assert len(schema["description"]) > 20 and schema["description"].endswith(".")
    assert all(len(form["description"]) > 5 for form in schema["parameters"]["properties"].values())
    assert schema["parameters"]["additionalProperties"] is False


READERS = {
    "events": ("calendar_get_event", "event_id"), "contacts": ("contacts_get", "contact_id"),
    "customers": ("crm_get_customer", "customer_id"), "tickets": ("helpdesk_get_ticket", "ticket_id"),
    "messages": ("gmail_get_message", "message_id"), "articles": ("kb_get_article", "article_id"),
    "transactions": ("finance_get_transaction", "transaction_id"),
    "tasks": ("todo_get_task", "task_id"), "products": ("inventory_get_product", "product_id"), "orders": ("inventory_get_order", "order_id"),
}


@pytest.mark.parametrize(("tool", "key", "record"), [
    (*READERS[collection], record) for collections in RECORDS.values() for collection, records in collections.items() if collection in READERS
    for record in records
])
def test_a_record_is_read_as_it_was_written(tool, key, record):
    outcome = office().call(tool, {key: record[key]})
    read = json.loads(outcome.text)
    for name, value in record.items():
        expected = float(value) if name == "amount" else sorted(value) if name in {"tags", "labels"} else True if name == "is_read" else value
        assert read[name] == expected


@pytest.mark.parametrize(("tool", "key"), READERS.values())
def test_a_missing_record_is_an_answer(tool, key):
    outcome = office().call(tool, {key: "无-1"})
    assert outcome.status == 200 and outcome.sequence == 1
    assert outcome.value["type"] == "not_found" and outcome.value["error"].endswith("无-1 not found")
