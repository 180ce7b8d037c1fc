"""Branching: the same state, history and tokens; each continuation its own; and what cannot be branched from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recorded import CHILD, DELEGATING, LIST, PARENT, SEARCH, delegated, recorded, scripted
from word_format import END, WordFormat

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import Blame, FaultRecord, UserError
from cowork_gym.core.ids import generator
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import Message, ToolCall, final, message
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.core.task import Task
from cowork_gym.core.trajectory import ROOT, Origin, Purpose
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Harness, Policy, compose, play
from cowork_gym.harness.branch import branch
from cowork_gym.harness.engines import Drawn, Engine
from cowork_gym.harness.loops import PlanAct
from cowork_gym.harness.middleware import Slide, Summary, Window
from cowork_gym.harness.mismatch import Mismatch
from cowork_gym.harness.policies.random_agent import RandomPolicy
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.policies.token_policy import TokenPolicy
from cowork_gym.harness.replay import replay

TASK = replace(load_task("M1003"), budgets=replace(load_task("M1003").budgets, turns=14))


class Dice(Engine):
    """Draws a few ids by its seed, and keeps what it was asked."""

    name, context, version = "dice", None, "1"

    def __init__(self) -> None:
        self.prompts: list[tuple[int, ...]] = []

    def generate(self, prompt, sampling, *, stop, seed):
        self.prompts.append(tuple(prompt))
        draw = generator(seed, "dice")
        ids = (*(draw.randrange(200) for _ in range(draw.randint(1, 3))), END)
        return Drawn(ids, (-0.5,) * len(ids), "stop", self.version)


def read(ids: Sequence[int], tools: Sequence[Mapping[str, Any]]) -> Message:
    """Mostly calls; the last id decides. A text that is asked for is one by chance."""
    called = [ToolCall("kb_search", {"query": f"q{one}"}) if one % 2 else ToolCall("helpdesk_list_tickets", {}) for one in ids[:-1]]
    return final("all is done " * (1 + ids[0] % 3)) if ids[0] % 7 == 0 else message("So", *called)


def sampled(engine: Dice, *, words: WordFormat | None = None) -> TokenPolicy:
    return TokenPolicy(engine, words or WordFormat(read))


def played(harness: Harness) -> Episode:
    """One of some length."""
    with CoworkEnv(TASK) as env:
        return next(one for one in (play(env, sampled(Dice()), harness=harness, seed=seed) for seed in range(30)) if len(one.turns) >= 8)


HARNESSES = {
    "plain": compose(), "prompt": compose(prompt="Be brief."), "window": compose(middleware=[Window(size=4, stride=2)]),
    "slide": compose(middleware=[Slide(size=3)]), "plan": compose(PlanAct(every=3)), "summary": compose(middleware=[Summary(at=250, keep=1)]),
}


@pytest.mark.parametrize("name", HARNESSES)
def test_a_policy_with_the_same_seed_goes_on_as_the_record_does(name: str) -> None:
    """From every turn: the same state, history and exact tokens, whatever the harness had made of the history."""
    harness = HARNESSES[name]
    episode = played(harness)
    asked = {one.turn: one for segment in episode.runs[ROOT].segments for one in segment.kept}
    for turn in range(len(episode.turns)):
        engine = Dice()
        (again,) = branch(episode, turn, 1, lambda form, engine=engine: sampled(engine), harness=harness, seeds=[episode.seed], task=TASK)
        first = next(one for one in again.runs[ROOT].generations if one.purpose is Purpose.ACT)
        segment = next(one for one in episode.runs[ROOT].segments if asked[turn] in one.kept)
        before = segment.kept[: segment.kept.index(asked[turn])]
        ids = tuple(id for one in (*before, asked[turn]) for id in one.tokens.context + one.tokens.ids)[: -len(asked[turn].tokens.ids)]
        assert first.tokens.context == ids and ids in engine.prompts
        assert first.given == tuple(each for one in before for each in (*one.given, one.said)) + asked[turn].given
        assert again.origin == Origin(seal(episode), turn) and again.turns[:turn] == episode.turns[:turn]
        assert contradiction_of_runs(again) is None
        assert name not in ("plain", "prompt") or (again.turns, again.ledger) == (episode.turns, episode.ledger)
        run = again.runs[ROOT]
        assert run.segments[0].ids[: len(ids)] == ids and not any(one.audit for one in run.segments)


def test_continuations_are_many_and_each_its_own() -> None:
    episode = played(HARNESSES["plain"])
    some = branch(episode, 2, 4, lambda form: sampled(Dice()), task=TASK)
    assert len({seal(one) for one in some}) == 4
    assert [seal(one) for one in branch(episode, 2, 4, lambda form: sampled(Dice()), task=TASK)] == [seal(one) for one in some]
    assert seal(branch(episode, 2, 1, lambda form: sampled(Dice()), seeds=[3], task=TASK)[0]) == seal(some[3])
    for one in some:
        with replay(one, task=TASK) as env:
            assert seal(env.finish()) == seal(one)
    longest = max(some, key=lambda one: len(one.turns))
    (twig,) = branch(longest, 3, 1, lambda form: sampled(Dice()), task=TASK)
    assert twig.origin == Origin(seal(longest), 3)
    (before, asked), (first, *_) = longest.runs[ROOT].generations[:2], twig.runs[ROOT].generations
    assert first.tokens.context == (*before.tokens.context, *before.tokens.ids, *asked.tokens.context)


@pytest.mark.parametrize("task, seed", [("M1100", 0), ("M1108", 7), ("M1201", 7), ("M1301", 0), ("M1304", 7)])
def test_any_policy_plays_on(task: str, seed: int, tmp_path: Path) -> None:
    episode = read_episode(write_episode(recorded(task, seed=seed), tmp_path))
    at = len(episode.turns) // 2
    rest = [turn.action for turn in episode.turns[at:] if turn.action is not None]

    def policy(form: Task) -> Policy:
        assert form.variant == seed
        return ScriptedPolicy("rest", rest)

    (again,) = branch(episode, at, 1, policy)
    assert (again.ledger, again.end, again.answer) == (episode.ledger, episode.end, episode.answer)
    assert again.grade is not None and again.grade.reward == 1.0
    for one in branch(episode, at, 2, lambda form: RandomPolicy(), seeds=[5, 6]):
        assert read_episode(write_episode(one, tmp_path)) == one
        with replay(one) as env:
            assert seal(env.finish()) == seal(one)


def test_children_of_the_turns_that_are_taken_over() -> None:
    """A child's calls may have the ids of those of an earlier child: it is no retry of them."""
    episode = delegated()
    again, twice = branch(episode, 5, 2, lambda form: ScriptedPolicy("script", PARENT, [CHILD]), harness=DELEGATING)
    assert (again.ledger, again.turns, again.end) == (twice.ledger, twice.turns, twice.end)
    assert [turn.run for turn in again.turns] == [0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0]
    assert contradiction_of_runs(again) is None
    with replay(again) as env:
        assert seal(env.finish()) == seal(again)
    (within,) = branch(episode, 1, 1, lambda form: ScriptedPolicy("script", PARENT[1:], [CHILD]), harness=DELEGATING)
    assert (within.ledger, within.end) == (episode.ledger, episode.end)


def test_budgets_of_the_harness_go_on() -> None:
    from cowork_gym.harness.middleware import Budget

    harness = compose(middleware=[Budget(turns=3)])
    episode = scripted([LIST, SEARCH, LIST, final("done")], harness=harness)
    (again,) = branch(episode, 2, 1, lambda form: ScriptedPolicy("script", [SEARCH] * 9), harness=harness)
    assert (len(episode.turns), len(again.turns)) == (3, 3)


def test_another_tokenizer_begins_with_a_prompt_of_its_own() -> None:
    episode = played(HARNESSES["plain"])
    engine, words = Dice(), WordFormat(read)
    words.fingerprint = "other words"
    (again,) = branch(episode, 2, 1, lambda form: sampled(engine, words=words), task=TASK)
    assert engine.prompts[0] == words.open(again.runs[ROOT].segments[0].generations[0].given, CoworkEnv(TASK).action_space.schemas)


def test_a_prompt_of_other_tokens_is_told() -> None:
    class Other(WordFormat):
        def extend(self, messages, *, closed):
            return (7, *super().extend(messages, closed=closed))

    episode = played(HARNESSES["plain"])
    with pytest.raises(Mismatch, match="the prompt of turn 2 is rendered to other tokens than recorded, from token ") as caught:
        branch(episode, 2, 1, lambda form: sampled(Dice(), words=Other(read)), task=TASK)
    assert (caught.value.turn, caught.value.what) == (2, "prompt")


def test_what_cannot_be_branched_from() -> None:
    episode, mine = recorded("M1003"), lambda form: RandomPolicy()
    for turn, said in (7, "no turn follows the first 7 of the episode: choose a number from 0 to 6"), (9, "has 7 turns"), (-1, "has 7 turns"):
        with pytest.raises(UserError, match=said):
            branch(episode, turn, 1, mine)
    with pytest.raises(UserError, match="quarantined"):
        branch(replace(episode, fault=FaultRecord(Blame.MODEL_SERVER, "x", "y")), 2, 1, mine)
    with pytest.raises(UserError, match="under way"):
        branch(delegated(), 2, 1, mine, harness=DELEGATING)
    with pytest.raises(UserError, match="under a harness of its own"):
        branch(delegated(), 1, 1, mine)
    with pytest.raises(UserError, match="at least one continuation"):
        branch(episode, 1, 0, mine)
    with pytest.raises(UserError, match="2 continuations need as many seeds, not 1"):
        branch(episode, 1, 2, mine, seeds=[4])
    with pytest.raises(Mismatch):
        branch(replace(episode, turns=(replace(episode.turns[0], state="0" * 64), *episode.turns[1:])), 3, 1, mine)
    (again,) = branch(episode, 3, 1, mine)
    for turn in (2, 3):
        with pytest.raises(UserError, match="the episode goes on from 3 turns of another one"):
            branch(again, turn, 1, mine)


@pytest.mark.parametrize(("given", "told"), [
    ({"episode": "a.jsonl"}, "episode is to be an Episode, such as read_episode gives, not 'a.jsonl'"),
    ({"turn": 1.5}, "turn is to be a whole number, not 1.5"), ({"turn": True}, "turn is to be a whole number, not True"),
    ({"turn": None}, "turn is to be a whole number, not None"), ({"n": "2"}, "n is to be a whole number, not '2'"),
    ({"n": 2.0}, "n is to be a whole number, not 2.0"),
    ({"policy": RandomPolicy()}, "policy is to be a function of a Task that gives a Policy, not a RandomPolicy"),
    ({"policy": lambda form: "random"}, "policy is to be a function of a Task that gives a Policy, not 'random'"),
    ({"harness": "react"}, "harness is to be a Harness, such as make_harness gives, or None, not 'react'"),
    ({"seeds": [1.0]}, "seeds is to be a sequence of whole numbers or None, not a list"), ({"seeds": 3}, "seeds is to be a sequence of whole"),
    ({"seeds": (one for one in [1])}, "seeds is to be a sequence of whole numbers or None, not a generator"),
    ({"task": 1003}, "task is to be an id, a folder, a Task or None, not 1003"),
    ({"user": "rules"}, "user is to be a function of a Task, not 'rules'"), ({"judge": "strict"}, "judge is to be a Judge or None, not 'strict'"),
])
def test_arguments_of_another_type_are_named(given: Mapping[str, Any], told: str) -> None:
    arguments: dict[str, Any] = {"episode": recorded("M1003"), "turn": 2, "n": 1, "policy": lambda form: RandomPolicy(), **given}
    with pytest.raises(UserError) as caught:
        branch(**arguments)
    assert str(caught.value).startswith(told)


def test_tokens_that_are_for_audit_only_are_not_gone_on_from() -> None:
    """Nor is the first prompt of a continuation held against them; and so it is where the tokens of one generation are not known."""
    episode = played(HARNESSES["plain"])
    run = episode.runs[ROOT]
    (segment,) = run.segments
    at, asked = next((at, one) for at, one in enumerate(segment.kept) if one.turn == 3)
    known = tuple(id for one in segment.kept[:at] for id in (*one.tokens.context, *one.tokens.ids))
    for barred in replace(segment, audit="a retry in it"), replace(segment, generations=tuple(
        replace(one, tokens=None) if one.turn == 1 else one for one in segment.generations
    )):
        other = replace(episode, runs=(replace(run, segments=(barred,)), *episode.runs[1:]))
        for record, gone_on in (episode, True), (other, False):
            engine = Dice()
            (again,) = branch(record, 3, 1, lambda form, engine=engine: sampled(engine), task=TASK)
            first = again.runs[ROOT].generations[0]
            assert first.given == tuple(each for one in segment.kept[:at] for each in (*one.given, one.said)) + asked.given
            assert (engine.prompts[0][: len(known)] == known) is gone_on
