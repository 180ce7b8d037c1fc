"""Child runs: their lineage, what the parent sees of them, and that the episode's books balance when several runs work in one world."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from child_runs import ANSWER, READ, REPORT, TASK, WORK, WRITTEN, Lines, delegate, played, with_budgets
from word_format import END, WordFormat

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import InvalidAction, ToolCall, final, message
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.core.trajectory import ROOT
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.world import World
from cowork_gym.harness import PLAIN, compose, play
from cowork_gym.harness.engines import Drawn, Engine
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.middleware import Budget, Retry, Slide
from cowork_gym.harness.policies.token_policy import TokenPolicy

SCHEMAS = CoworkEnv(TASK).action_space.schemas


def _sound(episode: Episode, folder: Path) -> Episode:
    """The episode, whose lineage holds, whose ids are unique, and which is the same after it was written and read."""
    assert contradiction_of_runs(episode) is None
    ids = [one.id for one in episode.dispatches if not one.replayed]
    assert [id for id, count in Counter(ids).items() if count > 1] == []
    assert read_episode(write_episode(episode, folder)) == episode
    return episode


def _handed(episode: Episode) -> list[dict[str, str | None]]:
    return [json.loads(one.result) for one in episode.dispatches if one.tool == "delegate" and one.status == 200]


def test_a_child_does_a_part_of_the_work_and_the_whole_earns_the_reward(tmp_path: Path) -> None:
    child = Lines(*WRITTEN, REPORT)
    policy = Lines(READ[0], *READ[1:], delegate("Write the card into TCK-5802."), ANSWER, children=[child])
    episode = _sound(played(policy), tmp_path)
    assert (episode.grade.reward, episode.fault, episode.ending) == (1.0, None, Ending.FINAL)
    root, made = episode.runs
    assert (root.parent, root.fork, root.call, root.result, root.ending) == (None, None, "", None, "")
    assert (made.id, made.parent, made.fork, made.handoff) == (1, ROOT, 4, "Write the card into TCK-5802.")
    assert (made.result, made.ending) == (REPORT.content, "final")
    (asked,) = [one for one in episode.dispatches if one.tool == "delegate"]
    assert (made.call, asked.inner, asked.sequence, asked.status) == (asked.id, True, None, 200)
    assert json.loads(asked.result) == {"result": REPORT.content, "ending": "final"}
    assert [turn.run for turn in episode.turns] == [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0]
    assert [len(entry.tool) > 0 for entry in episode.ledger.entries] == [True] * 8


def test_a_child_sees_its_own_prompt_and_nothing_of_the_parent() -> None:
    child = Lines(WORK[0], REPORT)
    policy = Lines(READ[2], delegate("List them."), ANSWER, children=[child])
    episode = played(policy)
    system, task = child.histories[0]
    assert (system.role, task.role, task.content) == ("system", "user", "List them.")
    assert "handed back" in system.content
    assert [one.role for one in child.histories[1]] == ["system", "user", "assistant", "tool"]
    assert child.tools == [*TASK.tools] and policy.tools == [*TASK.tools, "delegate"]
    assert episode.runs[1].tools == TASK.tools
    assert [one.role for one in policy.histories[-1]] == ["user", "assistant", "tool", "assistant", "tool"]
    assert not any(REPORT.content == one.content for one in policy.histories[-1])


def test_the_parents_segment_is_unbroken_across_two_children(tmp_path: Path) -> None:
    children = [Lines(*WRITTEN[:2], final("Two read.")), Lines(*WRITTEN[2:], REPORT)]
    policy = Lines(*READ, delegate("Read."), delegate("Write."), ANSWER, children=children)
    episode = _sound(played(policy), tmp_path)
    assert episode.grade.reward == 1.0
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(policy.histories))
    (segment,) = episode.runs[ROOT].segments
    for before, after in pairwise(segment.generations):  # P[t+1] = P[t] + Y[t] + D[t]
        assert after.given == episode.turns[before.turn].observation
    assert [(run.parent, run.fork, run.result) for run in episode.runs[1:]] == [(0, 4, "Two read."), (0, 5, REPORT.content)]
    assert len({children[0].seed, children[1].seed, policy.seed}) == 3
    assert len({run.call for run in episode.runs}) == 3


def test_two_children_of_one_message_come_one_after_the_other(tmp_path: Path) -> None:
    children = [Lines(*WRITTEN[:3], final("Read.")), Lines(WRITTEN[3], REPORT)]
    both = message(None, ToolCall("delegate", {"task": "Read."}), WORK[1].tool_calls[0], ToolCall("delegate", {"task": "Write."}), WORK[3])
    policy = Lines(READ[0], READ[2], both, ANSWER, children=children)
    episode = _sound(played(policy), tmp_path)
    assert (episode.grade.reward, [run.fork for run in episode.runs[1:]]) == (1.0, [2, 2])
    assert [turn.run for turn in episode.turns] == [0, 0, 1, 1, 1, 1, 2, 2, 0, 0]
    assert [one.role for one in policy.histories[-1][-4:]] == ["tool"] * 4


def test_a_child_that_gives_no_answer_hands_back_why_it_ended(tmp_path: Path) -> None:
    child = Lines(*[WORK[0]] * 9)
    episode = _sound(played(Lines(delegate(), ANSWER, children=[child]), tool=Delegate(turns=3)), tmp_path)
    assert _handed(episode) == [{"result": None, "ending": "turns"}]
    assert (episode.ending, episode.runs[1].ending, episode.runs[1].result, len(child.histories)) == (Ending.FINAL, "turns", None, 3)


def test_what_is_no_action_costs_the_child_a_turn() -> None:
    child = Lines(InvalidAction("cut off", "{"), REPORT)
    episode = played(Lines(delegate(), ANSWER, children=[child]))
    assert [(turn.run, turn.invalid) for turn in episode.turns] == [(1, "cut off"), (1, None), (0, None), (0, None)]
    assert _handed(episode) == [{"result": REPORT.content, "ending": "final"}]


def test_the_calls_that_a_child_spends_end_the_episode_cleanly(tmp_path: Path) -> None:
    child = Lines(*[WORK[0]] * 9)
    two = message(None, ToolCall("delegate", {"task": "x"}), WORK[0])
    episode = _sound(played(Lines(WORK[0], two, ANSWER, children=[child]), env=with_budgets(calls=6, turns=2)), tmp_path)
    assert (episode.ending, episode.fault, episode.runs[1].ending, episode.grade.fault) == (Ending.CALLS, None, "calls", None)
    assert len(episode.ledger) == 5  # and the delegation itself, which is a call as well
    assert [one.status for one in episode.dispatches] == [200] * 5 + [410, 200, 410]
    assert [turn.run for turn in episode.turns][-1] == ROOT


def test_tokens_of_children_are_counted_once_and_end_the_episode(tmp_path: Path) -> None:
    child = Lines(WORK[0], WORK[0], WORK[0], REPORT, tokens=10)
    two = message(None, ToolCall("delegate", {"task": "x"}), WORK[0])
    episode = _sound(played(Lines(WORK[0], two, ANSWER, children=[child], tokens=7), env=with_budgets(tokens=34)), tmp_path)
    assert [(turn.run, turn.tokens) for turn in episode.turns] == [(0, 7), (1, 10), (1, 10), (0, 7)]
    assert (episode.ending, episode.runs[1].ending, [one.status for one in episode.dispatches[-2:]]) == (Ending.TOKENS, "tokens", [200, 410])


def test_turns_of_children_are_no_turns_of_the_task() -> None:
    child = Lines(*[WORK[0]] * 8, REPORT)
    episode = played(Lines(delegate(), ANSWER, children=[child]), env=with_budgets(turns=3))
    assert (episode.ending, len(episode.turns)) == (Ending.FINAL, 11)


@pytest.mark.parametrize(("depth", "offered"), [(1, [True, False]), (2, [True, True, False]), (3, [True, True, True])])
def test_children_have_children_as_deep_as_they_may(depth: int, offered: list[bool], tmp_path: Path) -> None:
    grandchild = Lines(*WRITTEN, REPORT)
    child = Lines(delegate("Write it."), final("It is written."), children=[grandchild])
    policy = Lines(*READ, delegate("See that it is written."), ANSWER, children=[child])
    episode = _sound(played(policy, tool=Delegate(depth=depth)), tmp_path)
    runs = [policy, child, grandchild][: len(episode.runs)]
    assert ["delegate" in one.tools for one in runs] == offered
    assert episode.grade.reward == (1.0 if depth > 1 else episode.grade.reward)
    if depth > 1:
        assert [(run.parent, run.fork, run.handoff) for run in episode.runs[1:]] == [(0, 4, "See that it is written."), (1, 0, "Write it.")]
        assert [turn.run for turn in episode.turns] == [0] * 4 + [2] * 5 + [1] * 2 + [0] * 2
    else:
        refused = next(one for one in episode.dispatches if one.status == 404)
        assert (refused.tool, json.loads(refused.result)["type"]) == ("delegate", "unknown_tool")


def test_a_child_may_use_only_what_it_was_offered() -> None:
    child = Lines(WORK[1], WORK[2], REPORT)
    policy = Lines(delegate(), WORK[1], ANSWER, children=[child])
    episode = played(policy, tool=Delegate(tools=("helpdesk_list_tickets", "helpdesk_get_ticket")))
    assert child.tools == ["helpdesk_list_tickets", "helpdesk_get_ticket"]
    assert [(one.tool, one.status) for one in episode.dispatches] == [
        ("crm_get_customer", 404), ("helpdesk_list_tickets", 200), ("delegate", 200), ("crm_get_customer", 200),
    ]
    assert len(episode.ledger) == 2


def test_no_run_may_use_what_the_harness_does_not_expose() -> None:
    child = Lines(WORK[1], WORK[2], REPORT)
    episode = played(Lines(delegate(), ANSWER, children=[child]), only=["helpdesk_list_tickets"])
    assert (child.tools, [one.status for one in episode.dispatches]) == (["helpdesk_list_tickets"], [404, 200, 200])


@pytest.mark.parametrize("arguments", [{}, {"task": ""}, {"task": " "}, {"task": 3}, {"task": "x", "more": 1}, {"task": "\ud800"}, "{"])
def test_a_call_without_a_task_is_refused(arguments: object) -> None:
    policy = Lines(message(None, ToolCall("delegate", arguments)), ANSWER)
    episode = played(policy)
    assert (episode.dispatches[0].status, len(episode.runs), episode.ending) == (422, 1, Ending.FINAL)


def test_a_policy_that_fails_in_a_child_quarantines_the_episode(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    child = Lines(WORK[0], ValueError("no such thing"))
    episode = _sound(played(Lines(WORK[0], delegate(), ANSWER, children=[child])), tmp_path)
    assert (episode.ending, episode.grade.reward, episode.runs[1].ending, episode.runs[1].result) == (Ending.FAULT, None, "fault", None)
    assert (episode.fault.blame, episode.fault.where) == (Blame.HARNESS, "lines")
    assert [turn.run for turn in episode.turns] == [0, 1, 0]
    assert episode.turns[-1].dispatches == ()


def test_a_world_that_fails_under_a_child_quarantines_the_episode_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = World.call

    def broken(world: World, tool: str, *rest: object) -> object:
        if tool == "kb_search":
            raise Fault(Blame.ENVIRONMENT, tool, "broken")
        return work(world, tool, *rest)

    monkeypatch.setattr(World, "call", broken)
    child = Lines(WORK[0], WORK[4], REPORT)
    policy = Lines(message(None, delegate(), WORK[1]), ANSWER, children=[child])
    episode = _sound(played(policy, env=with_budgets(turns=1)), tmp_path)
    assert (episode.ending, episode.fault.where, episode.runs[1].ending) == (Ending.FAULT, "kb_search", "fault")
    assert [entry.tool for entry in episode.ledger.entries] == ["crm_list_customers"]


def test_a_child_whose_server_fails_for_a_while_is_asked_again(tmp_path: Path) -> None:
    class Flaky(Lines):
        failed = False

        def act(self, history):
            if not self.failed and len(self.histories) == 2:
                self.failed = True
                raise Fault(Blame.MODEL_SERVER, "server", "busy")
            return super().act(history)

    policy = Lines(*READ, delegate(), ANSWER, children=[Flaky(*WRITTEN, REPORT)])
    episode = _sound(played(policy, middleware=[Retry(sleep=lambda seconds: None)]), tmp_path)
    assert (episode.grade.reward, len(episode.runs[1].generations)) == (1.0, 5)
    other = played(policy, tool=Delegate(middleware=()), middleware=[Retry(sleep=lambda seconds: None)])
    assert other.grade.reward == 1.0  # it has failed before
    policy.children[0].failed = False
    assert played(policy, tool=Delegate(middleware=()), middleware=[Retry(sleep=lambda seconds: None)]).ending is Ending.FAULT


def test_a_childs_budget_ends_the_child_alone() -> None:
    child = Lines(*[WORK[0]] * 9)
    episode = played(Lines(delegate(), ANSWER, children=[child]), tool=Delegate(middleware=(Budget(calls=2),)))
    assert (episode.ending, _handed(episode), episode.runs[1].ending) == (Ending.FINAL, [{"result": None, "ending": "calls"}], "calls")


def test_a_retry_is_one_only_if_no_child_did_anything_in_between(tmp_path: Path) -> None:
    update = ToolCall("helpdesk_update_ticket", WRITTEN[3].tool_calls[0].arguments, "mine")
    ask = ToolCall("delegate", {"task": "x"}, "ask")
    for lines, again in (([REPORT], True), ([WORK[0], REPORT], False)):
        policy = Lines(message(None, update, ask, update), ANSWER, children=[Lines(*lines)])
        episode = _sound(played(policy), tmp_path)
        first, *_, last = [one for one in episode.dispatches if one.tool == "helpdesk_update_ticket"]
        assert (last.replayed, last.id == first.id) == (again, again)
        assert sum(entry.tool == update.name for entry in episode.ledger.entries) == (1 if again else 2)
        assert episode.fault is None


def test_runs_that_use_the_same_ids_are_kept_apart(tmp_path: Path) -> None:
    def mine(tool: str, **arguments: object) -> ToolCall:
        return ToolCall(tool, arguments, "call_1")

    listing = mine("helpdesk_list_tickets")
    child = Lines(message(None, listing), message(None, listing), REPORT)  # the second repeats its own message, and is a retry of it
    policy = Lines(message(None, listing), message(None, mine("delegate", task="x"), listing), message(None, listing), ANSWER, children=[child])
    episode = _sound(played(policy), tmp_path)
    assert [(turn.run, [(one.tool, one.replayed) for one in turn.dispatches]) for turn in episode.turns[:-1] if turn.dispatches] == [
        (0, [(listing.name, False)]), (1, [(listing.name, False)]), (1, [(listing.name, True)]),
        (0, [("delegate", False), (listing.name, False)]), (0, [(listing.name, True)]),
    ]
    assert (len(episode.ledger), episode.fault, episode.grade.fault) == (3, None, None)


@pytest.mark.parametrize("nested", [False, True])
def test_an_interrupt_within_a_child_leaves_a_sealed_and_consistent_episode(nested: bool, tmp_path: Path) -> None:
    last = Lines(WORK[0], KeyboardInterrupt())
    child = Lines(WORK[1], delegate("deeper"), children=[last]) if nested else last
    env = CoworkEnv(TASK)
    with pytest.raises(KeyboardInterrupt):
        played(Lines(READ[2], message(None, READ[3], delegate()), ANSWER, children=[child]), tool=Delegate(depth=2), env=env)
    episode = _sound(env.finish(), tmp_path)
    assert (episode.ending, episode.fault, episode.grade.fault) == (Ending.STOPPED, None, None)
    assert [run.ending for run in episode.runs] == ["", *["stopped"] * (len(episode.runs) - 1)]
    assert [turn.run for turn in episode.turns] == ([0, 1, 2, 1, 0] if nested else [0, 1, 0])
    assert [one.tool for one in episode.turns[-1].dispatches] == ["helpdesk_get_ticket"]


def test_an_interrupt_between_answer_and_turn_is_consistent_too(tmp_path: Path) -> None:
    class Interrupting(Budget):
        def note(self, run, event, **what):
            if event == "generation" and run.number == 1:
                raise KeyboardInterrupt

    env = CoworkEnv(TASK)
    with pytest.raises(KeyboardInterrupt):
        played(Lines(delegate(), children=[Lines(WORK[0])]), env=env, middleware=[Interrupting()])
    episode = _sound(env.finish(), tmp_path)
    (cut,) = episode.runs[1].generations
    assert (cut.kept, cut.turn, cut.reason) == (False, None, "interrupted before it was taken")


def test_what_is_for_the_person_passes_through_a_child() -> None:
    with pytest.raises(UserError, match="set the key"):
        played(Lines(delegate(), children=[Lines(UserError("set the key"))]))


def test_another_policy_plays_the_children_and_its_tokens_are_for_audit() -> None:
    made: list[Lines] = []

    def another() -> Lines:
        made.append(Lines(*WRITTEN, REPORT))
        made[-1].name = "other"
        return made[-1]

    tool = Delegate(policy=another, middleware=(Slide(2),))
    episode = played(Lines(*READ, delegate(), ANSWER), tool=tool)
    assert episode.grade.reward == 1.0
    told = [[segment.audit for segment in run.segments] for run in episode.runs]
    assert told == [[""], ["played by other, not by the episode's policy"] * 3]
    assert tool.manifest()["policy"] == {"name": "other", "version": "", "tokenizer": ""}


def test_what_is_missing_is_told_before_anything_is_played() -> None:
    class Alone(Lines):
        def spawn(self):
            raise UserError("alone")

    def told(tool: Delegate, policy: Lines) -> str:
        with pytest.raises(UserError) as error:
            compose(tools=[tool]).check(policy, SCHEMAS)
        return str(error.value)

    assert "delegate needs a policy that can play child runs, which lines cannot" in told(Delegate(), Alone())
    assert "did you mean 'kb_search'?" in told(Delegate(tools=("kb_serch",)), Lines(children=[Lines()]))
    costly = Delegate(middleware=(Budget(cost=1.0),))
    assert "delegate needs for its children's budget, prices" in told(costly, Lines(children=[Lines()]))
    compose(tools=[Delegate(policy=Lines)]).check(Alone(), SCHEMAS)
    for wrong in ({"turns": 0}, {"depth": 0}):
        with pytest.raises(UserError, match="at least 1"):
            Delegate(**wrong)


def test_the_manifest_says_all_that_matters() -> None:
    tool = Delegate(turns=3, tools=("kb_search",), middleware=(Budget(calls=2),))
    told = json.loads(json.dumps(tool.manifest()))
    assert (told["turns"], told["tools"], told["middleware"][0]["calls"]) == (3, ["kb_search"], 2)
    hashes = {compose(tools=[one]).composition.sha256 for one in (tool, Delegate(), Delegate(depth=2), Delegate(middleware=()))}
    assert len(hashes | {PLAIN.composition.sha256}) == 5


class Drawing(Engine):
    """Draws one id, which says whether to delegate or to answer, and keeps each prompt with what was drawn."""

    name, context, version = "drawing", None, "1"

    def __init__(self, *drawn: int) -> None:
        self._left, self.log = [*drawn], []

    def generate(self, prompt, sampling, *, stop, seed):
        drawn = (self._left.pop(0), END)
        self.log.append((*prompt, *drawn))
        return Drawn(drawn, (-0.5, -0.25), "stop", self.version)


def test_the_tokens_of_each_run_are_what_the_engine_saw(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    engine = Drawing(1, 0, 1, 0, 0)
    policy = TokenPolicy(engine, WordFormat(lambda ids, tools: delegate("A part of it.") if ids[0] == 1 else final("Done.")))
    episode = _sound(played(policy), tmp_path)
    root, *children = [run.segments for run in episode.runs]
    assert [len(segments) for segments in (root, *children)] == [1, 1, 1]
    assert root[0].ids == engine.log[4]  # the last prompt has the earlier ones and what was drawn
    assert engine.log[4][: len(engine.log[2])] == engine.log[2] and engine.log[2][: len(engine.log[0])] == engine.log[0]
    assert [one[0].ids for one in children] == [engine.log[1], engine.log[3]]
    assert all(all(one.tokens.mask) and not segment.audit for run in episode.runs for segment in run.segments for one in segment.generations)


def test_seeds_of_children_follow_from_the_plays_seed() -> None:
    def seeds(seed: int) -> list[int]:
        children = [Lines(REPORT), Lines(REPORT)]
        play(CoworkEnv(TASK), Lines(delegate(), delegate(), ANSWER, children=children), harness=compose(tools=[Delegate()]), seed=seed)
        return [one.seed for one in children]

    assert seeds(1) == seeds(1)
    assert len({*seeds(1), *seeds(2)}) == 4
