"""A small desk with all five services, with text that is easily spoiled, and a task on it."""

from datetime import date
from typing import Any

from cowork_gym.core.task import Budgets, Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.world import World
from cowork_gym.mock_services.crm import CRM
from cowork_gym.mock_services.finance import Finance
from cowork_gym.mock_services.gmail import Gmail
from cowork_gym.mock_services.helpdesk import Helpdesk
from cowork_gym.mock_services.kb import KB
from cowork_gym.mock_services.kit import Service, Tool

SERVICES: dict[str, type[Service]] = {one.name: one for one in (CRM, Finance, Gmail, Helpdesk, KB)}
TOOLS: dict[str, Tool] = {name: tool for service in SERVICES.values() for name, tool in service.tools().items()}
SPOILABLE = "Zürich €5 🙂 证书 \u202e \"quoted\"\n\ttab \\ \x7f"
DAY = date(2026, 3, 10)
RECORDS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "crm": {"customers": [{"customer_id": "C-1", "name": SPOILABLE, "tier": "vip", "annual_revenue": 1234567.89}]},
    "finance": {"transactions": [
        {"transaction_id": "TX-1", "date": "2026-03-01", "amount": 33.0, "currency": "EUR", "description": "Rent", "status": "completed"},
        {"transaction_id": "TX-2", "date": "2026-03-02", "amount": 0.1, "currency": "EUR", "description": "Pin", "status": "pending"},
    ]},
    "gmail": {"messages": [
        {"message_id": "M-1", "thread_id": "TH-1", "from": "ann@example.com", "to": "me@example.com", "subject": SPOILABLE,
         "date": "2026-03-09T08:00:00Z", "body": f"Grüße aus {SPOILABLE}"},
    ]},
    "helpdesk": {"tickets": [
        {"ticket_id": "T-1", "title": "SSL", "description": "证书 expired"}, {"ticket_id": "T-2", "title": "Key", "description": ""},
    ]},
    "kb": {"articles": [{"article_id": "KB-1", "title": "SSL 证书", "content": "Renew the certificate."}]},
}
GRADING = {
    "schema_version": 1,
    "checks": [{"id": "listed", "kind": "tool_called", "weight": 1, "tool": "helpdesk_list_tickets"}],
    "outcomes": [{"id": "listed_first", "kind": "tool_called", "tool": "helpdesk_list_tickets"}],
}


def desk_task(turns: int = 40, id: str = "Desk") -> Task:
    return Task(
        id=id, version=0, title="A desk", request=f"List the tickets of {SPOILABLE}", mock_today=DAY, services=tuple(SERVICES), tools=tuple(TOOLS),
        budgets=Budgets(turns=turns), world=RECORDS, contracts={name: tool.schema for name, tool in TOOLS.items()}, grading=GRADING,
        grader_version="test",
    )


def desk_blueprint() -> Blueprint:
    return blueprint_of(desk_task(), SERVICES)


def desk_world(seed: int = 7) -> World:
    return World(desk_blueprint(), seed)
