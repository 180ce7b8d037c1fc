"""The common beginning of two rendered texts, in which no token of either is cut in two."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.harness.tokens.plain_text import common

TOKENS = re.compile(r"<a>|<ab>|<end>")


@pytest.mark.parametrize(("one", "other", "length"), [
    ("", "", 0), ("x", "", 0), ("xy", "xy", 2), ("xy", "xyz", 2), ("xay", "xby", 1),
    ("x<a>y", "x<a>z", 4), ("x<a>y", "x<ab>y", 1), ("x<ab>", "x<a>", 1), ("x<end>", "x<en", 1), ("x<en", "x<end>", 1),
    ("x<a><ab>", "x<a><a>", 4), ("x<a>", "x<a><a>", 4), ("x<", "x<b", 2), ("<a>", "<b>", 0),
])
def test_no_token_is_cut(one: str, other: str, length: int) -> None:
    assert common(one, other, TOKENS) == length


@settings(max_examples=200)
@given(*[st.lists(st.sampled_from(["<a>", "<ab>", "<end>", "<", "a", "b", "en", ">"]), max_size=6).map("".join)] * 2)
def test_it_is_common_whole_and_the_longest(one: str, other: str) -> None:
    length = common(one, other, TOKENS)

    def fits(at: int) -> bool:
        whole = not any(found.start() < at < found.end() for text in (one, other) for found in TOKENS.finditer(text))
        return one[:at] == other[:at] and whole

    assert fits(length)
    assert not any(fits(at) for at in range(length + 1, min(len(one), len(other)) + 1))
