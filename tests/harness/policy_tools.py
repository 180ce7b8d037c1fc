"""Eight tool schemas of the shape that the services give, for tests of policies."""

from typing import Any


def tool(name: str, description: str, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}], "default": None}


_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_PRIORITY = {"type": "string", "enum": ["low", "medium", "high", "critical"]}

TOOLS = [
    tool("crm_list_customers", "List all customers.", status=_nullable(_TEXT)),
    tool("crm_get_customer", "One customer with all its fields.", ("customer_id",), customer_id=_TEXT),
    tool("crm_export_report", "Export customers as a report.", ("title", "customer_ids", "summary"), title=_TEXT, customer_ids=_TEXTS, summary=_TEXT),
    tool("helpdesk_list_tickets", "List tickets, optionally by status.", status=_nullable(_TEXT)),
    tool("helpdesk_get_ticket", "One ticket with its history.", ("ticket_id",), ticket_id=_TEXT),
    tool(
        "helpdesk_update_ticket", "Change priority, tags, category, assignment, status or resolution of a ticket.", ("ticket_id",),
        ticket_id=_TEXT, priority=_nullable(_PRIORITY), tags=_nullable(_TEXTS), category=_nullable(_TEXT), assigned_to=_nullable(_TEXT),
        status=_nullable(_TEXT), resolution=_nullable(_TEXT),
    ),
    tool(
        "kb_search", "Search the knowledge base.", ("query",),
        query=_TEXT, category=_nullable(_TEXT), max_results={"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
    ),
    tool("kb_get_article", "One article with its text.", ("article_id",), article_id=_TEXT),
]
