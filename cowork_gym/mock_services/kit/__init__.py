"""The kit: what a service is made of. One typed definition yields schema, validation, route and ledger entry."""

from cowork_gym.core.errors import ErrorKind, ToolError
from cowork_gym.core.ledger import Effect
from cowork_gym.mock_services.kit.columns import Caseless, Exact, Json, Labels
from cowork_gym.mock_services.kit.records import Field, Record, View, summary
from cowork_gym.mock_services.kit.service import Service
from cowork_gym.mock_services.kit.tables import Span
from cowork_gym.mock_services.kit.tools import Tool, given, tool

__all__ = [
    "Caseless", "Effect", "ErrorKind", "Exact", "Field", "Json", "Labels", "Record", "Service", "Span", "Tool", "ToolError", "View",
    "given", "summary", "tool",
]
