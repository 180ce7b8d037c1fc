"""Made-up conversations on which chat formats are tried before anything is played."""

from typing import Any, NamedTuple

from cowork_gym.core.messages import Message, ToolCall

__all__ = ["CONVERSATIONS", "OPENINGS", "TOOLS", "Round"]

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {
        "name": "look", "description": "Look it up.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string", "description": "Where."}}, "required": ["at"]},
    }},
]
_THOUGHT = "<think>\nLet me see.\n</think>\n\n"
OPENINGS = (
    (Message("user", "first request"),),
    (Message("system", "the rules"), Message("user", "first request")),
)


class Round(NamedTuple):
    """An answer and what comes back."""

    calls: int
    text: str
    new: tuple[Message, ...]

    @classmethod
    def of(cls, calls: int, text: str, new: str) -> "Round":
        """One whose calls are answered; then the user says something, where there is anything to say."""
        results = tuple(Message("tool", f"result {one} of {new}", tool_call_id=_id(one), name="look") for one in range(calls))
        return cls(calls, text, (*results, Message("user", new)) if new and not calls else results)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that `new` answers."""
        return tuple(ToolCall("look", {}, _id(one)) for one in range(self.calls))


def _id(number: int) -> str:
    return f"look0000{number}"


CONVERSATIONS = (
    (Round.of(0, "", "second request"),),
    (Round.of(1, "", "a"),),
    (Round.of(2, "", "b"), Round.of(1, "", "c")),
    (Round.of(1, _THOUGHT, "d"), Round.of(0, _THOUGHT, "second request"), Round.of(1, "", "e")),
    (Round.of(0, "", "second request"), Round.of(1, "", "f"), Round.of(0, "", "third request"), Round.of(0, "", "fourth request")),
)
"""The shapes of conversation that are tried, each with and without a system message and tools."""
