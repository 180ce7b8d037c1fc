"""Typed matchers: what a grading contract says about a value, as frozen questions that explain themselves."""

from cowork_gym.graders.matchers.compound import AllOf, AnyOf, Fields, Json, NotThat, mismatches
from cowork_gym.graders.matchers.durations import Duration
from cowork_gym.graders.matchers.folding import normalise
from cowork_gym.graders.matchers.labels import Labelled
from cowork_gym.graders.matchers.matcher import Matcher, MatcherError, same, show
from cowork_gym.graders.matchers.parse import MATCHERS, parse_matcher
from cowork_gym.graders.matchers.sequences import Commands, NamesOf, SequenceOf
from cowork_gym.graders.matchers.texts import ContainsAll, ContainsAny, ContainsNone, Regex, Text
from cowork_gym.graders.matchers.values import Date, Equals, MentionsNumber, Number, OneOf, Present, SetOf

__all__ = [
    "MATCHERS", "AllOf", "AnyOf", "Commands", "ContainsAll", "ContainsAny", "ContainsNone", "Date", "Duration", "Equals", "Fields", "Json",
    "Labelled", "Matcher", "MatcherError", "MentionsNumber", "NamesOf", "NotThat", "Number", "OneOf", "Present", "Regex", "SequenceOf", "SetOf",
    "Text", "mismatches", "normalise", "parse_matcher", "same", "show",
]
