"""A dialogue as a row of a data set, and back: messages in OpenAI's form, each with whether it is learned."""

import json
from collections.abc import Mapping
from typing import Any

from cowork_gym.core.errors import ToolError
from cowork_gym.core.messages import Message
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance

__all__ = ["dialogue_of", "is_text", "row_of"]

_SOURCE = ("seal", "task", "release_id", "seed", "agent", "run", "segment", "trial")


def row_of(dialogue: Dialogue) -> dict[str, Any]:
    """The row of a dialogue. Every row has the same keys, and every message too, so that columns have one type.

    Tool schemas and scores are JSON texts: their forms differ from row to row.
    """
    source = dialogue.source
    segment = "" if source.segment is None else f"-s{source.segment}"
    return {
        "id": f"{source.seal[:16]}-r{source.run}{segment}",
        "messages": [_message(one) for one in dialogue.utterances],
        "tools": _json(list(dialogue.tools)),
        "source": {name: getattr(source, name) for name in _SOURCE},
        "completion": dialogue.completion, "reward": dialogue.reward, "capabilities": [*dialogue.capabilities],
        "scores": _json(dialogue.scores), "weight": dialogue.weight,
    }


def dialogue_of(row: Mapping[str, Any]) -> Dialogue:
    """The dialogue of a row, whether it was read from JSON lines, from Parquet or by `datasets`.

    Raises:
        ValueError: The row is of another form; the text names what is wrong.
    """
    try:
        told = tuple([Utterance(_read_message(one), bool(one["trained"]), str(one.get("why") or "")) for one in row["messages"]])
        if wrong := next((one for one in told if one.trained and one.message.role != "assistant"), None):
            raise ValueError(f"a message of the role {wrong.message.role} is to be learned")
        return Dialogue(
            Source(**{name: row["source"][name] for name in _SOURCE}), told, tuple(json.loads(row["tools"])), row["completion"], row["reward"],
            tuple(row["capabilities"]), json.loads(row["scores"]), row["weight"],
        )
    except (KeyError, TypeError, AttributeError, ToolError) as error:
        raise ValueError(f"not a row of dialogues: {type(error).__name__}: {error}") from None


def is_text(row: Mapping[str, Any]) -> bool:
    """Whether all of it can be written as UTF-8. What an agent sent may hold half of a surrogate pair, which is no text."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _message(one: Utterance) -> dict[str, Any]:
    form = one.message.wire()
    return {
        "role": form["role"], "content": form["content"], "tool_calls": form.get("tool_calls"), "tool_call_id": form.get("tool_call_id"),
        "name": form.get("name"), "trained": one.trained, "why": one.why,
    }


def _read_message(form: Mapping[str, Any]) -> Message:
    calls = [{"id": one["id"], "function": dict(one["function"])} for one in form.get("tool_calls") or ()]
    plain = {name: form.get(name) for name in ("role", "content", "tool_call_id", "name")}
    if plain["content"] is None and not calls:
        plain["content"] = ""
    return Message.parse({**plain, "tool_calls": calls or None})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
