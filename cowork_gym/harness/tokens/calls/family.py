"""What a family of chat templates is: the marks of its tool calls, and who reads what stands at a mark."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from cowork_gym.core.errors import CoworkError
from cowork_gym.core.messages import ToolCall

__all__ = ["Family", "Reader", "Tools", "Unreadable"]

Tools: TypeAlias = Sequence[Mapping[str, Any]]
"""OpenAI tool schemas."""
Reader: TypeAlias = Callable[[re.Match[str], list[ToolCall | str], Tools], int]
"""Given a mark, adds the calls that stand there to a list (or a final answer, as a string) and says where they end.

It adds nothing if the mark turns out to be prose, and raises `Unreadable` if it is neither.
"""


class Unreadable(CoworkError):
    """A call that is not well-formed. The text is the reason that the agent reads."""


class Family(NamedTuple):
    """How models with one kind of chat template write tool calls."""

    marks: re.Pattern[str]
    """Where a call may begin, and what must not stand outside of one."""
    read: Reader
    single: bool = False
    """Whether only the first action counts, since what follows is made up."""
