"""Random actions that fit the tools' schemas: what the action space samples and what random agents play."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from cowork_gym.core.canonical import canonical
from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import Message, ToolCall, final, message

__all__ = ["sample_action", "sample_arguments"]

_FINAL = 0.04
"""The share of final answers; without them no random episode would end before its budget."""
_PAIR = 0.2
"""The share of messages with two calls."""
_WORDS = (
    "account", "bank", "certificate", "customer", "done", "invoice", "open", "payment", "report", "rotation", "ticket", "update",
    "can't", "a-b", "AND", "0", "naïve", "Zürich", "€5", "证书", "مرحبا", "🙂", '"', "\n", "%", "\\",
)
_ID = re.compile(r"(^|_)ids?$")
_FIRST_DAY = date(2025, 1, 1)


def sample_action(
    tools: Sequence[Mapping[str, Any]], generator: Random, pool: Sequence[str] = (), weights: Sequence[float] | None = None,
) -> Message:
    """A random assistant message: mostly one call, sometimes two, now and then a final answer.

    Args:
        tools: The tools in OpenAI's form, as `info["tools"]` gives them.
        generator: Where randomness comes from.
        pool: Ids seen earlier; see `sample_arguments`.
        weights: How often each tool is called, relative to the others; None for equally often. Without any weight, a final answer.
    """
    if not tools or (weights is not None and not any(weights)) or generator.random() < _FINAL:
        return final(_text(generator, {}))
    chosen = generator.choices([one["function"] for one in tools], weights, k=2 if generator.random() < _PAIR else 1)
    return message(None, *[ToolCall(one["name"], sample_arguments(one["parameters"], generator, pool)) for one in chosen])


def sample_arguments(schema: Mapping[str, Any], generator: Random, pool: Sequence[str] = ()) -> dict[str, Any]:
    """Random arguments that a tool's schema allows; optional ones are there half of the time.

    Args:
        schema: The JSON schema of a tool's arguments.
        generator: Where randomness comes from.
        pool: Ids seen earlier. Half of the texts whose argument is named `…_id` or `…_ids` are drawn from them.

    Raises:
        UserError: The schema asks for a pattern and gives no examples.
    """
    arguments: dict[str, Any] = _Sampler(generator, pool, schema.get("$defs", {})).value(schema, "")
    return arguments


@dataclass(frozen=True, slots=True)
class _Sampler:
    generator: Random
    pool: Sequence[str]
    definitions: Mapping[str, Any]

    def value(self, schema: Mapping[str, Any], name: str) -> Any:
        """A value for the argument or field of this name."""
        if "$ref" in schema:
            schema = self.definitions[schema["$ref"].rpartition("/")[2]]
        if "const" in schema:
            return schema["const"]
        if choices := schema.get("enum") or schema.get("examples"):
            return self.generator.choice(choices)
        if variants := schema.get("anyOf") or schema.get("oneOf"):
            return self.value(self.generator.choice(variants), name)
        kind = schema.get("type") or self.generator.choice(["null", "boolean", "integer", "string"])
        return getattr(self, f"_{kind}")(schema, name)

    def _object(self, schema: Mapping[str, Any], name: str) -> dict[str, Any]:
        needed, fields = schema.get("required", ()), schema.get("properties", {})
        given = {key: self.value(form, key) for key, form in fields.items() if key in needed or self.generator.random() < 0.5}
        if isinstance(free := schema.get("additionalProperties"), Mapping):
            given.update({_word(self.generator): self.value(free, name) for _ in range(self.generator.randrange(3))})
        return given

    def _array(self, schema: Mapping[str, Any], name: str) -> list[Any]:
        least = schema.get("minItems", 0)
        wanted = self.generator.randint(least, min(schema.get("maxItems", least + 2), least + 2))
        items: list[Any] = []
        while len(items) < wanted:
            items.append(self.value(schema.get("items", {}), f"{name}_ids" if schema.get("uniqueItems") else name))  # as the kit's `Ids` are
            if schema.get("uniqueItems"):
                items = list({canonical(one): one for one in items}.values())
        return items

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        if schema.get("format") == "date":
            return self._day()
        if schema.get("format") == "date-time":
            return f"{self._day()}T{self.generator.randrange(24):02}:00:00Z"
        if "pattern" in schema:
            raise UserError(f"the schema of {name!r} has a pattern, which cannot be sampled: give it `examples`")
        if _ID.search(name):
            if self.pool and self.generator.random() < 0.5:
                return self.generator.choice(self.pool)
            return f"{self.generator.choice('ABCKMT')}-{self.generator.randint(1, 2000)}"
        return _text(self.generator, schema)

    def _day(self) -> str:
        return (_FIRST_DAY + timedelta(self.generator.randrange(730))).isoformat()

    def _integer(self, schema: Mapping[str, Any], name: str) -> int:
        low, high = _bounds(schema, 1)
        return self.generator.randint(low, high)

    def _number(self, schema: Mapping[str, Any], name: str) -> int | float:
        low, high = _bounds(schema, 100)
        hundredths = self.generator.randint(low, high)
        return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100

    def _boolean(self, schema: Mapping[str, Any], name: str) -> bool:
        return self.generator.random() < 0.5

    def _null(self, schema: Mapping[str, Any], name: str) -> None:
        return None


def _bounds(schema: Mapping[str, Any], scale: int) -> tuple[int, int]:
    """The least and the greatest allowed number, in steps of one `scale`-th."""
    lows = [math.ceil(schema[key] * scale) + one for key, one in (("minimum", 0), ("exclusiveMinimum", 1)) if key in schema]
    highs = [math.floor(schema[key] * scale) - one for key, one in (("maximum", 0), ("exclusiveMaximum", 1)) if key in schema]
    high = min(highs) if highs else max([1000 * scale, *(low + 1000 * scale for low in lows)])
    return max(lows) if lows else min(0, high - 1000 * scale), high


def _text(generator: Random, schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    text = _word(generator)
    while len(text) < least or generator.random() < 0.6:
        text += " " + _word(generator)
    return text[:most]


def _word(generator: Random) -> str:
    return generator.choice(_WORDS)
