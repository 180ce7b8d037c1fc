"""A small office with all services, and arguments for its tools drawn from their own schemas."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from hypothesis import strategies as st

from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.world import Outcome, World
from cowork_gym.mock_services.calendar import Calendar
from cowork_gym.mock_services.contacts import Contacts
from cowork_gym.mock_services.crm import CRM
from cowork_gym.mock_services.files import Files
from cowork_gym.mock_services.finance import Finance
from cowork_gym.mock_services.gmail import Gmail
from cowork_gym.mock_services.helpdesk import Helpdesk
from cowork_gym.mock_services.inventory import Inventory
from cowork_gym.mock_services.kb import KB
from cowork_gym.mock_services.todo import Todo

SERVICES = (Calendar, Contacts, CRM, Helpdesk, Gmail, KB, Finance, Todo, Inventory, Files)

RECORDS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "calendar": {
        "events": [
            {"event_id": "E-1", "title": "Standup", "start_time": "2026-03-10T09:00:00Z", "end_time": "2026-03-10T09:30:00Z", "room_id": "R-1",
             "attendees": ["Ann <ann@example.com>", "bob@example.com"], "location": "Fjord", "organizer": "Ann", "recurring": True},
            {"event_id": "E-2", "title": "客户会议", "start_time": "2026-03-10T22:00:00Z", "end_time": "2026-03-11T01:00:00Z", "attendees": ["李雷"],
             "location": "会议室A", "status": "confirmed"},
            {"event_id": "E-3", "title": "Workshop", "start_time": "2026-03-12T08:00:00Z", "end_time": "2026-03-12T16:00:00Z", "organizer": "Zoë"},
        ],
        "rooms": [{"room_id": "R-1", "name": "Fjord", "capacity": 2, "notes": "projector"}, {"room_id": "R-2", "name": "会议室A", "floor": 3}],
    },
    "contacts": {"contacts": [
        {"contact_id": "P-1", "name": "Zoë Müller", "email": "zoe@example.com", "phone": "+41 44 000 00 01", "department": "Sales",
         "title": "Account Manager", "manager": "P-2", "skills": ["negotiation", "German"]},
        {"contact_id": "P-2", "name": "李雷", "email": "lilei@example.cn", "department": "销售", "title": "总监", "notes": "prefers mail"},
        {"contact_id": "P-3", "name": "Bob Mueller", "company": "Partner Ltd", "department": "sales", "status": "left"},
    ]},
    "crm": {"customers": [
        {"customer_id": "C-1", "name": "Zürich Møbel AG", "tier": "VIP", "industry": "Retail", "annual_revenue": 1200000.5, "status": "at_risk",
         "notes": "renewal due", "recent_orders": [{"order_id": "O-9", "total_price": 12.50}]},
        {"customer_id": "C-2", "name": "鼎新软件", "tier": "vip", "industry": "软件", "contact_person": "周经理", "status": "active"},
        {"customer_id": "C-3", "name": "Plain Ltd", "tier": "standard", "industry": "Retail"},
    ]},
    "helpdesk": {"tickets": [
        {"ticket_id": "T-1", "title": "No login", "description": "401", "reporter": "Ann", "department": "Ops", "priority": "critical",
         "category": "Authentication", "customer_id": "C-1", "tags": ["login", "api"], "created_at": "2026-03-09T08:00:00Z", "onsite": False},
        {"ticket_id": "T-2", "title": "SSL证书过期", "description": "网站打不开", "priority": "high", "created_at": "2026-03-08T08:00:00+08:00"},
        {"ticket_id": "T-3", "title": "Old", "description": "done", "status": "closed", "resolution": "restarted", "priority": "low"},
    ]},
    "gmail": {"messages": [
        {"message_id": "M-1", "from": "Ann <ann@example.com>", "to": "me@office.example", "subject": "Invoice", "body": "see below",
         "date": "2026-03-10T15:30:00+08:00", "labels": ["inbox", "客户"], "is_read": False, "cc": "bob@example.com"},
        {"message_id": "M-2", "from": "bob@example.com", "to": "me@office.example", "subject": "RE: Lunch 🍜", "body": "yes", "thread_id": "TH-1",
         "date": "2026-03-09T20:00:00Z", "labels": ["inbox"], "is_read": True},
        {"message_id": "M-3", "from": "cat@example.com", "to": "me@office.example", "subject": "Lunch 🍜", "body": "noon?", "thread_id": "TH-1",
         "date": "2026-02-01T20:00:00Z", "labels": ["inbox"], "is_read": False},
    ]},
    "kb": {"articles": [
        {"article_id": "K-1", "title": "API key rotation", "category": "Security", "tags": ["api", "keys"], "content": "Revoke, then issue a key.",
         "last_updated": "2026-01-15", "views": 7, "author": "Ops"},
        {"article_id": "K-2", "title": "SSL证书续期", "category": "Security", "tags": ["证书"], "content": "部署SSL证书后重启。", "views": 3},
        {"article_id": "K-3", "title": "Coffee machine", "category": "Office", "tags": [], "content": "Descale it with the key under the tray."},
    ]},
    "finance": {"transactions": [
        {"transaction_id": "X-1", "date": "2026-03-01", "amount": 100.10, "currency": "USD", "description": "Licences", "category": "Software",
         "status": "completed", "customer_id": "C-1", "supplier": "Müller & Söhne"},
        {"transaction_id": "X-2", "date": "2026-03-10T15:00:00Z", "amount": "0.20", "currency": "USD", "description": "Fee", "status": "Pending"},
        {"transaction_id": "X-3", "date": "2026-03-05", "amount": 5000, "currency": "JPY", "description": "交通費", "category": "Travel"},
    ]},
    "todo": {"tasks": [
        {"task_id": "D-1", "title": "完成Q1报告", "description": "with figures", "status": "pending", "priority": "high", "due_date": "2026-03-12",
         "assignee": "Ann", "tags": ["Q1", "报告"], "created_at": "2026-03-01", "estimated_hours": 3},
        {"task_id": "D-2", "title": "Order chairs", "status": "in_progress", "priority": "low", "assignee": "李华", "tags": ["office"]},
        {"task_id": "D-3", "title": "Q1 report", "status": "completed", "priority": "high", "assignee": "Ann", "due_date": "2026-03-02"},
    ]},
    "inventory": {
        "products": [
            {"product_id": "S-1", "name": "Camera Pro", "category": "AV", "on_hand": 12, "reserved": 4, "reorder_point": 8, "unit_cost": 899.5,
             "currency": "EUR", "supplier": "Fjord Optics", "warehouse": "A-01", "notes": "fragile", "lead_time_days": 7},
            {"product_id": "S-2", "name": "智能音箱", "category": "智能硬件", "on_hand": 80, "reorder_point": 50, "unit_cost": 2499,
             "currency": "JPY"},
            {"product_id": "S-3", "name": "Tripod", "category": "av", "on_hand": 30, "supplier": "Stand AG"},
        ],
        "orders": [
            {"order_id": "O-1", "product_id": "S-1", "quantity": 20, "supplier": "Fjord Optics", "status": "shipped", "ordered_at": "2026-03-02",
             "expected_date": "2026-03-13", "notes": "by sea"},
            {"order_id": "O-2", "product_id": "S-2", "quantity": 5, "status": "cancelled"},
        ],
        "reservations": [
            {"reservation_id": "V-1", "product_id": "S-1", "quantity": 3, "reference": "T-1", "reserved_at": "2026-03-09"},
            {"reservation_id": "V-2", "product_id": "S-1", "quantity": 1, "reference": "T-2"},
        ],
    },
}
FILES = {"brief.md": b"Read me first.\n", "notes/2026/plan.md": "计划：Zürich\n".encode(), "notes/logo.png": bytes(range(256)), "empty.txt": b""}

BLUEPRINT = Blueprint.build(SERVICES, RECORDS, FILES, start=date(2026, 3, 10))
TOOLS = {name: door.tool for name, door in BLUEPRINT.tools.items()}


def office() -> World:
    """A fresh world in which the day begins: 2026-03-10, 09:00 UTC."""
    return World(BLUEPRINT)


def world_of(service: type, **collections: list[dict[str, Any]]) -> World:
    """A world with one service and these records."""
    return World.open([service], {service.name: collections}, start=date(2026, 3, 10))


def ask(world: World, tool: str, **arguments: Any) -> Any:
    """The result of a call that has to succeed."""
    outcome = world.call(tool, arguments)
    assert outcome.status == 200 and "error" not in outcome.value, outcome.text
    return outcome.value


def refusal(world: World, tool: str, **arguments: Any) -> Outcome:
    """The outcome of a call that has to be refused, and to leave the state alone."""
    before = world.fingerprint()
    outcome = world.call(tool, arguments)
    assert "error" in outcome.value, outcome.text
    assert world.fingerprint() == before
    return outcome


def _keys(service: str, collection: str) -> list[str]:
    return [next(iter(row.values())) for row in RECORDS[service][collection]]


KNOWN = {
    "event_id": _keys("calendar", "events"), "room_id": _keys("calendar", "rooms"), "contact_id": _keys("contacts", "contacts"),
    "customer_id": _keys("crm", "customers"), "ticket_id": _keys("helpdesk", "tickets"), "message_id": _keys("gmail", "messages"),
    "thread_id": ["TH-1", "M-1"], "article_id": _keys("kb", "articles"), "transaction_id": _keys("finance", "transactions"),
    "task_id": _keys("todo", "tasks"), "product_id": _keys("inventory", "products"), "order_id": _keys("inventory", "orders"),
    "path": [*FILES, "notes", "brief.md/x", "new.md", "a/../b"], "folder": ["notes", "notes/", ".", "brief.md"],
}
KNOWN |= {"customer_ids": KNOWN["customer_id"], "reply_to_message_id": KNOWN["message_id"], "transactions": KNOWN["transaction_id"]}
"""Ids that exist, by the name of the argument that takes them."""
WORDS = st.sampled_from(["SSL证书", "can't", "a-b AND", '"', "NEAR(", "key", "Zürich", "🔥", " ", "inbox", "SENT", "2026-03-10", "VIP", "all"])
TEXT = st.one_of(WORDS, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20))
ADDRESSES = st.sampled_from(["ann@example.com", "Ann <ann@example.com>, bob@example.com", "nobody", "", "李@例子.cn"])


def drawn(form: Mapping[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """Values that a JSON schema allows. Ids are known ones half of the time."""
    if "anyOf" in form:
        return st.one_of([drawn(one, name) for one in form["anyOf"]])
    if "enum" in form:
        return st.sampled_from(form["enum"])
    kind = form["type"]
    if kind == "array":
        low, unique = form.get("minItems", 0), form.get("uniqueItems", False)
        return st.lists(drawn(form["items"], name), min_size=low, max_size=low + 2, unique=unique)
    if kind == "integer":
        return st.integers(form.get("minimum", -(2**40)), form.get("maximum", 2**40))
    if kind == "string":
        return _strings(form, name).filter(lambda text: form.get("minLength", 0) <= len(text) <= form.get("maxLength", 2**20))
    numbers = st.one_of(st.sampled_from([0, 0.20, 100.10, 100.30, 5000]), st.floats(-1e12, 1e12, allow_subnormal=False).filter(_kept))
    return {"boolean": st.booleans(), "null": st.none(), "number": numbers}[kind]


def _strings(form: Mapping[str, Any], name: str) -> st.SearchStrategy[str]:
    if form.get("format") == "date":
        return st.dates().map(date.isoformat)
    if form.get("format") == "date-time":
        return st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)
    if name == "to":
        return st.integers(0, 3).flatmap(lambda other: TEXT if other == 3 else ADDRESSES)
    return st.integers(0, 1).flatmap(lambda unknown: TEXT if unknown else st.sampled_from(KNOWN[name])) if name in KNOWN else TEXT


def _kept(number: float) -> bool:
    return number == 0 or abs(number) > 1e-30


def arguments_of(tool: str) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that a tool's schema allows, optional ones given or not."""
    schema = TOOLS[tool].parameters
    forms = {name: drawn(form, name) for name, form in schema["properties"].items()}
    required = {name: forms[name] for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional={name: form for name, form in forms.items() if name not in required})
