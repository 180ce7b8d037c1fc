"""Hierarchical sanitisation: the order of actions, what each leaves, and repairs that were played."""

from dataclasses import replace

import pytest
from sft_records import ACTIONS, CATALOG, TASK, Lines, clumsy, dialogue, plain, played, scripted

from cowork_gym.core.messages import Message, call, final
from cowork_gym.harness import branch
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance
from cowork_gym.trainers.data.sft.findings import examine_record
from cowork_gym.trainers.data.sft.sanitise import Action, Finding, Repair, decide, sanitise
from cowork_gym.trainers.data.sft.verification import episode_problem, repair_from

SOURCE = Source("0" * 64, "M1_x", "M1_x@0:0", 0, "teacher")
TALK = Dialogue(SOURCE, tuple(
    Utterance(Message(role, f"{role} {at}"), role == "assistant")
    for at, role in enumerate(["user", "assistant", "user", "assistant", "user", "assistant"])
))


@pytest.mark.parametrize(("finding", "action"), [
    ({}, Action.KEEP),
    ({"unreliable": True, "first_bad_turn": 3, "bad_spans": (1,), "bad_step": 1, "verified_repair": True}, Action.DISCARD),
    ({"first_bad_turn": 3, "bad_spans": (1,)}, Action.TRUNCATE),
    ({"first_bad_turn": 3, "prefix_valid": False}, Action.DISCARD),
    ({"first_bad_turn": 3, "rest_valid": True}, Action.MASK),
    ({"bad_spans": (3,)}, Action.MASK),
    ({"bad_spans": (3,), "bad_step": 4, "verified_repair": True}, Action.MASK),
    ({"bad_spans": (3,), "surroundings_valid": False}, Action.DISCARD),
    ({"bad_step": 4, "verified_repair": True}, Action.REPAIR),
    ({"bad_step": 4}, Action.DISCARD),
])
def test_the_first_action_that_is_called_for_is_done(finding, action):
    assert decide(Finding(**finding)) is action


def test_a_prefix_ends_with_the_last_answer_before_the_bad_one():
    made = sanitise(TALK, Finding(first_bad_turn=2))
    assert [one.content for one in made.dialogue.messages] == ["user 0", "assistant 1", "user 2", "assistant 3"]
    assert made.dialogue.supervised == 2


def test_nothing_before_the_bad_answer_is_nothing_at_all():
    made = sanitise(TALK, Finding(first_bad_turn=0, why="forbidden call"))
    assert (made.dialogue, made.action, made.why) == (None, Action.DISCARD, "forbidden call: nothing is left to learn")


def test_masked_answers_stay_as_context():
    made = sanitise(TALK, Finding(bad_spans=(1,), why="wrong tone"))
    assert made.dialogue.messages == TALK.messages
    assert [(one.trained, one.why) for one in made.dialogue.utterances if one.message.role == "assistant"] == [
        (True, ""), (False, "wrong tone"), (True, ""),
    ]
    assert sanitise(TALK, Finding(bad_spans=(0, 1, 2))).dialogue is None


def test_a_repair_counts_only_when_it_is_verified():
    better = (Utterance(final("better"), True),)
    asked = []
    good = Repair(better, lambda one: asked.append(one), "corrector")
    made = sanitise(TALK, Finding(bad_step=1), good)
    assert [one.content for one in made.dialogue.messages] == ["user 0", "assistant 1", "user 2", "better"]
    assert (made.action, made.dialogue.source.agent, asked) == (Action.REPAIR, "teacher+corrector", [made.dialogue])
    refused = sanitise(TALK, Finding(bad_step=1), Repair(better, lambda one: "the totals differ"))
    assert (refused.dialogue, refused.why) == (None, "repair refused: the totals differ")


def test_a_repair_is_not_verified_where_another_action_comes_first():
    never = Repair((), lambda one: pytest.fail("asked"))
    assert sanitise(TALK, Finding(bad_spans=(0,), bad_step=1), never).action is Action.MASK


def test_findings_about_nothing_are_refused():
    with pytest.raises(ValueError, match="answer 3 of a dialogue with 3"):
        sanitise(TALK, Finding(bad_spans=(3,)))
    with pytest.raises(ValueError, match="answer -1"):
        sanitise(TALK, Finding(first_bad_turn=-1))
    with pytest.raises(ValueError, match="none is given"):
        sanitise(TALK, Finding(bad_step=1, verified_repair=True))


def test_the_record_tells_of_flawed_answers_and_forbidden_calls():
    assert examine_record(plain(), dialogue(plain())) == Finding()
    assert examine_record(clumsy(), dialogue(clumsy())) == Finding()
    broken = scripted(*[call("crm_get_customer")] * 3, final("x"))
    assert examine_record(broken, dialogue(broken)).unreliable
    forbidden = next(iter(TASK.grading.get("forbidden_tools", ())), None)
    assert forbidden is not None
    bad = scripted(*ACTIONS[:2], call(forbidden), *ACTIONS[2:])
    found = examine_record(bad, dialogue(bad))
    assert (found.first_bad_turn, found.why) == (2, "forbidden call")


@pytest.fixture(scope="module")
def mended():
    """An episode that goes wrong after four turns, and another way on from there."""
    original = played(Lines(*ACTIONS[:4], final("I give up.")))
    return original, branch(original, 4, 1, _rest)[0]


def _rest(form):
    policy = Lines(*ACTIONS[4:])
    policy.name = "corrector"
    return policy


def test_another_continuation_repairs_an_episode(mended):
    original, repaired = mended
    finding, repair = repair_from(original, repaired, CATALOG)
    made = sanitise(dialogue(original), finding, repair)
    assert made.action is Action.REPAIR
    assert [one.message.tool_calls[0].name for one in made.dialogue.utterances if one.message.tool_calls] == [
        one.tool_calls[0].name for one in ACTIONS if one.tool_calls
    ]
    assert (made.dialogue.supervised, made.dialogue.source.agent) == (9, "lines+corrector")


def test_a_repair_must_be_of_this_episode_and_earn_its_grade(mended):
    original, repaired = mended
    with pytest.raises(ValueError, match="no branch"):
        repair_from(plain(), repaired, CATALOG)
    assert episode_problem(repaired) is None
    assert episode_problem(original) == f"earns {original.grade.reward:g}, less than 0.75"
    forged = replace(repaired, turns=(*repaired.turns[:-1], replace(repaired.turns[-1], action=final("Another answer."))))
    assert episode_problem(forged).startswith("not replayed")
    finding, repair = repair_from(original, repaired, CATALOG)
    assert sanitise(dialogue(original), replace(finding, bad_step=3), repair).why == (
        "repair refused: the dialogue is not that of the repaired episode"
    )
