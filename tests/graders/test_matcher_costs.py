"""No text that an agent may write stalls a grader, and no pattern is taken that could be stalled."""

import time
from collections.abc import Iterable
from typing import Any

import pytest

from cowork_gym.envs.registration import CATALOG, load_task
from cowork_gym.graders import Contract
from cowork_gym.graders.checks import Answer, Check, FileContent, RowState
from cowork_gym.graders.checks.counts import Counted
from cowork_gym.graders.matchers import Matcher, MatcherError, normalise, parse_matcher
from cowork_gym.graders.matchers.patterns import compile_pattern

SIZE = 250_000
SECONDS = 5.0
"""Much more than any of these takes, much less than one of them would take that grows with the square of the text."""
TEXTS = {
    "words": "paid " * (SIZE // 5), "line ends": "\n" * SIZE, "spaces": " " * SIZE, "fence": "```" + "\n" * SIZE + "x",
    "fences": "```\n" * (SIZE // 4),
    "marks": "a" + "\u0301\u0316" * (SIZE // 2), "hidden marks": "\u0301\uff9e" * (SIZE // 2), "expands": "\u0130" * SIZE, "colons": ":" * SIZE,
    "labels": "Bank change:\n" * (SIZE // 13), "steps": "ISSUE > " * (SIZE // 8), "bullets": "- " * (SIZE // 2), "stars": "*" * SIZE,
    "numbers": "1. " * (SIZE // 3), "digits": "1" * SIZE, "thousands": "1,111" * (SIZE // 5), "one line": "Article: " + "KB-2041 " * (SIZE // 8),
    "brackets": "[" * SIZE, "durations": "36 h " * (SIZE // 5), "account": "4021" * (SIZE // 4), "banks": "Northern & Vale Bank, " * (SIZE // 22),
    "grows when folded": "\ufdfa" * SIZE, "invisible": "\u200b" * SIZE, "dashes": "\u2014 " * (SIZE // 2),
}
WRITTEN: list[Any] = [
    0, "x", {"number": 0}, {"mentions_number": 7}, {"contains": "zz"}, {"contains_all": ["zz"]}, {"contains_any": ["zz"]}, {"contains_none": ["zz"]},
    {"text": "zz"}, {"regex": "paid[^.]*zz"}, {"set": [1]}, {"date": "2026-01-05"}, {"one_of": ["zz"]}, {"json": 1}, {"present": False},
    {"fields": {"a": 1}}, {"not": {"regex": "zz"}}, {"duration": "4 hours"}, {"sequence": ["a", "b"]}, {"commands": ["a"]}, {"names": ["a", "b"]},
    {"labelled": {"bank change": {"text": "x"}}},
    {"form": {"bank change": {"sequence": ["a", "b"]}}},
]


def _seconds(matcher: Matcher, text: str) -> float:
    begin = time.perf_counter()
    matcher.matches(text)
    return time.perf_counter() - begin


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_matcher_answers_soon(text: str) -> None:
    for size in (len(text), 20_000):
        assert max(_seconds(parse_matcher(written), text[:size]) for written in WRITTEN) < SECONDS


def _matchers(check: Check) -> Iterable[Matcher]:
    if isinstance(check, Answer):
        return [check.matches]
    if isinstance(check, FileContent):
        return [check.content]
    return check.fields.values() if isinstance(check, RowState) else check.where.values() if isinstance(check, Counted) else ()


@pytest.mark.parametrize("name", sorted(entry.name for entry in CATALOG.iterdir()))
def test_every_matcher_of_the_catalog_answers_soon(name: str) -> None:
    contract = Contract.parse(load_task(CATALOG / name).grading)
    matchers = {one.describe(): one for check in contract.outcomes for one in _matchers(check)}
    assert matchers
    for text in TEXTS.values():
        assert max(_seconds(one, text[:20_000]) for one in matchers.values()) < SECONDS


@pytest.mark.parametrize("pattern", [
    "(a+)+", "(?:a*)*b", "(a|b+){2,}", "((?:x[0-9]+)?y)*", "(?:(a+))+?", "(?:a{2,}){3}", r"(\(+)+", "([)]+)*",
    ".*.*", "a.*b.+c", r"[^.]*x[^;]+", r"\S+-\S+", ".{3,}x.*", "(x|xx)+y", "(a|a)+$", "(a{1,50}){1,50}b", r"\w*\w*\w*!", "[a-z]*[a-z]*!",
    r"\d+\.?\d*x", r"\s*-?\s*$", "(a?)+", "((a|b)c){2}", ".{0,60}.{0,60}.{0,60}x", ".*x.{0,200}y", "a+b+",
])
def test_patterns_that_may_stall_are_refused(pattern: str) -> None:
    with pytest.raises(MatcherError, match=r"repeats a group|several repetitions|too wide bounds"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", [
    "", "a+b", "(?:ab+c)?", "(ab|cd)?", "(?:ab)+", "(?i)^T-[0-9]+$", "x.*y", ".{0,60}a.{0,60}", r"\(+\)", r"[(+)]+[*]", r"a\?b\+c\*",
    r"(?<!\d)(?:4021[ -]?)?8877(?!\d)", r"(?:, \w{9}){0,3}", "a{2}b{,3}", r"(?P<day>\d+)-(?P=day)", "(?#(a+[*)x", "[]*+]", "(?x) a # )+",
])
def test_others_are_not(pattern: str) -> None:
    assert compile_pattern(pattern).pattern == pattern


def test_long_runs_of_marks_are_broken_and_short_ones_are_not() -> None:
    assert normalise("e\u0301") == normalise("\u00e9")
    assert normalise("a" + "\u0316\u0301" * 10) == normalise("a" + "\u0301\u0316" * 10)
    assert len(normalise("a" + "\u0301" * 1000)) > 1000
