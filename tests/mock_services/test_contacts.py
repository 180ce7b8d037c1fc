from datetime import date

import pytest
from office import RECORDS, ask, office, refusal, world_of

from cowork_gym.mock_services.contacts import Contact, Contacts
from cowork_gym.testing import check_service


def found(world, query, **arguments):
    return [one["contact_id"] for one in ask(world, "contacts_search", query=query, **arguments)["contacts"]]


def test_it_conforms():
    check_service(Contacts, RECORDS["contacts"], start=date(2026, 3, 10))


@pytest.mark.parametrize(("query", "ids"), [
    ("zoë", ["P-1"]), ("ZOE", ["P-1"]), ("Zoe\u0308", ["P-1"]), ("muller", ["P-1"]), ("mueller", ["P-3"]),
    ("Mü", ["P-1", "P-3"]), ("李", ["P-2"]), ("总监", ["P-2"]), ("example", ["P-1", "P-2"]), ("lilei@example.cn", ["P-2"]), ("44 000", ["P-1"]),
    ("p-3", ["P-3"]), ("partner", ["P-3"]), ("manager sales", ["P-1"]), ("bob sales", ["P-3"]), ("sales", ["P-1", "P-3"]),
    ("zoe bob", []), ("negotiation", []), ("prefers", []), ("%", []), ("*", []),
])
def test_every_word_is_part_of_what_identifies_somebody(query, ids):
    assert found(office(), query) == ids


def test_a_search_shows_every_field():
    answer = ask(office(), "contacts_search", query="Zoë")
    assert answer == {"contacts": [{**RECORDS["contacts"]["contacts"][0], "status": "active"}], "total": 1}


@pytest.mark.parametrize(("department", "ids"), [("SALES", ["P-1", "P-3"]), ("销售", ["P-2"]), ("sale", []), ("Sales ", [])])
def test_a_department_is_given_whole(department, ids):
    world = office()
    assert [one["contact_id"] for one in ask(world, "contacts_list", department=department)["contacts"]] == ids
    assert found(world, "p-", department=department) == ids


def test_the_list_is_short_and_whole():
    answer = ask(office(), "contacts_list")
    assert answer["total"] == 3
    assert answer["contacts"][0] == {
        "contact_id": "P-1", "name": "Zoë Müller", "title": "Account Manager", "department": "Sales", "email": "zoe@example.com", "status": "active",
    }
    assert answer["contacts"][2]["status"] == "left"


@pytest.mark.parametrize("query", ["", " ", "\u0308"])
def test_a_search_needs_a_word(query):
    assert refusal(office(), "contacts_search", query=query).status == 422


def test_a_message_is_sent_once_to_somebody_on_record():
    world = office()
    record = ask(world, "contacts_send_message", contact_id="P-2", message="你好 👋")["record"]
    assert record == {"message_id": record["message_id"], "contact_id": "P-2", "message": "你好 👋", "timestamp": "2026-03-10T09:00:01Z"}
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("sent_messages", record)
    assert Contacts.aliases["messages"] == "sent_messages"
    [change] = world.diff()
    assert (change.table, change.before, change.after) == ("contacts.messages", None, record)
    assert refusal(world, "contacts_send_message", contact_id="P-9", message="m").value == {"error": "Contact P-9 not found", "type": "not_found"}
    assert refusal(world, "contacts_send_message", contact_id="P-2", message="").status == 422


def test_who_has_left_gets_no_message():
    world = office()
    outcome = refusal(world, "contacts_send_message", contact_id="P-3", message="m")
    assert outcome.status == 409 and outcome.value["error"] == "Bob Mueller (P-3) has left and gets no messages"
    ask(world, "contacts_update", contact_id="P-3", status="active")
    assert ask(world, "contacts_send_message", contact_id="P-3", message="m")["status"] == "sent"


def test_an_update_sets_every_field_and_leaves_the_others():
    world = office()
    before = ask(world, "contacts_get", contact_id="P-1")
    changes = {
        "name": "Zoë Frei", "email": "frei@example.com", "phone": "1", "department": "Support", "title": "Lead", "company": "Partner Ltd",
        "manager": "P-3", "location": "Bern", "notes": "on leave", "status": "left",
    }
    after = ask(world, "contacts_update", contact_id="P-1", **changes)["contact"]
    assert after == {**before, **changes, "updated_at": "2026-03-10T09:00:02Z"}
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("updated_contacts", after)
    assert [(change.table, change.key, change.fields()) for change in world.diff()] == [("contacts.contacts", "P-1", {*changes, "updated_at"})]
    assert Contact.stamps == {"updated_at"}


@pytest.mark.parametrize("change", [
    {}, {"email": "frei"}, {"email": "Zoë <frei@example.com>"}, {"email": "a@example.com, b@example.com"}, {"email": "a@example.com\n"},
    {"status": "retired"}, {"notes": ""}, {"name": None}, {"manager": "P-1"}, {"skills": ["x"]}, {"phone": 1},
])
def test_changes_that_make_no_sense_are_refused(change):
    assert refusal(office(), "contacts_update", contact_id="P-1", **change).status == 422


def test_a_manager_is_on_record():
    assert refusal(office(), "contacts_update", contact_id="P-1", manager="Ann").value["error"] == "Contact Ann not found"
    assert refusal(office(), "contacts_update", contact_id="P-9", phone="1").value["error"] == "Contact P-9 not found"


def test_a_fixture_keeps_what_the_service_does_not_know():
    record = {"contact_id": "P", "name": "n", "responsibilities": ["b", "a"], "note": None, "level": 2.50}
    contact = ask(world_of(Contacts, contacts=[record]), "contacts_get", contact_id="P")
    assert {name: contact[name] for name in record} == record
