"""Which spans of a conversation are learned: history conditions, and so does an empty thinking block."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from cowork_gym.core.errors import nearest

__all__ = ["ROLES", "SpanMask", "empty_think", "span_mask"]

ROLES = {
    "asst": True, "assistant": True, "replayed_asst": False, "summary_by_harness": False, "summary_by_policy": True, "sys": False,
    "system": False, "tool": False, "user": False,
}
"""Whether the loss counts on a span, by its role: what the policy newly wrote, never what it is shown, a prefix that is replayed included."""

_EMPTY_THINK = re.compile(r"\s*(?:(?:<think>\s*)?</think>|(?:\[THINK\]\s*)?\[/THINK\])\s*")


class SpanMask(NamedTuple):
    """A loss mask in runs."""

    runs: tuple[tuple[bool, int], ...]
    """Of each span, in order: whether the loss counts, and on how many tokens."""

    @property
    def supervised(self) -> int:
        """How many tokens are targets."""
        return sum(tokens for trained, tokens in self.runs if trained)


def span_mask(spans: Iterable[tuple[str, int]]) -> SpanMask:
    """The loss mask of a conversation under history masking.

    Prompts, tool results, summaries by the harness and replayed prefixes condition only (Occamy-1.0, section 5.1). A summary is learned where
    the policy wrote it.

    Args:
        spans: Role and number of tokens of each span, in order. The roles are those of `ROLES`.

    Raises:
        ValueError: A role is unknown, or a number negative.
    """
    runs = []
    for role, tokens in spans:
        if role not in ROLES:
            raise ValueError(f"unknown role {role!r} of a span, {nearest(role, ROLES)}")
        if tokens < 0:
            raise ValueError(f"a span of {role} has {tokens} tokens")
        runs.append((ROLES[role], tokens))
    return SpanMask(tuple(runs))


def empty_think(answer: str) -> int:
    r"""How many characters an empty thinking block takes at the head of an answer, with the white space around it; 0 for none.

    Any block counts that has nothing but white space between its marks, not only the literal `<think>\n\n</think>\n\n`. Its first mark may stand
    in the prompt instead, as in the templates of Qwen 3.5 and 3.6.
    """
    found = _EMPTY_THINK.match(answer)
    return found.end() if found else 0
