"""What a model's text says: thoughts, prose and calls, told apart in one pass, so that a mark inside a JSON string is no mark."""

import re
from dataclasses import dataclass, field
from typing import Literal

from cowork_gym.core.messages import InvalidAction, Message, ToolCall, final
from cowork_gym.harness.policies.policy import Action
from cowork_gym.harness.tokens.calls.families import FAMILIES
from cowork_gym.harness.tokens.calls.family import Family, Tools, Unreadable

__all__ = ["read_answer"]

_THOUGHTS = r"<think>|</think>|\[THINK\]|\[/THINK\]"
_CLOSES = {"<think>": "</think>", "[THINK]": "[/THINK]"}
_CALL_LIKE = re.compile(
    r"<tool_call>\s*[{<\[]|<function=|\[TOOL_CALLS\]|<\|python_tag\|>"
    r'|\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"(?:arguments|parameters)"\s*:',
)
_BETWEEN = re.compile(r"(?:[\s;,]|```\w*)*")
_UNDONE = "nothing in the answer was executed"


def read_answer(text: str, family: str, *, finish: Literal["stop", "length"], tools: Tools, thinking: bool = False) -> Action:
    """The action in a whole answer.

    One call that cannot be read makes the answer invalid, and so does markup of a call that nobody reads: in thoughts without a call after
    them, or in another family's form. Which tools exist is not asked: the world answers calls of unknown ones.

    Args:
        text: The answer without its stop token, special tokens kept.
        family: A key of `FAMILIES`.
        finish: Why it ended.
        tools: The offered tools, as OpenAI tool schemas; they give types to values of families that write none.
        thinking: Whether the prompt ended inside a `<think>` block.

    Returns:
        A message with the text around the calls, thoughts left out, or an `InvalidAction`. Arguments are the JSON text that was written.
    """
    if finish == "length":
        return InvalidAction("the answer was cut off at the token limit, and nothing in it was executed", text)
    reading = _Reading(FAMILIES[family])
    try:
        reading.read(text, tools, thinking)
    except Unreadable as error:
        return InvalidAction(f"tool call {len(reading.actions) + 1} cannot be read: {error}; {_UNDONE}", text)
    if not reading.actions and any(map(_CALL_LIKE.search, reading.thoughts)):
        return InvalidAction(f"a tool call stood inside the thinking block; {_UNDONE}", text)
    if reading.open:
        return InvalidAction(f"the thinking block was not closed; {_UNDONE}", text)
    if any(map(_CALL_LIKE.search, reading.prose)):
        return InvalidAction(f"a tool call stood in the text in a form that is not this model's; {_UNDONE}", text)
    return reading.action()


@dataclass(slots=True)
class _Reading:
    """What was found so far."""

    family: Family
    actions: list[ToolCall | str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    open: bool = False
    """Whether the answer ended inside a thinking block."""

    def read(self, text: str, tools: Tools, thinking: bool) -> None:
        """Find everything in an answer.

        Raises:
            Unreadable: A call is not well-formed; those before it are in `actions`.
        """
        marks = re.compile(f"{_THOUGHTS}|{self.family.marks.pattern}")
        start = at = self._think(text, 0, "</think>") if thinking else 0
        while mark := marks.search(text, at):
            before, done = len(self.actions), self._done
            if mark[0] in _CLOSES:
                at = self._think(text, mark.end(), _CLOSES[mark[0]])
            elif mark[0] in _CLOSES.values():  # the block was opened by the prompt: all that came before is thought
                self.thoughts.append(text[:mark.start()])
                self.actions.clear()
                self.prose.clear()
                start = at = mark.end()
                continue
            else:
                at = self.family.read(mark, self.actions, tools)
                if len(self.actions) == before:
                    continue
            if done:
                del self.actions[before:]
            else:
                self.prose.append(text[start:mark.start()])
            start = at
        if not self._done:
            self.prose.append(text[start:])

    def action(self) -> Message:
        """The message, if everything could be read."""
        if self.actions and isinstance(self.actions[0], str):
            return final(self.actions[0])
        calls = tuple([one for one in self.actions if isinstance(one, ToolCall)])
        if not calls:
            return final("".join(self.prose).strip())
        said = [one.strip() for one in self.prose if not _BETWEEN.fullmatch(one)]
        return Message("assistant", "\n".join(said) or None, calls)

    @property
    def _done(self) -> bool:
        return self.family.single and bool(self.actions)

    def _think(self, text: str, at: int, close: str) -> int:
        end = text.find(close, at)
        self.open = end < 0
        self.thoughts.append(text[at:] if self.open else text[at:end])
        return len(text) if self.open else end + len(close)
