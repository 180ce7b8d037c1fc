"""A chat format of 300 ids for tests: words by their checksum, roles and the end of a message as ids of their own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

from cowork_gym.core.messages import InvalidAction, Message, final
from cowork_gym.harness.policies.policy import Action
from cowork_gym.harness.tokens import ChatFormat

Read = Callable[[Sequence[int], Sequence[Mapping[str, Any]]], Action]
VOCABULARY = 300
END = 260
_ROLES = {"system": 256, "user": 257, "assistant": 258, "tool": 259}


def words(text: str) -> list[int]:
    return [crc32(one.encode()) % 256 for one in text.split()]


def rendered(*messages: Message) -> list[int]:
    return [id for one in messages for id in (_ROLES[one.role], *words(f"{one.content or ''} {one.tool_calls or ''}"), END)]


class WordFormat(ChatFormat):
    """Renders words; what an answer says is for `read` to decide."""

    fingerprint, stop, flaw = "words", (END,), ""

    def __init__(self, read: Read = lambda ids, tools: final(" ".join(map(str, ids)))) -> None:
        self._read = read

    def open(self, messages, tools):
        return (*words(" ".join(one["function"]["name"] for one in tools)), *rendered(*messages), _ROLES["assistant"])

    def extend(self, messages, *, closed):
        assert messages and all(one.role != "assistant" for one in messages)
        return (*(() if closed else (END,)), *rendered(*messages), _ROLES["assistant"])

    def read(self, ids, finish, tools):
        return InvalidAction("cut off", " ".join(map(str, ids))) if finish == "length" else self._read(ids, tools)
