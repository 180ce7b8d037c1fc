"""From a conversation to a demonstration under structural limits (CoworkEnv, appendix E): what is cut, and what is dropped for which reason."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from cowork_gym.core.messages import Message
from cowork_gym.trainers.data.dialogue import Dialogue, Utterance

__all__ = ["MARKER", "REPORTED", "SYSTEM", "Limits", "Size", "Verdict", "convert", "cut", "size_of", "verdict"]

MARKER = "...[truncated]"
"""Behind a tool's result that was cut; its characters count."""
SYSTEM = (
    "You are a co-work assistant. Use the tools that you are offered to find out what the records say, do exactly what the user asks for, and say "
    "what you did in your final message."
)
"""The standardised system message. The paper does not print its own."""
REPORTED: Mapping[str, int] = {
    "candidates": 1809, "kept": 937, "unusable": 494, "too_few_messages": 142, "too_many_tool_calls": 140, "over_budget": 96,
}
"""What the paper reports of one snapshot."""


class Verdict(StrEnum):
    """What becomes of a record, in the order in which it is asked."""

    UNUSABLE = "unusable"
    """No user's message that an assistant answers."""
    TOO_FEW_MESSAGES = "too_few_messages"
    TOO_MANY_TOOL_CALLS = "too_many_tool_calls"
    OVER_BUDGET = "over_budget"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Limits:
    """The published limits. Exactly at a limit, a record is kept."""

    messages: int = 5
    """The fewest, all roles counted, the system message included."""
    tool_calls: int = 20
    observation: int = 1000
    """Characters of a tool's result; what is longer is cut to as many, and marked."""
    characters: int = 40_000
    """Of all contents and the JSON text of all tool calls, marks included. A character is a code point."""
    system: str = SYSTEM
    """Put before conversations that have no system message; empty for none."""


class Size(NamedTuple):
    """What the limits are asked about."""

    messages: int
    tool_calls: int
    characters: int
    usable: bool


def verdict(size: Size, limits: Limits | None = None) -> Verdict:
    """What becomes of a record of that size."""
    most = limits or Limits()
    if not size.usable:
        return Verdict.UNUSABLE
    if size.messages < most.messages:
        return Verdict.TOO_FEW_MESSAGES
    if size.tool_calls > most.tool_calls:
        return Verdict.TOO_MANY_TOOL_CALLS
    return Verdict.OVER_BUDGET if size.characters > most.characters else Verdict.KEEP


def cut(observation: str, most: int = 1000) -> str:
    """A tool's result as it is shown: its first characters and the marker, if it has more than `most`."""
    return observation if len(observation) <= most else observation[:most] + MARKER


def size_of(messages: Iterable[Message]) -> Size:
    """The size of a conversation as it stands.

    Tool calls are serialised in OpenAI's form by `json.dumps(..., ensure_ascii=False)`, the list of a message at once.
    """
    count = calls = characters = 0
    asked = answered = False
    for one in messages:
        count += 1
        calls += len(one.tool_calls)
        characters += len(one.content or "")
        if one.tool_calls:
            characters += len(json.dumps([call.wire() for call in one.tool_calls], ensure_ascii=False))
        if (one.content or "").strip() or one.tool_calls:
            asked = asked or one.role == "user"
            answered = answered or (asked and one.role == "assistant")
    return Size(count, calls, characters, answered)


def convert(dialogue: Dialogue, limits: Limits | None = None) -> tuple[Dialogue, Verdict]:
    """A dialogue as a demonstration, and whether it is one: system message put before it, long results cut, then measured.

    A system message that is there stays: the answers were given under it.
    """
    most = limits or Limits()
    utterances = tuple([_shown(one, most.observation) for one in dialogue.utterances])
    if most.system and not any(one.message.role == "system" for one in utterances):
        utterances = (Utterance(Message("system", most.system)), *utterances)
    made = replace(dialogue, utterances=utterances)
    return made, verdict(size_of(made.messages), most)


def _shown(one: Utterance, most: int) -> Utterance:
    message = one.message
    if message.role != "tool" or message.content is None or len(message.content) <= most:
        return one
    return replace(one, message=replace(message, content=cut(message.content, most)))
