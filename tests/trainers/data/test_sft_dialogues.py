"""From episodes to dialogues: what is learned, what conditions, and what is left out."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from sft_records import ACTIONS, CATALOG, SUMMARY, TASK, Lines, built, clumsy, delegated, dialogue, plain, played, summarised, windowed

from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import Blame, FaultRecord, UserError
from cowork_gym.core.grade import JudgeMark
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.trajectory import ROOT
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import branch, compose, make_agent
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.loops import PlanAct
from cowork_gym.harness.middleware import Middleware, Summary
from cowork_gym.harness.skills import Skill
from cowork_gym.trainers.data.sft.catalog import Catalog
from cowork_gym.trainers.data.sft.dialogues import Shape, build_dialogues, strip_prefix
from cowork_gym.trainers.data.sft.quality import Quality


def learned(one):
    return [each.message for each in one.utterances if each.trained]


def reasons(one):
    return [each.why for each in one.utterances if each.message.role == "assistant" and not each.trained]


def said(episode, run=ROOT):
    return [turn.said for turn in episode.turns if turn.run == run]


def test_a_plain_episode_is_one_dialogue_whose_answers_are_learned():
    one, episode = dialogue(plain()), plain()
    assert one.messages == episode.messages
    assert learned(one) == said(episode)
    assert (one.source.seal, one.source.task, one.source.agent) == (episode.grade.seal, TASK.id, "reference")
    assert (one.source.run, one.source.segment, one.source.trial) == (0, None, "t")
    assert (one.completion, one.reward) == (1.0, 1.0)
    assert one.capabilities == (TASK.category, *map(str, TASK.structure.capabilities))
    assert one.scores["rewards"] == dict(episode.grade.rewards)


def test_calls_keep_their_ids_and_raw_arguments():
    calls = [call for one in learned(dialogue(plain())) for call in one.tool_calls]
    assert calls == [call for turn in plain().turns for call in turn.action.tool_calls]
    assert all(isinstance(one, ToolCall) and isinstance(one.arguments, str) and one.id for one in calls)


def test_tools_are_the_schemas_of_what_was_offered():
    one = dialogue(plain())
    assert [each["function"]["name"] for each in one.tools] == list(plain().runs[0].tools)
    assert all(each["type"] == "function" and each["function"]["parameters"]["type"] == "object" for each in one.tools)
    few = played(make_agent("reference", TASK), only=TASK.tools[:9])
    assert [each["function"]["name"] for each in built(few).dialogues[0].tools] == list(few.runs[0].tools)
    assert dialogue(plain(), tools="none").tools == ()


def test_each_answer_is_learned_once_over_the_segments_of_a_window():
    episode, found = windowed(), built(windowed()).dialogues
    assert [one.source.segment for one in found] == [0, 1, 2, 3]
    assert [each for one in found for each in learned(one)] == said(episode)
    for one, segment in zip(found, episode.runs[0].segments, strict=True):
        assert one.messages == segment.messages
    assert {why for one in found[1:] for why in reasons(one)} == {"replayed"}
    assert reasons(found[0]) == []
    assert found[0].messages[0] == Message("system", "Be careful.")


def test_a_run_as_a_whole_has_everything_that_was_dropped():
    one = dialogue(windowed(), unit="run")
    assert one.messages == (Message("system", "Be careful."), *windowed().messages)
    assert (learned(one), one.source.segment) == (said(windowed()), None)


def test_a_summary_of_the_policy_is_learned_where_it_was_written():
    found = built(summarised()).dialogues
    summaries = [(at, one.trained) for at, each in enumerate(found) for one in each.utterances if one.message == final(SUMMARY)]
    written = [one for segment in summarised().runs[0].segments for one in segment.kept if one.purpose == "summary"]
    assert len(summaries) == len(written) >= 1
    assert all(trained for _, trained in summaries)
    assert all(one.utterances[-1].message == final(SUMMARY) for one in found[:-1])
    shown = [one for each in found[1:] for one in each.utterances if SUMMARY in (one.message.content or "") and one.message.role == "user"]
    assert len(shown) >= 1
    assert not any(one.trained for one in shown)


def test_discarded_attempts_are_in_no_dialogue():
    episode = summarised()
    discarded = [one for one in episode.runs[0].generations if not one.kept]
    assert discarded
    names = [call.name for one in discarded for call in one.said.tool_calls]
    assert names == ["helpdesk_list_tickets"] * len(names) != []
    told = [one.message for each in built(episode).dialogues for one in each.utterances]
    assert not any(one.said in told for one in discarded)


def test_a_summary_of_another_writer_conditions_only():
    found = built(summarised(False)).dialogues
    assert len(found) > 1
    assert [each for one in found for each in learned(one)] == said(summarised(False))
    assert any("Another model's summary." in (one.content or "") and one.role == "user" for one in found[1].messages)


def test_a_run_as_a_whole_has_no_summaries():
    one = dialogue(summarised(), unit="run")
    assert one.messages == summarised().messages
    assert learned(one) == said(summarised())


def test_children_are_dialogues_of_their_own():
    parent, child = built(delegated()).dialogues
    assert (parent.source.run, child.source.run) == (0, 1)
    assert learned(child) == said(delegated(), 1)
    assert [one.role for one in child.messages[:2]] == ["system", "user"]
    assert child.messages[1].content == "Write the card."
    assert "delegate" in [one["function"]["name"] for one in parent.tools]
    assert "delegate" not in [one["function"]["name"] for one in child.tools]
    alone = built(delegated(), children=False)
    assert (len(alone.dialogues), alone.refused) == (1, {"child_run": 1})


def test_invalid_and_refused_answers_condition_only():
    one = dialogue(clumsy())
    assert reasons(one) == ["invalid action", "refused call"]
    assert learned(one) == said(clumsy())[2:]
    assert one.messages == clumsy().messages
    all_of_them = dialogue(clumsy(), quality=Quality(invalid=False, refused=False))
    assert learned(all_of_them) == said(clumsy())


def test_the_caller_may_find_fault_with_any_answer():
    one = dialogue(plain(), quality=Quality(appraise=lambda episode, turn: "low quality" if turn.index == 3 else ""))
    assert (reasons(one), len(learned(one))) == (["low quality"], 8)


def test_an_answer_that_was_cut_off_or_is_empty_is_not_learned():
    generations = plain().runs[0].segments[0].generations
    run = plain().runs[0]
    cut = replace(run, segments=(replace(run.segments[0], generations=(*generations[:-1], replace(generations[-1], finish="length"))),))
    one = dialogue(replace(plain(), runs=(cut,)))
    assert reasons(one) == ["cut off"]
    found = built(played(Lines(final(""))))
    assert (found.dialogues, found.refused) == ((), {"nothing_to_learn": 1})


def test_planned_faults_of_the_world_are_not_the_agents():
    task = load_task("M1108")
    episode = played(make_agent("reference", task), task=task)
    assert any(one.status in (429, 503, 504) for one in episode.dispatches)
    assert reasons(dialogue(episode)) == []


def test_a_branch_learns_only_what_it_added():
    (fork,) = branch(plain(), 4, 1, lambda form: Lines(*ACTIONS[4:]))
    for unit in ("run", "segment"):
        one = dialogue(fork, unit=unit)
        assert reasons(one) == ["taken over"] * 4
        assert learned(one) == said(fork)[4:]
        assert one.messages == fork.messages


def test_a_branch_of_a_delegating_episode_does_not_claim_older_children():
    episode = delegated()
    first = next(turn.index for turn in episode.turns if turn.run == ROOT and turn.action.tool_calls[0].name == "delegate")
    child = (ACTIONS[8],)
    (fork,) = branch(episode, first + 1, 1, lambda form: Lines(*child), harness=compose(tools=[Delegate()]))
    found = built(fork, unit="run").dialogues
    assert [each for one in found for each in learned(one)] == [fork.turns[-1].said]


def test_what_was_shown_stands_in_a_rejoined_run():
    @dataclass(frozen=True)
    class Loud(Middleware):
        name: ClassVar[str] = "loud"

        def show(self, run, turn, messages):
            return tuple(replace(one, content=(one.content or "").upper()) for one in messages)

    episode = played(Lines(*ACTIONS), middleware=[Loud(), Summary(at=1200, keep=1)])
    assert len(episode.runs[0].segments) > 1
    results = [one.content for one in dialogue(episode, unit="run").messages if one.role == "tool"]
    assert results == [one.content.upper() for turn in episode.turns for one in turn.observation]


def test_plans_are_learned_where_the_history_keeps_them():
    episode = played(Lines(*ACTIONS, texts=(final("First I look."),)), loop=PlanAct())
    one = dialogue(episode)
    assert final("First I look.") in learned(one)
    assert len(learned(one)) == 10


def test_segments_for_audit_only_are_left_out():
    run = plain().runs[0]
    audited = replace(plain(), runs=(replace(run, segments=(replace(run.segments[0], audit="another policy played"),)),))
    assert built(audited) == ((), {"audit_only": 1})
    assert len(built(audited, audited=True).dialogues) == 1
    two = windowed().runs[0]
    first = replace(windowed(), runs=(replace(two, segments=(replace(two.segments[0], audit="flawed"), *two.segments[1:])),))
    assert {*reasons(dialogue(first, unit="run"))} == {"for audit only: flawed"}


def test_episodes_that_no_harness_recorded_have_the_worlds_conversation():
    old = replace(plain(), runs=(), composition=None, policy=None)
    one = dialogue(old)
    assert (one.messages, learned(one)) == (plain().messages, said(plain()))
    assert {each["function"]["name"] for each in one.tools} == {*TASK.tools}


@pytest.mark.parametrize("changes", [
    {"grade": None},
    {"fault": FaultRecord(Blame.MODEL_SERVER, "x", "away"), "ending": Ending.FAULT},
])
def test_what_is_quarantined_or_ungraded_is_never_data(changes):
    with pytest.raises(ValueError, match="quarantined or has no grade"):
        built(replace(plain(), **changes))


def test_a_release_that_is_not_installed_is_named():
    foreign = replace(plain(), release_id="M1100_x@9:0000")
    with pytest.raises(UserError, match=r"M1100_x@9:0000 was played, M1100.* is installed.*--tools none"):
        built(foreign)
    with pytest.raises(UserError, match="not installed"):
        built(replace(plain(), task="Nowhere_x", release_id="Nowhere_x@0:0"))
    bare = built(foreign, tools="none").dialogues[0]
    assert (bare.tools, bare.capabilities) == ((), ())


def test_a_package_that_is_not_registered_can_be_named():
    task = replace(TASK, title="Another", request=TASK.request + " Please.")
    episode = played(make_agent("reference", task), task=task)
    assert len(build_dialogues(episode, Catalog([task])).dialogues[0].tools) == len(task.tools)


def test_the_harness_own_tools_have_their_schemas():
    episode = played(make_agent("reference", TASK), skills=[Skill("cards", "How cards are written.", "Four lines.")])
    (tool,) = [one for one in built(episode).dialogues[0].tools if one["function"]["name"] == "read_skill"]
    assert tool["function"]["parameters"]["properties"]["name"]["enum"] == ["cards"]
    run = replace(plain().runs[0], tools=("magic",))
    with pytest.raises(UserError, match="'magic'"):
        built(replace(plain(), runs=(run,)))


@pytest.mark.parametrize(("text", "left"), [
    ("[User simulator] Where is it?", "Where is it?"), ("USER: hello", "hello"), ("[User]\n\nhello", "hello"), ("hello", "hello"),
    ("[User simulator]", "[User simulator]"), ("users: all", "users: all"), ("", ""),
])
def test_simulators_prefixes_are_stripped(text, left):
    assert strip_prefix(text) == left


def test_only_the_users_words_are_stripped():
    task = replace(TASK, request="[user simulator] " + TASK.request)
    episode = played(Lines(final("User: I did it.")), task=task)
    one = build_dialogues(episode, Catalog([task]), Shape()).dialogues[0]
    assert [each.content for each in one.messages] == [TASK.request, "User: I did it."]
    kept = build_dialogues(episode, Catalog([task]), Shape(prefixes=())).dialogues[0]
    assert kept.messages[0].content == task.request


def test_judges_marks_are_kept_and_shown_to_nobody():
    grade = plain().grade
    mark = JudgeMark("judge-1", "v1 abc", "0" * 64, (3, 4, 4))
    judged = replace(plain(), grade=replace(grade, checks=(replace(grade.checks[0], judge=mark), *grade.checks[1:])))
    one = dialogue(judged)
    assert one.scores["judges"][grade.checks[0].id]["levels"] == [3, 4, 4]
    assert "judge-1" not in str(one.messages)
    assert CATALOG.card(TASK.id, TASK.release_id).category == TASK.category
