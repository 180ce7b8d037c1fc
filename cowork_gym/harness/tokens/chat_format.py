"""How messages become tokens and tokens become actions: the protocol of a chat format. Engines draw; policies put the two together."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from cowork_gym.core.messages import Message
from cowork_gym.harness.policies.policy import Action

__all__ = ["ChatFormat", "check_extension", "without_stop"]


class ChatFormat(Protocol):
    """A tokenizer with its chat template and its way of writing tool calls.

    Token-in-token-out: within a segment, the next prompt is the last one, what was sampled, and `extend(...)`; sampled ids are never
    decoded and encoded again.
    """

    fingerprint: str
    """Hash of tokenizer and template: records of one are refused by trainers that use another."""
    stop: tuple[int, ...]
    """The ids that end an answer."""
    flaw: str
    """Why this template cannot be extended; empty when it can."""

    def open(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
        """A whole conversation as a prompt, up to where the policy's answer begins.

        Args:
            messages: The visible history; it ends with a message that is not the assistant's.
            tools: The offered tools, as OpenAI tool schemas; may be empty.
        """
        ...

    def extend(self, messages: Sequence[Message], *, closed: bool) -> tuple[int, ...]:
        """What is put behind a sampled answer, up to where the next answer begins.

        Args:
            messages: What came after the answer: tool results or user messages, at least one.
            closed: Whether the answer ended with a stop token. The end of one that was cut off belongs to the extension.
        """
        ...

    def read(self, ids: Sequence[int], finish: Literal["stop", "length"], tools: Sequence[Mapping[str, Any]]) -> Action:
        """What a sampled answer says.

        Returns:
            A message whose tool calls have their arguments as the JSON text that was written, and no ids; or an `InvalidAction` for an
            answer that was cut off or whose calls cannot be read. Nothing in such an answer is executed.
        """
        ...


def check_extension(flaw: str, messages: Sequence[Message]) -> None:
    """See that something can be put behind an answer.

    Args:
        flaw: That of the format.
        messages: What is to be put there.

    Raises:
        ValueError: The format has a flaw, or there is no message, or one of the assistant's.
    """
    if flaw:
        raise ValueError(flaw)
    if not messages or any(one.role == "assistant" for one in messages):
        raise ValueError("an answer is followed by at least one message, and none of them the assistant's")


def without_stop(ids: Sequence[int], stop: Sequence[int]) -> Sequence[int]:
    """A sampled answer without the token that ended it, if one did."""
    return ids[:-1] if ids and ids[-1] in stop else ids
