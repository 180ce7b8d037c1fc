import pytest
from office import ask, office, refusal, world_of

from cowork_gym.mock_services.helpdesk import Helpdesk, Ticket


def _ids(answer):
    return [one["ticket_id"] for one in answer["tickets"]]


def test_the_list_shows_open_tickets_in_short_form():
    answer = ask(office(), "helpdesk_list_tickets")
    assert answer["tickets"][0] == {
        "ticket_id": "T-1", "title": "No login", "reporter": "Ann", "department": "Ops", "priority": "critical", "status": "open",
        "created_at": "2026-03-09T08:00:00Z",
    }
    assert _ids(answer) == ["T-1", "T-2"] and answer["total"] == 2


@pytest.mark.parametrize(("filters", "found"), [
    ({"status": "all"}, ["T-1", "T-2", "T-3"]), ({"status": "ALL", "priority": "low"}, ["T-3"]), ({"status": "Closed"}, ["T-3"]),
    ({"priority": "critical"}, ["T-1"]), ({"category": "authentication"}, ["T-1"]), ({"category": "auth"}, []),
])
def test_filters(filters, found):
    assert _ids(ask(office(), "helpdesk_list_tickets", **filters)) == found


def test_an_update_sets_every_field_and_leaves_the_others():
    world = office()
    changes = {"priority": "low", "tags": ["vip", "api", "vip"], "category": "认证", "assigned_to": "Bo", "status": "resolved", "resolution": "R"}
    before = ask(world, "helpdesk_get_ticket", ticket_id="T-1")
    ticket = ask(world, "helpdesk_update_ticket", ticket_id="T-1", **changes)["ticket"]
    assert ticket == {**before, **changes, "tags": ["api", "vip"], "updated_at": "2026-03-10T09:00:02Z"}
    assert world.ledger[-1].record == ticket
    [change] = world.diff()
    assert (change.table, change.key) == ("helpdesk.tickets", "T-1")
    assert change.fields() == {*changes, "updated_at"}


def test_the_time_of_the_last_write_is_declared():
    assert Ticket.stamps == {"updated_at"}


def test_the_order_of_tags_is_no_state():
    one, other = office(), office()
    ask(one, "helpdesk_update_ticket", ticket_id="T-1", tags=["a", "b"])
    ask(other, "helpdesk_update_ticket", ticket_id="T-1", tags=["b", "a", "b"])
    assert one.fingerprint() == other.fingerprint()


def test_an_update_without_a_change_is_refused():
    world = office()
    outcome = refusal(world, "helpdesk_update_ticket", ticket_id="T-1")
    assert outcome.status == 422 and "nothing to change" in outcome.text
    assert refusal(world, "helpdesk_update_ticket", ticket_id="T-1", priority=None).status == 422


@pytest.mark.parametrize("change", [{"priority": "urgent"}, {"status": "closed"}, {"resolution": ""}, {"tags": "a"}, {"note": "x"}, {"priority": 1}])
def test_values_that_are_not_allowed_are_refused(change):
    world = office()
    assert refusal(world, "helpdesk_update_ticket", ticket_id="T-1", **change).status == 422
    assert len(world.ledger) == 0


def test_closing_needs_an_open_ticket():
    world = office()
    ticket = ask(world, "helpdesk_close_ticket", ticket_id="T-2", resolution="renewed 证书")["ticket"]
    assert (ticket["status"], ticket["resolution"]) == ("closed", "renewed 证书")
    assert world.ledger[-1].record == ticket
    again = refusal(world, "helpdesk_close_ticket", ticket_id="T-2", resolution="again")
    assert (again.status, again.value["type"]) == (409, "conflict")
    assert ask(world, "helpdesk_get_ticket", ticket_id="T-2")["resolution"] == "renewed 证书"


def test_a_closed_ticket_can_be_opened_again():
    world = office()
    assert ask(world, "helpdesk_update_ticket", ticket_id="T-3", status="open")["ticket"]["status"] == "open"
    assert ask(world, "helpdesk_close_ticket", ticket_id="T-3", resolution="again")["status"] == "closed"


def test_a_fixture_keeps_what_the_service_does_not_know():
    record = {"ticket_id": "T", "title": "t", "description": "d", "priority": "", "assignee": "Bo", "responded_at": None, "sla": {"hours": [1, 2.5]}}
    ticket = ask(world_of(Helpdesk, tickets=[record]), "helpdesk_get_ticket", ticket_id="T")
    assert {name: ticket[name] for name in record} == record
