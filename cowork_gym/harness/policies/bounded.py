"""JSON schemas in which everything ends, for constrained decoding and for one-line signatures. Used by the prompted and the smol policy."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

__all__ = ["action_schema", "bounded"]

Schema = Mapping[str, Any]

_PLAIN = ("integer", "number", "boolean", "null")


def bounded(schema: Any, *, length: int = 60, items: int = 3) -> dict[str, Any]:
    """A copy in which every string and array has an end, every object a fixed set of keys, and every $ref is written out.

    Without these bounds a small model fills one string until its tokens are used up. What llama.cpp ignores silently
    (`pattern`, `format`, `uniqueItems`, conditions) is left out, so the caller must still validate what comes.

    Args:
        schema: Any JSON schema; a recursive one is cut after six levels.
        length: The longest string, unless the schema has a shorter one.
        items: The longest array, unless the schema has a shorter one or demands a longer one.
    """
    return _bounded(schema, {}, 6, length, items)


def _bounded(schema: Any, defs: Schema, depth: int, length: int, items: int) -> dict[str, Any]:
    if depth == 0:
        return {"type": "null"}
    if not isinstance(schema, Mapping):
        return {"type": "string", "maxLength": length}
    defs = schema.get("$defs", defs)
    again = partial(_bounded, defs=defs, depth=depth - 1, length=length, items=items)
    if "$ref" in schema:
        return again(defs.get(schema["$ref"].rsplit("/", 1)[-1]))
    if len(schema.get("allOf", ())) == 1:
        return again(schema["allOf"][0])
    if fixed := {key: schema[key] for key in ("enum", "const") if key in schema}:
        return fixed
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return {"anyOf": [again(one) for one in alternatives]}
    if isinstance(schema.get("type"), Sequence) and not isinstance(schema["type"], str):
        return {"anyOf": [again({**schema, "type": one}) for one in schema["type"]]}
    return _typed(schema, again, length, items)


def _typed(schema: Schema, again: Callable[[Any], dict[str, Any]], length: int, items: int) -> dict[str, Any]:
    """A schema of one type; `again` bounds what is inside."""
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind in _PLAIN:
        return {key: schema[key] for key in ("type", "minimum", "maximum") if key in schema}
    if kind == "array":
        least = schema.get("minItems", 0)
        most = max(min(schema.get("maxItems", items), items), least)
        return {"type": "array", "items": again(schema.get("items")), "minItems": least, "maxItems": most}
    if kind == "object":
        inside = {key: again(one) for key, one in schema.get("properties", {}).items()}
        required = [key for key in schema.get("required", ()) if key in inside]
        return {"type": "object", "properties": inside, "required": required, "additionalProperties": False}
    return {"type": "string", "maxLength": min(schema.get("maxLength", length), length)}


def action_schema(tools: Sequence[Schema], *, answer_length: int = 120) -> dict[str, Any]:
    """A call of one of the tools, or a final answer; the first key decides the branch.

    Args:
        tools: OpenAI tool schemas; none leaves only the final answer.
        answer_length: The longest final answer.
    """
    calls = [
        _closed(name={"const": one["function"]["name"]}, arguments=bounded(one["function"].get("parameters", {"type": "object"})))
        for one in tools
    ]
    return {"anyOf": [*calls, _closed(final={"type": "string", "maxLength": answer_length})]}


def _closed(**properties: Schema) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
