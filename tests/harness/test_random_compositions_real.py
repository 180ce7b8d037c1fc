"""Random compositions on the real local engine: sampling on, compaction forced, child runs among them, held against the engine's own log.

The weights are random, so what is sampled says nothing; the format reads it as calls, answers or rubbish, by chance but always the same.
"""

import random
from collections import Counter
from zlib import crc32

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("pyarrow")

from chat_tokenizers import tiny
from tiny_model import recomputed, tiny_llama
from word_format import END, WordFormat

from cowork_gym.core.episode import Ending
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import InvalidAction, ToolCall, final, message
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Delegate, TokenPolicy, compose, play
from cowork_gym.harness.engines import Sampling
from cowork_gym.harness.loops import PlanAct, React
from cowork_gym.harness.middleware import Budget, Normalise, Prune, Slide, Summary, Window
from cowork_gym.harness.policies.local import LocalEngine
from cowork_gym.harness.tokens import SMOLLM2_TOOLS, JinjaFormat

TASK = load_task("M1003")
TOOLS = ("helpdesk_list_tickets", "kb_search", "kb_get_article", "helpdesk_get_ticket")
TOLERANCE = 1e-4
"""Of a log-probability, in float32."""


def _action(ids, finish, tools):
    """What sampled ids are taken to say."""
    chance = random.Random(crc32(repr(tuple(ids)).encode()))
    if finish == "length" and chance.random() < 0.5:
        return InvalidAction("cut off", "half a call")
    kind = chance.random()
    names = [one["function"]["name"] for one in tools]
    if kind < 0.06:
        return InvalidAction("garbled", "<tool_call>")
    if kind < 0.3 or not names:
        return final(f"text {chance.randrange(10**6)} {'x' * chance.choice([0, 0, 9000])}")
    calls = []
    for _ in range(chance.choice([1, 1, 2])):
        name = chance.choice(names)
        arguments = {
            "helpdesk_list_tickets": {}, "kb_search": {"query": "certificate"}, "kb_get_article": {"article_id": "KBA-412"},
            "helpdesk_get_ticket": {"ticket_id": "INC-3307"}, "delegate": {"task": "Look it up."}, "helpdesk_close_ticket": {},
        }.get(name, {})
        calls.append(ToolCall(name, arguments))
    return message(None, *calls)


class _Words(WordFormat):
    stop = (*range(0, 256, 8), END)

    def read(self, ids, finish, tools):
        return _action(ids, finish, tools)


class _Bytes(JinjaFormat):
    """The real rendering, over one token a byte."""

    def read(self, ids, finish, tools):
        return _action(ids, finish, tools)


def _composed(number):
    chance = random.Random(number)
    parts = [
        Summary(at=chance.choice([50, 400, 1500]), keep=chance.randrange(3), attempts=chance.randrange(1, 4)),
        Window((stride := chance.randrange(1, 3)) * 2, stride), Slide(chance.randrange(1, 4)), Normalise(),
        Prune(1, at=1, stride=chance.randrange(1, 3)),
    ]
    loop = chance.choice([React(), PlanAct(), PlanAct(every=2)])
    tools = [Delegate(turns=3, depth=chance.randrange(1, 3))] if chance.random() < 0.5 else []
    middleware = [*chance.sample(parts, chance.randrange(1, len(parts) + 1)), Budget(turns=8)]
    return compose(loop, prompt=chance.choice(["", "Work."]), only=TOOLS, tools=tools, middleware=middleware)


def _play(number, engine, format):
    env = CoworkEnv(TASK)
    try:
        policy = TokenPolicy(engine, format, Sampling(max_tokens=6, temperature=1.2, top_p=0.95))
        return play(env, policy, harness=_composed(number), seed=0, sampling=number)
    finally:
        env.close()


def _check(episode, log):
    assert episode.fault is None, episode.fault
    assert contradiction_of_runs(episode) is None
    recorded = Counter()
    for run in episode.runs:
        for segment in run.segments:
            assert not segment.audit
            tape = ()
            for one in segment.generations:
                prompt = (*tape, *one.tokens.context)
                recorded[prompt, one.tokens.ids, one.tokens.logprobs] += 1
                assert len(one.tokens.ids) == len(one.tokens.logprobs) == len(one.tokens.mask)
                assert all(one.tokens.mask) is one.kept is any(one.tokens.mask)
                if one.kept:
                    tape = (*prompt, *one.tokens.ids)
            assert segment.ids == tape
    assert recorded == Counter((tuple(prompt), drawn.ids, drawn.logprobs) for prompt, drawn in log)
    trained = sum(sum(one.tokens.mask) for run in episode.runs for one in run.generations)
    discarded = sum(len(one.tokens.ids) for run in episode.runs for one in run.generations if not one.kept)
    assert trained + discarded == sum(len(drawn.ids) for _, drawn in log)


def _run(numbers, format, tmp_path, context):
    model, log, seen = tiny_llama(context=context), [], Counter()
    with LocalEngine(model, name="tiny", log=lambda prompt, drawn: log.append((tuple(prompt), drawn))) as engine:
        for number in numbers:
            log.clear()
            episode = _play(number, engine, format)
            _check(episode, log)
            assert read_episode(write_episode(episode, tmp_path)) == episode
            seen["rewrites"] += sum(len(run.segments) - 1 for run in episode.runs)
            seen["children"] += len(episode.runs) - 1
            seen["discarded"] += sum(not one.kept for run in episode.runs for one in run.generations)
            seen["turns"] += len(episode.turns)
            seen["cut"] += episode.ending is Ending.CONTEXT
            for segment in [one for run in episode.runs for one in run.segments][:2]:
                _check_logprobs(model, segment)
    return seen


def _check_logprobs(model, segment):
    """What a fresh pass over the recorded ids gives is what was recorded."""
    tape = ()
    for one in segment.generations:
        prompt = (*tape, *one.tokens.context)
        assert recomputed(model, prompt, one.tokens.ids, 1.2) == pytest.approx(one.tokens.logprobs, abs=TOLERANCE)
        if one.kept:
            tape = (*prompt, *one.tokens.ids)


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_the_record_is_what_the_engine_saw(first, tmp_path):
    seen = _run(range(first, first + 20), _Words(), tmp_path, context=8192)
    assert all(seen[what] for what in ("rewrites", "children", "discarded")), seen
    assert seen["turns"] > 60


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_so_it_is_with_a_real_template(tmp_path):
    format = _Bytes(tiny(), SMOLLM2_TOOLS)
    assert not format.flaw
    model_context = 65536
    seen = _run(range(200, 206), format, tmp_path, context=model_context)
    assert seen["rewrites"] and seen["turns"]


def test_the_same_seeds_give_the_same_record():
    with LocalEngine(tiny_llama(context=8192), name="tiny") as engine:
        first, second = (seal(_play(7, engine, _Words())) for _ in range(2))
    assert first == second
