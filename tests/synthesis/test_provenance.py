"""Identifiers are found wherever they stand, and each is traced to what first showed it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from overlays import SOUND

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.messages import Message, ToolCall, final, message
from cowork_gym.envs.registration import load_task
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.identifiers import Identifiers
from cowork_gym.synthesis.provenance import USER, Use, uses

KEYS = ("CUS-1", "CUS-12", "notes/plan.md", "ana@acme.example", "房间 3", "Aare")


@pytest.fixture(scope="module")
def played() -> Episode:
    return Subject(load_task(SOUND)).references[0]


@pytest.mark.parametrize(("text", "found"), [
    ("CUS-1", {"CUS-1"}), ("CUS-1.", {"CUS-1"}), ("(CUS-12)", {"CUS-12"}), ("把CUS-12交给她", {"CUS-12"}), ("CUS-1/CUS-12", {"CUS-1", "CUS-12"}),
    ("see notes/plan.md, please", {"notes/plan.md"}), ("在房间 3开会", {"房间 3"}), ("the room Aare", {"Aare"}), ("Aarefoss", set()),
    ("CUS-123", {"CUS-123"}), ("XCUS-1", {"XCUS-1"}), ("case INV-2026-7", {"INV-2026-7"}), ("order ORD001-3fa9c2.", {"ORD001-3fa9c2"}),
    ("on 2026-03-11 at 09:00", set()), ("desk-orchard", set()),
    ("mail Bo.Li@Acme.example", {"bo.li@acme.example"}), ("ana@acme.example", {"ana@acme.example"}), (7, set()), (None, set()),
    ({"ids": ["CUS-1", {"CUS-12": 1}]}, {"CUS-1", "CUS-12"}),
])
def test_identifiers_in_values(text: object, found: set[str]) -> None:
    assert Identifiers(KEYS).within(text) == found


@settings(max_examples=60)
@given(st.sampled_from(KEYS[:4]), st.text(alphabet=" \n,;:!?()[]\"'客户，。", max_size=8), st.text(alphabet=" \n,;!?()[]\"'客户，。", max_size=8))
def test_a_key_is_found_amid_whatever_is_no_part_of_a_word(key: str, before: str, after: str) -> None:
    assert key in Identifiers(KEYS).within(before + key + after)
    assert key in Identifiers(KEYS).known(before + key + after)


def _episode(played: Episode, *turns: tuple[Message, tuple[Message, ...]], request: str = "Please see to CUS-1.") -> Episode:
    made = tuple(Turn(at, said, observation) for at, (said, observation) in enumerate(turns))
    return replace(played, opening=(Message("user", request),), turns=made, changes=())


def _told(value: object) -> Message:
    return Message("tool", encode(value), (), "call", "tool")


def test_each_use_has_the_source_that_showed_it_first(played: Episode) -> None:
    episode = _episode(
        played,
        (message(None, ToolCall("a", {"id": "CUS-1"})), (_told({"next": "T-7", "note": "first line\nT-8"}),)),
        (message(None, ToolCall("b", {"id": "T-7"}), ToolCall("c", {"text": "T-8, and T-9"})), (_told({"again": "T-7"}), _told({"at": "T-9"}))),
        (final("T-9 and X-1"), ()),
    )
    assert uses(episode, Identifiers(["CUS-1"])) == (
        Use("CUS-1", 0, 0, "a.id", USER), Use("T-7", 1, 1, "b.id", 0), Use("T-8", 1, 2, "c.text", 0), Use("T-9", 1, 2, "c.text", None),
        Use("T-9", 2, None, "message", 2), Use("X-1", 2, None, "message", None),
    )


def test_what_the_user_answers_is_a_source(played: Episode) -> None:
    asked, used = (final("Which order?"), (Message("user", "It is ORD-5."),)), (message(None, ToolCall("a", {"id": "ORD-5"})), (_told({}),))
    episode = _episode(played, asked, used)
    [use] = uses(episode, Identifiers([]))
    assert use == Use("ORD-5", 1, 0, "a.id", USER)


def test_arguments_that_are_no_object_are_searched_as_text(played: Episode) -> None:
    episode = _episode(played, (message(None, ToolCall("a", '{"id": "T-1"')), (_told({}),)))
    assert [(one.identifier, one.where) for one in uses(episode, Identifiers([]))] == [("T-1", "a.arguments")]


def test_the_reference_of_a_sound_package_knows_all_that_it_uses(played: Episode) -> None:
    found = uses(played, Subject(load_task(SOUND)).identifiers)
    assert {one.identifier for one in found} == {"CUS-101", "TCK-702", "KB-44"}
    assert {(one.identifier, one.source) for one in found} == {("CUS-101", 0), ("TCK-702", 2), ("KB-44", 4)}
