"""Records of another project's services load, and reading them gives what was recorded there."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from office import world_of

from cowork_gym.core.clock import parse_time
from cowork_gym.envs.world import World
from cowork_gym.mock_services.calendar import Calendar
from cowork_gym.mock_services.contacts import Contacts
from cowork_gym.mock_services.crm import CRM
from cowork_gym.mock_services.finance import Finance
from cowork_gym.mock_services.gmail import Gmail
from cowork_gym.mock_services.helpdesk import Helpdesk
from cowork_gym.mock_services.kb import KB
from cowork_gym.mock_services.todo import Todo

pytestmark = pytest.mark.data

COLLECTIONS = {
    "crm": (CRM, "customers"), "helpdesk": (Helpdesk, "tickets"), "kb": (KB, "articles"), "finance": (Finance, "transactions"),
    "todo": (Todo, "tasks"),
}
TOOLS: dict[str, tuple[str, set[str]]] = {
    "/crm/customers": ("crm_list_customers", {"status", "industry"}), "/crm/customers/get": ("crm_get_customer", {"customer_id"}),
    "/helpdesk/tickets": ("helpdesk_list_tickets", {"status"}), "/helpdesk/tickets/get": ("helpdesk_get_ticket", {"ticket_id"}),
    "/kb/articles/get": ("kb_get_article", {"article_id"}), "/finance/transactions": ("finance_list_transactions", {"start_date", "end_date"}),
    "/finance/transactions/get": ("finance_get_transaction", {"transaction_id"}), "/todo/tasks": ("todo_list_tasks", {"status"}),
}
"""By path: the tool, and the arguments that mean the same there and here."""
WRITING = ("/update", "/close", "/export", "/submit", "/create", "/delete")


def _records(path: Path) -> list[dict[str, Any]]:
    read = json.loads(path.read_text(encoding="utf-8"))
    return read if isinstance(read, list) else next(value for value in read.values() if isinstance(value, list))


def _plain(answer: Any) -> Any:
    """An answer without null fields and without the order of tags and lists."""
    if isinstance(answer, dict):
        return {name: sorted(set(value)) if name == "tags" else _plain(value) for name, value in answer.items() if value is not None}
    return sorted(map(_plain, answer), key=partial(json.dumps, sort_keys=True)) if isinstance(answer, list) else answer


def _means_the_same(arguments: dict[str, Any], shared: set[str]) -> bool:
    """Whether both sides read these arguments alike: there unknown ones are dropped, and case is compared."""
    return arguments.keys() <= shared and all(value == str(value).lower() for name, value in arguments.items() if not name.endswith("_id"))


def _recorded(root: Path) -> Iterator[tuple[World, dict[str, Any]]]:
    """Requests for records, up to the first one that writes, each with a world that holds them."""
    for transcript in sorted(root.glob("transcripts/*.json")):
        for service in json.loads(transcript.read_text(encoding="utf-8"))["services"]:
            if service["server"] in COLLECTIONS:
                owner, collection = COLLECTIONS[service["server"]]
                world = world_of(owner, **{collection: _records(root / service["fixtures"][0])})
                reading = takewhile(lambda request: not request["path"].endswith(WRITING), service["requests"])
                yield from ((world, request) for request in reading if request["path"] in TOOLS and request["status"] == 200)


def test_reading_gives_what_was_recorded(data_folder: Path) -> None:
    compared = Counter[str]()
    for world, request in _recorded(data_folder / "claw_eval"):
        (tool, shared), arguments = TOOLS[request["path"]], request["json"] or {}
        outcome = world.call(tool, arguments)
        if outcome.status == 422 or not _means_the_same(arguments, shared):
            continue
        answer = json.loads(outcome.text)
        answer.pop("type" if "error" in answer else "", None)
        assert (outcome.status, _plain(answer)) == (request["status"], _plain(request["response"])), (request["path"], arguments)
        compared[request["path"]] += 1
    assert compared.keys() == TOOLS.keys()
    assert compared.total() > 100


def test_mail_is_read_as_it_was_written(data_folder: Path) -> None:
    boxes = sorted(data_folder.glob("claw_eval/tasks/*/fixtures/gmail/inbox.json"))
    assert boxes
    for box in boxes:
        records = _records(box)
        world = World.open([Gmail], {"gmail": {"messages": records}}, start=date(2026, 4, 1))
        for record in records:
            read = json.loads(world.call("gmail_get_message", {"message_id": record["message_id"]}).text)
            assert {**record, "is_read": True, "labels": sorted(set(record["labels"]))}.items() <= read.items()


def test_an_event_is_read_at_the_moment_that_was_written(data_folder: Path) -> None:
    books = sorted(data_folder.glob("claw_eval/tasks/*/fixtures/calendar/events.json"))
    assert books
    for book in books:
        records = _records(book)
        world = world_of(Calendar, events=records)
        for record in records:
            read = json.loads(world.call("calendar_get_event", {"event_id": record["event_id"]}).text)
            times = {name: f"{parse_time(record[name]):%Y-%m-%dT%H:%M:%SZ}" for name in ("start_time", "end_time")}
            assert {**record, **times, "attendees": sorted(set(record["attendees"]))} == read


def test_who_was_found_by_name_is_found(data_folder: Path) -> None:
    found = Counter[str]()
    for transcript in sorted(data_folder.glob("claw_eval/transcripts/*.json")):
        for service in json.loads(transcript.read_text(encoding="utf-8"))["services"]:
            requests = [one for one in service["requests"] if one["path"] == "/contacts/search" and one["status"] == 200 and one["json"]["query"]]
            for request in requests:
                world = world_of(Contacts, contacts=_records(data_folder / "claw_eval" / service["fixtures"][0]))
                answer = json.loads(world.call("contacts_search", {"query": request["json"]["query"]}).text)
                there = [{"status": "active", **one} for one in request["response"]["contacts"]]
                assert [one for one in answer["contacts"] if one in there] == there
                found.update(one["contact_id"] for one in there)
    assert found.total() > 20
