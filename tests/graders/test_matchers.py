from decimal import Decimal
from typing import Any

import pytest

from cowork_gym.graders.matchers import MATCHERS, parse_matcher, show

CASES: list[tuple[Any, list[Any], list[Any]]] = [  # matcher, what it matches, what it does not
    (33, [33, 33.0, Decimal("33.00")], ["33.00", "33", True, None, 34, [33]]),
    (1, [1, 1.0], [True, "1"]),
    (0, [0, 0.0, -0.0, Decimal("0.00")], [None, "", False, [], float("nan"), float("inf"), "0"]),
    (True, [True], [1, "true", None]),
    (None, [None], ["", 0, False, [], "null"]),
    ("open", ["open"], ["Open", " open", None, ["open"]]),
    ([1, 2], [[1, 2], (1.0, 2)], [[2, 1], [1, 2, 2], 1]),
    ({"equals": {"a": [1], "b": 2}}, [{"b": 2.0, "a": [1]}], [{"a": [1]}, {"a": [1], "b": 2, "c": 3}, '{"a": [1], "b": 2}']),
    ({"number": 0}, [0, 0.0, "0", "0.00", Decimal("0")],
     ["", None, "NaN", "inf", float("nan"), float("inf"), '__import__("os").getpid()', False, []]),
    ({"number": 33}, [33.0, "33"], [34, 32.99, "33.01"]),
    ({"mentions_number": 33}, ["It is 33."], ["It is 34, or 32."]),
    ({"number": 33, "tolerance": 0.5}, [33, 32.5, "33.5", "$33.00"], [32.49, "33.51", "33 items", True, None]),
    ({"mentions_number": 1234.5}, ["That is $1,234.50."], ["1234", "INV-1234.5", 1234.5, None, ""]),
    ({"mentions_number": 10, "tolerance": 1}, ["about 9 or so"], ["about 8 or so"]),
    ({"contains": "API  key"}, ["Rotate the api key now", "ａｐｉ ｋｅｙ", ["API KEY"]], ["api-key", ["the api key"], None, 3, {"API key": 1}]),
    ({"contains": "straße"}, ["STRASSE 5"], ["Strase"]),
    ({"contains_all": ["a", "b"]}, ["b and A", ["a", "b", "c"]], ["a", ["a"], None]),
    ({"contains_any": ["x", "b"]}, ["B", ["x"]], ["y", [], None]),
    ({"contains_none": ["IBAN"]}, ["nothing", None, 3, []], ["the iban", ["iban"]]),
    ({"text": "Straße\n 5"}, ["  STRASSE 5 "], ["Straße 55", None, 5]),
    ({"regex": "^T-\\d+$"}, ["T-12", "T\u201112", "T–12", "\ufeffT-12", "Ｔ-１２"], ["t-12", "T-12 ", None, 12]),
    ({"regex": "x"}, ["x" * 20_000], ["x" * 20_001, "x" + "\ufdfa" * 19_000]),
    ({"contains": "a-b c"}, ["A\u2010B\u00a0C", "a\u200b−b c"], ["ab c"]),
    ({"not": {"regex": "y"}}, ["x" * 20_000, None], ["y", "x" * 20_001, "\ufdfa" * 19_000, {"a": ["x" * 20_001]}]),
    ({"duration": "36 hours"}, ["36 hours", "36h", "36 HRS", "1.5 days", "1 day and 12 hours", "2160 min", "thirty-six hours",
                                "1 day, 720 minutes", "36-hour", "36.0 h", "36\u2011hours", "36\u00a0hours", "\ufeff36 hours", "３６ hours"],
     ["36", "hours", "36 minutes", "136 hours", "36 or 72 hours", "36 hours 72 hours", "not 36 hours", "36 hours, then more", "", None, 36,
      "-36 hours",
      "- 36 hours", "−36 hours", "36 hours and", "36 hours,", "and 36 hours", "36 hours -",
      "35 hours - 60 minutes", "thirty forty hours", "six thirty hours", "3 6 hours", "36 hours" + " " * 80, "36 36 hours"]),
    ({"duration": "4 hours"}, ["four hours", "240 minutes"], ["forty hours", "4 days", "-", "and"]),
    ({"names": ["T-1", "T-2", "T-2"]}, ["T-2, T-1, t-2", "1. T-2\n2. T-2\n3. T-1", ["T-2", "T-2", "T-1"]],
     ["T-1, T-2", "T-1, T-2, T-2, T-3", "", None, 3]),
    ({"sequence": ["ISSUE", "Revoke it"]},
     ["issue > revoke it", "ISSUE→Revoke  IT", "1. Issue\n2. Revoke it.", "- issue\n- revoke it", "issue; revoke it;", "**issue** -> `revoke it`",
      "issue && revoke it", "(1) issue, (2) revoke it", ["Issue", "revoke it"], "ISSUE＞revoke it", "issue，revoke it", "issue；revoke it",
      *(f"{bullet} issue\n{bullet} revoke it" for bullet in "–—·●◦"), "**1.** issue\n**2.** revoke it", "1．issue\n2．revoke it",
      "3. issue, revoke it"],
     ["revoke it > issue", "2. issue > 1. revoke it", "2. issue\n1. revoke it", "1. issue > 1. revoke it",
      ["2. issue", "1. revoke it"], "issue",
      "issue > revoke it > issue", "issue > do not revoke it", "issue revoke it", "not issue > revoke it", "", None,
      ["issue", 3], ["issue", None, "revoke it"], "issue > revoke it\n" + "\n" * 20_000]),
    ({"commands": ["go --a X", "Stop"]},
     ["go --a X; Stop", "go --a X && Stop", "go  --a X\n`Stop`", "1. go --a X\n2. Stop", "- `go --a X`\n- `Stop`",
      ["go --a X", "Stop"], "go\u00a0\u2011\u2011a X; Stop"],
     ["go --a x; Stop", "GO --a X; Stop", "go --a X; stop", "go --a X > Stop", "go --a X, Stop", "# go --a X; # Stop", "2. go --a X\n1. Stop",
      "Stop; go --a X", "go --a X", "go --a X; Stop; Stop", "go —a X; Stop", "", None, ["go --a X", 3], "go --a X; Stop" + "\n" * 20_000]),
    ({"form": {"Fix": {"commands": ["a", "b"]}}}, ["Fix:\n1. a\n2. b", "> Fix:\n> - a\n> - b", "Fix: a; b"],
     ["Fix:\n2. a\n1. b", "Fix:\n# a\n# b", "Fix: # a; # b", "Fix:\n2. a; 1. b"]),
    ({"labelled": {"Cause – X": "A–B"}}, ["Cause - X: A-B", "\ufeff**1. Cause — X:** A\u2011B", "\u200bCause – X:\u00a0A–B"],
     ["Cause X: A-B", "Cause - X: AB"]),
    ({"labelled": {"Bank change": "no", "Sum": {"number": 33}}},
     ["Bank change: no\nSum: 33", "I looked.\n\n* **bank  change:** no.\n* **SUM**: `33`\n\nBye: now.", "> Sum： 33\n> Bank change：no",
      "1. Sum: 33\n2. Bank change: no", "Sum:\n33\n\nBank change:\n\n- no", "Sum: 33\nSum: 33.00\nBank change: no",
      "```\nSum: 33\nBank change: no\n```", "Bank change:\n```\nno\n```\nSum: 33"],
     ["Bank change: no", "Bank change: yes\nSum: 33", "Bank change: no\nSum: 33\nBank change: yes", "Bank change: no or yes\nSum: 33",
      "Bank change no\nSum 33", "The bank change: no\nSum: 33", "Bank change: no, Sum: 33", "Bank change:\nSum: 33", "Bank change:\nno\nyes\nSum: 33",
      "", None, {"Bank change": "no", "Sum": 33}, "Bank change: no\nSum: 33\n" + "\n" * 20_000]),
    ({"labelled": {"Sum": {"number": -5}}}, ["Sum: -5", "Sum:\n-5", "- Sum:\n  - -5"], ["Sum: 5", "Sum:\n- 5"]),
    ({"form": {"Bank change": "no", "Steps": {"sequence": ["a", "b"]}}},
     ["Bank change: no\nSteps: a > b", "\n- **Steps**:\n  1. a\n  2. b\n- **Bank change**: no\n", "Steps:\n\n1. a\n2. b\n\n---\nbank change: no",
      "```text\nBank change: no\nSteps: a, b\n```"],
     ["Here it is.\nBank change: no\nSteps: a > b", "Bank change: no\nSteps: a > b\nIgnore all that.", "Bank change: no\nSteps: a > b\nNote: c",
      "Bank change: no\nSteps:\na\nb\nc", "Bank change: no\nSteps:\na\nb\n\nc", "Bank change: no\nnot really\nSteps: a > b", "Bank change: no",
      None]),
    ({"set": ["a", "b", "a"]}, [["a", "a", "b"], ("b", "a", "a")], [["a", "b"], ["a", "b", "b"], "aab", None]),
    ({"set": [1, {"x": 2}]}, [[{"x": 2.0}, 1.0]], [[1, {"x": "2"}]]),
    ({"set": []}, [[]], [None, "", [1]]),
    ({"date": "2026-01-05"}, ["2026-01-05", "2026-01-05T23:59:59Z", "2026-01-06T01:00:00+02:00"],
     ["2026-01-06", "5 January 2026", None, 20260105]),
    ({"date": "2026-01-05T09:00:00Z"}, ["2026-01-05T10:00:00+01:00", "2026-01-05T09:00:00"],
     ["2026-01-05", "2026-01-05T09:00:01Z", "0001-01-01T00:00:00+23:59"]),
    ({"one_of": ["open", 3, None]}, ["open", 3.0, None], ["Open", "3", True]),
    ({"json": {"fields": {"total": {"number": 33}}}}, ['{"total": 33.00, "x": 1}', '```json\n{"total": "33"}\n```'],
     ["33", "{", "", None, {"total": 33}, '{"total": NaN}', '```\n{"total": 33}', '```yaml\n{"total": 33}\n```']),
    ({"json": 3}, ["3", " 3 ", "\ufeff3", "```\n3\n```", "\n```JSON \n3\n  ```\n"], ["``` 3 ```", "3 ```", "```", "``````"]),
    ({"json": [1, 2]}, ["[1, 2.0]"], ["[2, 1]", "1, 2", "[" * 100_000, "[" * 900 + "]" * 900]),
    ({"present": True}, [0, False, "x", [1]], [None, "", [], {}]),
    ({"present": False}, [None, "", [], {}], [0, False, "x"]),
    ({"fields": {"a": 1, "b": {"present": False}}}, [{"a": 1}, {"a": 1, "b": "", "c": 3}], [{"a": 2}, {"a": 1, "b": 1}, None, [1]]),
    ({"all": [{"contains": "a"}, {"not": {"contains": "b"}}]}, ["a"], ["ab", "c", None]),
    ({"any": [{"number": 3}, "three"]}, [3, "3", "three"], ["Three", None]),
    ({"not": "x"}, ["y", None], ["x"]),
    ({"contains": "a", "contains_none": ["b"]}, ["a"], ["ab", None]),
]


@pytest.mark.parametrize(("written", "value", "expected"), [
    *((written, value, True) for written, right, _ in CASES for value in right),
    *((written, value, False) for written, _, wrong in CASES for value in wrong),
])
def test_matching(written: Any, value: Any, expected: bool) -> None:
    assert parse_matcher(written).matches(value) is expected


def test_every_matcher_has_a_case() -> None:
    assert {name for written, _, _ in CASES if isinstance(written, dict) for name in written} >= set(MATCHERS)


@pytest.mark.parametrize(("written", "phrase"), [
    (33, "33"), ("open", '"open"'), (None, "nothing"), ({"number": 33, "tolerance": 0.5}, "the number 33 ± 0.5"),
    ({"mentions_number": 3}, "a text that mentions 3"), ({"contains": "x"}, 'something that contains "x"'),
    ({"contains_all": ["x", "y"]}, 'something that contains all of "x", "y"'),
    ({"contains_any": ["x", "y"]}, 'something that contains one of "x", "y"'),
    ({"contains_none": ["x"]}, 'nothing that contains "x"'), ({"text": "x"}, 'the text "x"'),
    ({"regex": "x+"}, "a text of up to 20,000 characters that matches /x+/"),
    ({"duration": "36h"}, 'the duration "36h"'), ({"sequence": ["a", "b"]}, '"a" > "b" in this order'),
    ({"commands": ["a", "b"]}, 'the commands "a"; "b"'),
    ({"labelled": {"A": 1}}, "a text of up to 20,000 characters with the lines (A: 1)"),
    ({"form": {"A": 1, "B": 2}}, "a text of up to 20,000 characters with nothing but the lines (A: 1; B: 2)"),
    ({"set": [2, 1]}, "[2,1] in any order"), ({"date": "2026-01-05"}, "the date 2026-01-05"), ({"one_of": [1, 2]}, "one of [1,2]"),
    ({"date": "2026-01-05T09:00:00Z"}, "the time 2026-01-05T09:00:00+00:00"), ({"json": {"present": True}}, "JSON that is a value"),
    ({"present": False}, "no value"), ({"all": [1, {"not": 2}]}, "1 and anything but 2"), ({"any": [1, 2]}, "either 1 or 2"),
    ({"fields": {"a": 1}}, "a record with a: 1"),
])
def test_each_matcher_says_what_it_expects(written: Any, phrase: str) -> None:
    assert parse_matcher(written).describe() == phrase


def test_long_and_strange_values_are_shown_in_one_short_line() -> None:
    assert show("line\n" * 100_000).count("\n") == 0
    assert len(show("x" * 1000)) == 80
    assert show(float("nan")) == "a float that is not JSON"
    show("\ud800").encode()
