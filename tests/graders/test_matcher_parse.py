from datetime import date
from typing import Any

import pytest

from cowork_gym.graders.matchers import MatcherError, parse_matcher


@pytest.mark.parametrize(("written", "at", "problem"), [
    ({"contain": "x"}, "", "unknown matcher 'contain': did you mean 'contains'? (a mapping meant literally is {equals: …})"),
    ({"status": "open"}, "", "unknown matcher 'status': choose from "),
    ({}, "", "a mapping must name a matcher: choose from all, any"),
    ({"tolerance": 1}, "", "a mapping must name a matcher"),
    ({"contains": "x", "tolerance": 1}, ".tolerance", "tolerance goes with number or mentions_number only"),
    ({"number": 1, "tolerance": -1}, ".tolerance", "expected a number of 0 or more, not -1"),
    ({"number": "33"}, ".number", 'expected a number, not "33"'),
    ({"number": True}, ".number", "expected a number, not true"),
    ({"mentions_number": None}, ".mentions_number", "expected a number, not nothing"),
    ({"contains": 33}, ".contains", "expected a text, not 33"),
    ({"contains": ""}, ".contains", 'expected a text, not ""'),
    ({"contains_any": [" \n"]}, ".contains_any", "a text of white space alone is in every text"),
    ({"contains_all": []}, ".contains_all", "expected a list of one item or more, not []"),
    ({"contains_none": "x"}, ".contains_none", 'expected a list of one item or more, not "x"'),
    ({"text": None}, ".text", "expected a text, not nothing"),
    ({"regex": "("}, ".regex", "not a regular expression: "),
    ({"regex": "(?P<x>(?:a+b)*)"}, ".regex", "repeats a group with a repetition or a choice in it"),
    ({"regex": "paid.*to.*account"}, ".regex", "has several repetitions without a bound"),
    ({"duration": "36"}, ".duration", 'expected a duration such as 36 hours, not "36"'),
    ({"sequence": []}, ".sequence", "expected a list of one item or more, not []"),
    ({"duration": "-36 hours"}, ".duration", 'expected a duration such as 36 hours, not "-36 hours"'),
    ({"regex": "a{0,99}b{0,999}"}, ".regex", "has repetitions with too wide bounds"),
    ({"commands": "x"}, ".commands", 'expected a list of one item or more, not "x"'),
    ({"sequence": ["a", 1]}, ".sequence", "expected a text, not 1"),
    ({"labelled": []}, ".labelled", "expected a mapping of labels to matchers, not []"),
    ({"form": {"A:": 1}}, ".form", 'expected labels without colon, each once, not "A:"'),
    ({"form": {"A": 1, " a": 2}}, ".form", 'expected labels without colon, each once, not "A"'),
    ({"form": {3: 1}}, ".form", 'expected labels without colon, each once, not ""'),
    ({"form": {"A": {"numbr": 3}}}, ".form.A", "unknown matcher 'numbr': did you mean 'number'?"),
    ({"set": "x"}, ".set", 'expected a list, not "x"'),
    ({"date": "tomorrow"}, ".date", 'expected an ISO 8601 date or time in quotes, not "tomorrow"'),
    ({"one_of": []}, ".one_of", "expected a list of one item or more, not []"),
    ({"present": "yes"}, ".present", 'expected true or false, not "yes"'),
    ({"fields": []}, ".fields", "expected a mapping of fields to matchers, not []"),
    ({"all": [1, {"any": [{"numbr": 3}]}]}, ".all[1].any[0]", "unknown matcher 'numbr': did you mean 'number'?"),
    ({"not": {"json": {"fields": {"a": {"regex": "("}}}}}, ".not.json.fields.a.regex", "not a regular expression: "),
    (date(2026, 1, 5), "", "a date has no JSON form: quote it"),
    (float("nan"), "", "a float has no JSON form: quote it"),
    ({"set": [float("inf")]}, ".set", "a float has no JSON form: quote it"),
])
def test_what_cannot_be_read_says_where_and_why(written: Any, at: str, problem: str) -> None:
    with pytest.raises(MatcherError) as caught:
        parse_matcher(written)
    assert str(caught.value).startswith(problem)
    assert caught.value.at == at
