"""What a tool's return annotation promises, as a schema and as a check."""

from decimal import Decimal
from typing import Any, NotRequired

import pytest
from office import TOOLS
from typing_extensions import TypedDict

from cowork_gym.mock_services.kit import Effect, Service, View, tool


class Line(TypedDict):
    """A line of a bill."""

    price: Decimal
    note: NotRequired[str]


class Bills(Service):
    """Bills."""

    name = "bills"

    @tool(Effect.READ)
    def lines(self) -> list[Line]:
        """Lines."""
        return []

    @tool(Effect.READ)
    def rate(self) -> float:
        """A rate."""
        return 0.5

    @tool(Effect.READ)
    def view(self) -> View:
        """A view."""
        return {}

    @tool(Effect.READ)
    def nothing(self) -> None:
        """Nothing."""

    @tool(Effect.READ)
    def anything(self):
        """Anything."""


def test_an_annotation_is_a_schema_of_json():
    lines, rate, view, nothing, anything = (one.returns for one in Bills.tools().values())
    line = {"type": "object", "description": "A line of a bill.", "required": ["price"]}
    line["properties"] = {"price": {"type": "number"}, "note": {"type": "string"}}
    assert lines == {"type": "array", "items": {"$ref": "#/$defs/Line"}, "$defs": {"Line": line}}
    assert (rate, view["type"], nothing, anything) == ({"type": "number"}, "object", {"type": "null"}, None)


@pytest.mark.parametrize(("tool_name", "text"), [
    ("lines", "[]"), ("lines", '[{"price": 12345678901234567890.123456789}, {"price": 2, "note": ""}]'), ("rate", "0.1"), ("rate", "33"),
    ("view", '{"a": [1, 2.50, null, "x"], "b": {"c": true}}'), ("nothing", "null"), ("anything", '[{"price": "2"}]'),
])
def test_a_result_that_fits(tool_name, text):
    Bills.tools()[f"bills_{tool_name}"].check_result(text)


@pytest.mark.parametrize(("tool_name", "text"), [
    ("lines", "{}"), ("lines", '[{"note": "x"}]'), ("lines", '[{"price": "2"}]'), ("lines", '[{"price": 2, "more": 1}]'),
    ("lines", '[{"price": true}]'), ("lines", '[{"price": 2, "note": null}]'), ("rate", '"1"'), ("rate", "true"), ("view", "[]"), ("nothing", "{}"),
])
def test_a_result_that_does_not(tool_name, text):
    with pytest.raises(ValueError):
        Bills.tools()[f"bills_{tool_name}"].check_result(text)


def test_every_tool_of_ours_says_what_it_returns():
    def free(form: Any) -> bool:
        return form in ({}, {"title": form.get("title")})

    assert [name for name, one in TOOLS.items() if one.returns is None or one.returns["type"] != "object" or free(one.returns)] == []
