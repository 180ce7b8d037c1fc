"""The task that is measured: a desk of five services with 500 records in five filled tables, and a script of ten calls."""

from collections.abc import Mapping, Sequence
from datetime import date
from random import Random
from typing import Any

from cowork_gym.core.ids import generator
from cowork_gym.core.task import Budgets, Task
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.graders import GRADER_VERSION

__all__ = ["ANSWER", "READ", "SCRIPT", "WRITE", "Call", "make_task"]

Call = tuple[str, Mapping[str, Any]]
"""A tool and its arguments."""

READ: Call = ("crm_get_customer", {"customer_id": "CUS-017"})
WRITE: Call = ("helpdesk_update_ticket", {"ticket_id": "TCK-042", "resolution": "The certificate was renewed as in KB-007.", "tags": ["ssl", "done"]})
SCRIPT: Sequence[Call] = (
    READ,
    ("helpdesk_get_ticket", {"ticket_id": "TCK-042"}),
    ("kb_get_article", {"article_id": "KB-007"}),
    WRITE,
    ("gmail_get_message", {"message_id": "MSG-011"}),
    ("finance_get_transaction", {"transaction_id": "TRX-099"}),
    ("crm_get_customer", {"customer_id": "CUS-018"}),
    ("helpdesk_update_ticket", {"ticket_id": "TCK-043", "priority": "high"}),
    ("helpdesk_get_ticket", {"ticket_id": "TCK-043"}),
    ("gmail_save_draft", {"to": "ann@example.com", "subject": "Your ticket", "body": "It is done."}),
)
"""Seven reads (one of which marks a mail as read) and three writes."""
ANSWER = "Ticket TCK-042 is resolved as in KB-007."

_SERVICES = ("crm", "helpdesk", "gmail", "kb", "finance")
_TOOLS = (
    "crm_list_customers", "crm_get_customer", "helpdesk_list_tickets", "helpdesk_get_ticket", "helpdesk_update_ticket", "gmail_list_messages",
    "gmail_get_message", "gmail_save_draft", "kb_search", "kb_get_article", "finance_list_transactions", "finance_get_transaction",
)
_WORDS = (
    "account", "certificate", "customer", "deploy", "error", "expires", "gateway", "invoice", "key", "ledger", "login", "migration", "network",
    "payment", "queue", "renewal", "rotation", "server", "session", "token", "upgrade", "window", "证书", "过期", "Zürich",
)
_GRADING: Mapping[str, Any] = {
    "schema_version": 1,
    "forbidden_tools": ["crm_list_customers"],
    "checks": [
        {"id": "customer", "kind": "tool_called_with", "weight": 0.2, "tool": "crm_get_customer", "arguments": {"customer_id": "CUS-017"}},
        {"id": "ticket", "kind": "tool_called_with", "weight": 0.2, "tool": "helpdesk_get_ticket", "arguments": {"ticket_id": "TCK-042"}},
        {"id": "article", "kind": "tool_called_with", "weight": 0.2, "tool": "kb_get_article", "arguments": {"article_id": "KB-007"}},
        {"id": "updated", "kind": "audit_record", "weight": 0.4, "collection": "helpdesk.updated_tickets", "where": {"ticket_id": "TCK-042"}},
        {"id": "rest", "kind": "unchanged", "allow": [{"table": "helpdesk.tickets"}, {"table": "gmail.drafts"}]},
    ],
    "outcomes": [
        {"id": "resolved", "kind": "row_state", "table": "helpdesk.tickets", "key": "TCK-042", "fields": {"resolution": {"contains": "KB-007"}}},
    ],
}


def make_task(seed: int = 0) -> Task:
    """The task, without a package on disk."""
    random = generator(seed, "desk")
    tools = {name: tool for service in _SERVICES for name, tool in REGISTRY.services()[service].tools().items()}
    return Task(
        id="Desk", version=0, title="A desk to measure", request="Resolve the certificate ticket and tell me which article helped.",
        mock_today=date(2026, 3, 2), services=_SERVICES, tools=_TOOLS, budgets=Budgets(turns=10_000, calls=10_000), world=_world(random),
        contracts={name: tools[name].parameters for name in _TOOLS}, grading=_GRADING, grader_version=GRADER_VERSION,
    )


def _world(random: Random) -> Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]:
    return {
        "crm": {"customers": [_customer(random, n) for n in range(80)]},
        "helpdesk": {"tickets": [_ticket(random, n) for n in range(120)]},
        "gmail": {"messages": [_message(random, n) for n in range(100)]},
        "kb": {"articles": [_article(random, n) for n in range(50)]},
        "finance": {"transactions": [_transaction(random, n) for n in range(150)]},
    }


def _text(random: Random, words: int) -> str:
    return " ".join(random.choices(_WORDS, k=words))


def _day(random: Random) -> str:
    return f"2026-02-{random.randint(1, 28):02d}"


def _customer(random: Random, n: int) -> dict[str, Any]:
    return {
        "customer_id": f"CUS-{n:03d}", "name": _text(random, 2).title(), "email": f"c{n}@example.com", "tier": random.choice(("vip", "standard")),
        "status": random.choice(("active", "at_risk")), "annual_revenue": random.randint(1, 10**6), "notes": _text(random, 20), "region": "EU",
    }


def _ticket(random: Random, n: int) -> dict[str, Any]:
    return {
        "ticket_id": f"TCK-{n:03d}", "title": _text(random, 5), "description": _text(random, 25), "customer_id": f"CUS-{n % 80:03d}",
        "priority": random.choice(("low", "medium", "high")), "tags": random.sample(_WORDS, 3), "created_at": f"{_day(random)}T10:00:00Z",
    }


def _message(random: Random, n: int) -> dict[str, Any]:
    return {
        "message_id": f"MSG-{n:03d}", "from": f"c{n % 80}@example.com", "to": "me", "subject": _text(random, 5), "body": _text(random, 30),
        "date": f"{_day(random)}T11:00:00Z", "labels": ["INBOX"],
    }


def _article(random: Random, n: int) -> dict[str, Any]:
    tags = random.sample(_WORDS, 2)
    return {"article_id": f"KB-{n:03d}", "title": _text(random, 5), "tags": tags, "content": _text(random, 60), "category": "ops"}


def _transaction(random: Random, n: int) -> dict[str, Any]:
    return {
        "transaction_id": f"TRX-{n:03d}", "date": _day(random), "amount": random.randint(100, 10**6), "currency": "JPY", "status": "completed",
        "description": _text(random, 4), "category": random.choice(("hosting", "travel")), "customer_id": f"CUS-{n % 80:03d}",
    }
