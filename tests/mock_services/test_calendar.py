from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from office import RECORDS, ask, office, refusal, world_of

from cowork_gym.core.clock import parse_time
from cowork_gym.core.errors import PackageError
from cowork_gym.mock_services.calendar import Calendar, Event
from cowork_gym.testing import check_service

MOMENTS = st.datetimes(min_value=parse_time("2026-03-08").replace(tzinfo=None), max_value=parse_time("2026-03-14").replace(tzinfo=None))
ROOM = {"room_id": "R", "name": "Fjord", "capacity": 2}
NOON = {"title": "t", "start_time": "2026-03-10T12:00:00Z", "end_time": "2026-03-10T13:00:00Z"}


def event(event_id, start="2026-03-10T12:00:00Z", end="2026-03-10T13:00:00Z", **fields):
    return {"event_id": event_id, "title": "t", "start_time": start, "end_time": end, **fields}


def listed(world, day="2026-03-10", **arguments):
    return [one["event_id"] for one in ask(world, "calendar_list_events", date=day, **arguments)["events"]]


def test_it_conforms():
    check_service(Calendar, RECORDS["calendar"], start=date(2026, 3, 10))


def test_a_day_lists_whatever_takes_place_on_it():
    world = world_of(Calendar, events=[
        event("later"), event("b", "2026-03-10T09:00:00Z"), event("a", "2026-03-10T09:00:00Z"), event("over", end="2026-03-11T00:00:00Z"),
        event("long", "2026-03-09T23:00:00Z", "2026-03-12T00:00:01Z"), event("before", "2026-03-09T22:00:00Z", "2026-03-10T00:00:00Z"),
    ])
    assert listed(world) == ["long", "a", "b", "later", "over"]
    assert listed(world, "2026-03-11") == ["long"] and listed(world, "2026-03-13") == []
    assert listed(world, "2026-03-08", days=2) == ["before", "long"]
    answer = ask(world, "calendar_list_events", date="2026-03-12")
    assert answer == {"events": [{**event("long", "2026-03-09T23:00:00Z", "2026-03-12T00:00:01Z"), "attendees": []}], "total": 1}


@given(start=MOMENTS, end=MOMENTS, days=st.integers(1, 4))
def test_an_event_is_listed_when_it_overlaps_the_days(start, end, days):
    first, last = min(start, end), max(start, end)
    if (last - first).total_seconds() >= 1:
        world = world_of(Calendar, events=[event("E", f"{first.isoformat()}Z", f"{last.isoformat()}Z")])
        covered = {f"2026-03-{10 + day}" for day in range(days)}
        moments = [first.replace(hour=0, minute=0, second=0, microsecond=0)]
        while (after := moments[-1].replace(day=moments[-1].day + 1)) < last.replace(microsecond=0):
            moments.append(after)
        expected = bool(covered & {one.date().isoformat() for one in moments})
        assert listed(world, days=days) == ["E"] * expected


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_ends_of_time_are_days(day):
    assert listed(office(), day, days=366) == []


@pytest.mark.parametrize("arguments", [
    {"date": "tomorrow"}, {"date": "2026-02-30"}, {"date": "2026-03-10T09:00:00Z"}, {"date": "2026-03-10", "days": 0},
    {"date": "2026-03-10", "days": 367}, {"date": "2026-03-10", "days": "1"}, {"start_date": "2026-03-10"},
])
def test_what_is_no_range_of_days_is_refused(arguments):
    assert refusal(office(), "calendar_list_events", **arguments).status == 422


@pytest.mark.parametrize("written", [
    "2026-03-10T12:30:00Z", "2026-03-10T20:30:00+08:00", "2026-03-10T12:30", "2026-03-10 12:30:00", "2026-03-10T12:30:00.999Z",
    "2026-03-09T23:30-13:00",
])
def test_a_time_is_kept_in_utc_whoever_wrote_it(written):
    kept, world = "2026-03-10T12:30:00Z", world_of(Calendar, events=[event("E", written, "2026-03-10T13:00:00Z")])
    assert ask(world, "calendar_get_event", event_id="E")["start_time"] == kept
    assert ask(world, "calendar_create_event", title="t", start_time=written, end_time="2026-03-10T13:00:00Z")["event"]["start_time"] == kept
    assert len(listed(world)) == 2


@pytest.mark.parametrize("wrong", [
    "", "noon", "2026-03-10", "20260310T120000Z", "2026-W11-2T12:00:00Z", "2026-03-10x12:00", "2026-02-30T12:00:00Z", "2026-03-10T25:00:00Z",
    "0001-01-01T00:00:00+08:00", "2026-3-10T12:00:00Z", 1773144000,
])
def test_what_is_no_time_is_refused(wrong):
    world = office()
    assert refusal(world, "calendar_create_event", **{**NOON, "start_time": wrong}).status == 422
    assert refusal(world, "calendar_update_event", event_id="E-1", end_time=wrong).status == 422
    assert len(world.ledger) == 0
    with pytest.raises(PackageError, match=r"calendar\.yaml: events\[0\]\.start_time"):
        world_of(Calendar, events=[event("E", wrong)])


@pytest.mark.parametrize("end", ["2026-03-10T12:00:00Z", "2026-03-10T12:30:00+01:00"])
def test_an_event_ends_after_it_begins(end):
    world = office()
    assert "is not after start_time" in refusal(world, "calendar_create_event", **{**NOON, "end_time": end}).text
    assert "is not after start_time" in refusal(world, "calendar_update_event", event_id="E-3", start_time="2026-03-12T16:00:00Z").text
    with pytest.raises(PackageError, match=r"events\[0\]\.end_time.*should be after start_time"):
        world_of(Calendar, events=[event("E", end=end)])


def test_creating_keeps_what_was_given():
    world = office()
    new = ask(world, "calendar_create_event", **NOON, attendees=["李雷", "Ann", "Ann"], location="Lobby", description="about")["event"]
    assert new == {
        **NOON, "event_id": new["event_id"], "attendees": ["Ann", "李雷"], "location": "Lobby", "description": "about", "status": "confirmed",
    }
    entry = world.ledger[-1]
    assert (entry.audit, entry.record) == ("created_events", {**new, "timestamp": "2026-03-10T09:00:01Z"})
    [change] = world.diff()
    assert (change.table, change.key, change.before, change.after) == ("calendar.events", new["event_id"], None, new)
    assert listed(world) == ["E-1", new["event_id"], "E-2"]


def test_an_id_is_not_used_again():
    world = office()
    first = ask(world, "calendar_create_event", **NOON)["event"]["event_id"]
    ask(world, "calendar_delete_event", event_id=first)
    assert ask(world, "calendar_create_event", **NOON)["event"]["event_id"] != first


def test_an_update_changes_what_is_given():
    world = office()
    before = ask(world, "calendar_get_event", event_id="E-1")
    moved = {"start_time": "2026-03-10T10:00:00Z", "end_time": "2026-03-10T10:15:00Z"}
    after = ask(world, "calendar_update_event", event_id="E-1", attendees=[], **moved)["event"]
    assert after == {**before, **moved, "attendees": []} and after["recurring"] is True
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("updated_events", {**after, "timestamp": "2026-03-10T09:00:02Z"})
    assert [(change.key, change.fields()) for change in world.diff()] == [("E-1", {"start_time", "end_time", "attendees"})]


def test_an_update_without_a_change_is_refused():
    outcome = refusal(office(), "calendar_update_event", event_id="E-1")
    assert outcome.status == 422 and "nothing to change" in outcome.text
    assert refusal(office(), "calendar_update_event", event_id="?", title="t").value["type"] == "not_found"


def test_deleting_tells_what_was_there():
    world = office()
    before = ask(world, "calendar_get_event", event_id="E-1")
    assert ask(world, "calendar_delete_event", event_id="E-1") == {"status": "deleted", "event": before}
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("deleted_events", {**before, "timestamp": "2026-03-10T09:00:02Z"})
    assert Calendar.aliases["deleted"] == "deleted_events"
    assert refusal(world, "calendar_delete_event", event_id="E-1").value == {"error": "Event E-1 not found", "type": "not_found"}


@pytest.mark.parametrize(("user", "day", "found"), [
    ("Ann", 10, ["E-1"]), ("Ann", 11, []), ("ANN@example.com", 10, ["E-1"]), (" ann <ann@example.com>", 10, ["E-1"]),
    ("bob@example.com", 10, ["E-1"]), ("李雷", 10, ["E-2"]), ("李雷", 11, ["E-2"]), ("ZOË", 12, ["E-3"]), ("An", 10, []), ("李", 10, []),
    ("bob", 10, []), ("example.com", 10, []), (" ", 10, []),
])
def test_a_person_has_the_events_that_name_them(user, day, found):
    answer = ask(office(), "calendar_get_user_events", user=user, date=f"2026-03-{day}")
    assert [one["event_id"] for one in answer["events"]] == found
    assert (answer["user"], answer["total"]) == (user, len(found))


def test_people_may_be_booked_twice():
    world = office()
    ask(world, "calendar_create_event", title="t", start_time="2026-03-10T09:00:00Z", end_time="2026-03-10T09:30:00Z", attendees=["bob@example.com"])
    assert ask(world, "calendar_get_user_events", user="bob@example.com", date="2026-03-10")["total"] == 2


def test_rooms_are_listed_whole():
    assert ask(office(), "calendar_list_rooms") == {"rooms": RECORDS["calendar"]["rooms"], "total": 2}


BOOKED = [event("room", room_id="R"), event("named", "2026-03-11T12:00:00Z", "2026-03-11T13:00:00Z", location=" fjord"),
          event("off", "2026-03-12T12:00:00Z", "2026-03-12T13:00:00Z", room_id="R", status="Cancelled")]


@pytest.mark.parametrize("place", [{"room_id": "R"}, {"location": "FJORD "}, {"location": "r"}, {"room_id": "R", "location": "Fjord"}])
@pytest.mark.parametrize(("day", "start", "end", "free"), [
    (10, "11:00", "12:00", True), (10, "13:00", "14:00", True), (10, "11:59", "12:01", False), (10, "12:15", "12:20", False),
    (10, "11:00", "14:00", False), (11, "12:30", "13:30", False), (12, "12:00", "13:00", True),
])
def test_a_room_takes_one_event_at_a_time(place, day, start, end, free):
    world = world_of(Calendar, events=BOOKED, rooms=[ROOM])
    wanted = {"title": "t", "start_time": f"2026-03-{day}T{start}:00Z", "end_time": f"2026-03-{day}T{end}:00Z", **place}
    if free:
        new = ask(world, "calendar_create_event", **wanted)["event"]
        assert (new["room_id"], new["location"]) == ("R", "Fjord")
    else:
        outcome = refusal(world, "calendar_create_event", **wanted)
        assert outcome.status == 409 and outcome.value["error"].startswith("Fjord is taken by")


def test_an_event_does_not_stand_in_its_own_way():
    after = event("next", "2026-03-10T14:00:00Z", "2026-03-10T15:00:00Z", room_id="R")
    world = world_of(Calendar, events=[event("E", room_id="R"), after], rooms=[ROOM])
    ask(world, "calendar_update_event", event_id="E", end_time="2026-03-10T14:00:00Z")
    assert refusal(world, "calendar_update_event", event_id="E", end_time="2026-03-10T14:00:01Z").status == 409
    ask(world, "calendar_delete_event", event_id="next")
    ask(world, "calendar_update_event", event_id="E", end_time="2026-03-10T14:00:01Z")


def test_a_room_has_space_for_so_many():
    world, three = world_of(Calendar, events=[event("E", room_id="R", attendees=["a", "b"])], rooms=[ROOM]), ["a", "b", "c"]
    later = {"title": "t", "start_time": "2026-03-11T12:00:00Z", "end_time": "2026-03-11T13:00:00Z"}
    outcome = refusal(world, "calendar_create_event", **later, attendees=three, room_id="R")
    assert (outcome.status, outcome.value["error"]) == (422, "Fjord has space for 2, not for 3 attendees")
    assert refusal(world, "calendar_update_event", event_id="E", attendees=three).status == 422
    event_id = ask(world, "calendar_create_event", **later, attendees=three)["event"]["event_id"]
    assert refusal(world, "calendar_update_event", event_id=event_id, room_id="R").status == 422
    ask(world, "calendar_update_event", event_id=event_id, room_id="R", attendees=["a", "b", "a"])


def test_what_was_wrong_before_does_not_forbid_other_changes():
    crowd = event("E", room_id="R", attendees=["a", "b", "c"])
    world = world_of(Calendar, events=[crowd, event("twin", room_id="R")], rooms=[ROOM])
    ask(world, "calendar_update_event", event_id="E", title="new")
    ask(world, "calendar_update_event", event_id="twin", attendees=["a"])
    ask(world, "calendar_update_event", event_id="E", start_time="2026-03-10T08:00:00Z", end_time="2026-03-10T09:00:00Z")


@pytest.mark.parametrize("location", ["", "Lobby"])
def test_another_place_frees_the_room(location):
    world = world_of(Calendar, events=[event("E", room_id="R", location="Fjord")], rooms=[ROOM])
    assert refusal(world, "calendar_create_event", **NOON, room_id="R").status == 409
    after = ask(world, "calendar_update_event", event_id="E", location=location)["event"]
    assert "room_id" not in after and after.get("location", "") == location
    assert ask(world, "calendar_create_event", **NOON, room_id="R")["event"]["location"] == "Fjord"


def test_a_place_must_be_clear():
    world = world_of(Calendar, rooms=[ROOM, {"room_id": "S", "name": "Sund"}, {"room_id": "T", "name": "sund"}])
    assert refusal(world, "calendar_create_event", **NOON, room_id="X").value == {"error": "Room X not found", "type": "not_found"}
    assert "several rooms; give room_id: S, T" in refusal(world, "calendar_create_event", **NOON, location="Sund").text
    assert "is another room than R" in refusal(world, "calendar_create_event", **NOON, location="Sund", room_id="R").text
    assert ask(world, "calendar_create_event", **NOON, location="sund", room_id="S")["event"]["location"] == "Sund"
    beside = ask(world, "calendar_create_event", **NOON, location="3rd floor, left", room_id="R")["event"]
    assert (beside["room_id"], beside["location"]) == ("R", "3rd floor, left")


def test_the_order_of_attendees_is_no_state():
    one, other = office(), office()
    ask(one, "calendar_update_event", event_id="E-3", attendees=["a", "b"])
    ask(other, "calendar_update_event", event_id="E-3", attendees=["b", "a", "b"])
    assert one.fingerprint() == other.fingerprint()


def test_records_of_a_class_are_tables_of_the_calendar():
    assert (Event.__tablename__, Event.collection) == ("calendar_events", "events")
