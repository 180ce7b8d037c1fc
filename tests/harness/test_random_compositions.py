"""Five hundred random compositions on scripted policies: what a trainer reads in the record is exactly what the engine saw and drew."""

import random

import pytest
from scripted_tokens import LoggedEngine, ScriptedTokens

from cowork_gym.core.episode import Ending
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.record import seal
from cowork_gym.core.trajectory import RewriteKind
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import compose, play
from cowork_gym.harness.loops import PlanAct, React
from cowork_gym.harness.middleware import Budget, Normalise, Prune, Retry, Slide, Summary, Window
from cowork_gym.harness.policies.scripted import ScriptedPolicy

TASKS = [load_task(one) for one in ("M1100", "M133", "M1003", "M1301", "M1201", "M1124")]
COMPOSITIONS = 500
CHUNK = 50


def _middleware(chance):
    other = chance.random() < 0.3
    parts = [
        Summary(
            at=chance.choice([30, 200, 800, 2000]), keep=chance.randrange(other, 4), attempts=chance.randrange(1, 4),
            by=(lambda: ScriptedPolicy("writer", [])) if other else None, author="rule" if other else "model",
        ),
        Window((stride := chance.randrange(1, 4)) * chance.randrange(2, 4), stride), Slide(chance.randrange(1, 6)),
        Prune(keep=chance.randrange(1, 5), at=chance.choice([1, 300, 1000]), stride=chance.randrange(1, 4)), Retry(wait=0), Normalise(),
        Budget(turns=chance.choice([None, None, 3]), calls=chance.choice([None, 200]), tokens=chance.choice([None, 100_000])),
    ]
    return chance.sample(parts, chance.randrange(len(parts) + 1))


def _composed(number):
    chance = random.Random(number)
    loop = chance.choice([React(), PlanAct(), PlanAct(every=chance.randrange(1, 4))])
    return compose(loop, prompt=chance.choice(["", "You work in an office."]), middleware=_middleware(chance))


def _play(number, context=None):
    task, harness = TASKS[number % len(TASKS)], _composed(number)
    engine = LoggedEngine(number, context)
    env = CoworkEnv(task)
    try:
        return play(env, ScriptedTokens(engine, task.references[0].actions, number), harness=harness, seed=0), engine, harness
    finally:
        env.close()


def _check_tokens(episode, engine):
    """Every drawing of the engine stands in the record once, in order; each prompt is the sequence of its segment."""
    (run,) = episode.runs
    drawings = iter(engine.log)
    for segment in run.segments:
        assert not segment.audit
        tape = ()
        for one in segment.generations:
            prompt, drawn = next(drawings)
            tokens = one.tokens
            assert (*tape, *tokens.context) == prompt
            assert (tokens.ids, tokens.logprobs, one.version, one.finish) == (drawn.ids, drawn.logprobs, drawn.version, drawn.finish)
            assert len(tokens.mask) == len(tokens.ids) and all(tokens.mask) is one.kept is any(tokens.mask)
            if one.kept:
                tape = (*prompt, *tokens.ids)
        assert segment.ids == tape
    assert next(drawings, None) is None


def _check_histories(episode):
    """No call is parted from its result, and no segment begins with an answer to something that is not shown."""
    for segment in episode.runs[0].segments:
        open_ = {}
        for message in segment.messages:
            if message.role == "tool":
                assert open_.pop(message.tool_call_id) == message.name
                continue
            assert not open_ or message.role != "assistant"
            open_ |= {call.id: call.name for call in message.tool_calls}


def _check(number, episode, engine):
    assert episode.fault is None, episode.fault
    assert contradiction_of_runs(episode) is None
    assert episode.grade.seal == seal(episode)
    _check_tokens(episode, engine)
    _check_histories(episode)
    if episode.ending is Ending.FINAL:
        assert episode.grade.reward == 1.0
    else:
        assert episode.ending is Ending.TURNS


@pytest.mark.parametrize("first", range(0, COMPOSITIONS, CHUNK))
def test_the_record_is_what_the_engine_saw(first):
    finished, kinds, discarded = 0, set(), 0
    for number in range(first, first + CHUNK):
        episode, engine, _ = _play(number)
        _check(number, episode, engine)
        finished += episode.ending is Ending.FINAL
        (run,) = episode.runs
        kinds |= {one.rewrite.kind for one in run.segments if one.rewrite}
        discarded += sum(not one.kept for one in run.generations)
    assert finished > CHUNK // 3
    assert kinds == {RewriteKind.SUMMARY, RewriteKind.WINDOW, RewriteKind.PRUNE}
    assert discarded


@pytest.mark.parametrize("number", range(0, 120, 3))
def test_a_full_context_is_shortened_or_ends_the_episode(number):
    episode, engine = _play(number, context=900)[:2]
    assert episode.fault is None, episode.fault
    assert contradiction_of_runs(episode) is None
    _check_tokens(episode, engine)
    _check_histories(episode)
    assert all(len(prompt) <= 898 for prompt, _ in engine.log)
    assert episode.ending in (Ending.FINAL, Ending.TURNS, Ending.CONTEXT)


def test_the_same_composition_gives_the_same_record():
    assert [seal(_play(number)[0]) for number in (3, 8, 21)] == [seal(_play(number)[0]) for number in (3, 8, 21)]


def test_swapping_one_component_changes_nothing_else():
    one, other = compose(middleware=[Window(), Retry()]), compose(middleware=[Window(), Normalise()])
    first, second = one.composition.manifest, other.composition.manifest
    assert {name for name in first if first[name] != second[name]} == {"middleware"}
    assert first["middleware"][0] == second["middleware"][0]
    assert one.composition.sha256 != other.composition.sha256
