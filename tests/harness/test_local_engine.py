"""The local engine: batches, seeds, log-probabilities, faults and new weights, on a tiny random model."""

import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("transformers")

import torch
from tiny_model import recomputed, tiny_llama
from word_format import VOCABULARY, WordFormat

from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.core.ids import generator
from cowork_gym.core.messages import ToolCall, message
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import play
from cowork_gym.harness.engines import ContextFull, Sampling
from cowork_gym.harness.policies.local import LocalEngine, load_model
from cowork_gym.harness.policies.local.draw import pick
from cowork_gym.harness.policies.token_policy import TokenPolicy

TOLERANCE = 1e-4
"""Of a log-probability in float32: sums are taken in another order when rows are padded and keys are cached."""
MODEL = tiny_llama()
GREEDY = Sampling(max_tokens=20, temperature=0)


def prompts(count, seed=0):
    """Prompts of different lengths."""
    random = generator(seed, "prompts")
    return [[random.randrange(VOCABULARY) for _ in range(random.randrange(1, 60))] for _ in range(count)]


def together(engine, asked):
    """Answers to (prompt, sampling, stop, seed) that are asked for at once."""
    with ThreadPoolExecutor(len(asked)) as pool:
        return [*pool.map(lambda one: engine.generate(one[0], one[1], stop=one[2], seed=one[3]), asked)]


@pytest.fixture
def log():
    return []


@pytest.fixture
def engine(log):
    with LocalEngine(MODEL, name="tiny", wait=0.05, log=lambda prompt, drawn: log.append((prompt, drawn))) as made:
        yield made


@pytest.fixture(scope="module")
def alone():
    with LocalEngine(MODEL, name="alone", max_batch=1, wait=0) as made:
        yield made


def test_answers_are_the_same_alone_and_together(engine, alone):
    asked = [
        (prompt, Sampling(12 + at, temperature, top_p, top_k), (at, 40 + at), at)
        for at, (prompt, temperature, top_p, top_k) in enumerate(zip(
            prompts(16), [0, 0.5, 1, 1.7] * 4, [1, 1, 0.9, 0.5] * 4, [0, 5, 0, 40] * 4, strict=True,
        ))
    ]
    for ours, theirs in zip(together(engine, asked), together(alone, asked), strict=True):
        assert (ours.ids, ours.finish) == (theirs.ids, theirs.finish)
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=TOLERANCE)


def test_log_probabilities_are_those_of_a_fresh_pass(engine, log):
    asked = [
        (prompt, Sampling(40, temperature, top_p, top_k), (7,), at)
        for at, (prompt, temperature, top_p, top_k) in enumerate(zip(
            prompts(24, 1), [0, 0.3, 1, 2] * 6, [1, 0.8] * 12, [0, 0, 3] * 8, strict=True,
        ))
    ]
    for (prompt, sampling, _, _), drawn in zip(asked, together(engine, asked), strict=True):
        assert len(drawn.ids) == len(drawn.logprobs)
        assert drawn.logprobs == pytest.approx(recomputed(MODEL, prompt, drawn.ids, sampling.temperature), abs=TOLERANCE)
        assert (tuple(prompt), drawn) in log
    assert len(log) == 24


def test_the_seed_decides(alone):
    [prompt] = prompts(1, 2)
    answers = [alone.generate(prompt, Sampling(12), stop=(), seed=seed).ids for seed in (1, 1, 2, 3)]
    assert answers[0] == answers[1] and len(set(answers)) == 3


def test_an_answer_ends_with_a_stop_id_or_its_length(alone):
    [prompt] = prompts(1, 3)
    whole = alone.generate(prompt, GREEDY, stop=(), seed=0)
    assert (len(whole.ids), whole.finish) == (20, "length")
    end = whole.ids[6]
    ended = alone.generate(prompt, GREEDY, stop=(end, VOCABULARY + 9), seed=0)
    assert ended.ids == whole.ids[:whole.ids.index(end) + 1] and ended.finish == "stop"


def test_prompt_and_answer_share_the_context():
    with LocalEngine(MODEL, name="short", context=30, wait=0) as engine:
        drawn = engine.generate([1] * 25, GREEDY, stop=(), seed=0)
        assert (len(drawn.ids), drawn.finish) == (5, "length")
        with pytest.raises(ContextFull):
            engine.generate([1] * 30, GREEDY, stop=(), seed=0)
    with LocalEngine(MODEL, name="as made") as engine:
        assert engine.context == 4096


@pytest.mark.parametrize(("prompt", "error", "text"), [
    ([1, VOCABULARY], Fault, f"token {VOCABULARY}.*another model"), ([-1], Fault, "token -1"), ([], ValueError, "needs a prompt"),
])
def test_a_prompt_of_another_vocabulary_never_reaches_the_model(alone, prompt, error, text):
    with pytest.raises(error, match=text):
        alone.generate(prompt, GREEDY, stop=(), seed=0)


def test_tokens_are_drawn_as_often_as_they_are_likely():
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    random = generator(0, "test")

    def shares(sampling):
        drawn = Counter(pick(logits, sampling, random.random()) for _ in range(4000))
        assert all(logprob == pytest.approx(float((logits / (sampling.temperature or 1)).log_softmax(-1)[id]), abs=1e-6) for id, logprob in drawn)
        return [sum(count for (id, _), count in drawn.items() if id == at) / 4000 for at in range(4)]

    assert shares(Sampling()) == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.03)
    assert shares(Sampling(top_k=2)) == pytest.approx([4 / 7, 3 / 7, 0, 0], abs=0.03)
    assert shares(Sampling(top_p=0.75)) == pytest.approx([4 / 9, 3 / 9, 2 / 9, 0], abs=0.03)
    assert shares(Sampling(top_p=0)) == shares(Sampling(temperature=0)) == shares(Sampling(top_k=1)) == [1, 0, 0, 0]
    assert shares(Sampling(temperature=0.5)) == pytest.approx([16 / 30, 9 / 30, 4 / 30, 1 / 30], abs=0.03)
    assert pick(torch.tensor([0.0, 9.0, float("-inf")]), Sampling(top_k=99), 1 - 2**-53)[0] in (0, 1)


class Breakable(torch.nn.Module):
    """A model that fails as it is told, and counts its rows."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.config, self.device, self.error, self.rows, self.gate = inner, inner.config, inner.device, None, [], None

    def get_input_embeddings(self):
        return self.inner.get_input_embeddings()

    def forward(self, **inputs):
        self.rows.append(len(inputs["input_ids"]))
        if self.gate is not None:
            self.gate.wait(20)
        if self.error is not None:
            raise self.error
        return self.inner(**inputs)


def test_sixteen_threads_share_batches_and_finished_answers_leave():
    model = Breakable(MODEL)
    with LocalEngine(model, name="shared", max_batch=8, wait=1) as engine:
        asked = [(prompt, Sampling(2 + at, 0), (), at) for at, prompt in enumerate(prompts(16, 4))]
        assert [len(one.ids) for one in together(engine, asked)] == [*range(2, 18)]
    assert model.rows.count(8) >= 4 and {1, 2, 3} <= {*model.rows} and max(model.rows) == 8


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyboardInterrupt()])
def test_a_failing_model_is_a_fault_for_everybody_who_waits(error):
    model = Breakable(MODEL)
    with LocalEngine(model, name="broken", wait=0.2) as engine:
        model.error = error
        with ThreadPoolExecutor(5) as pool:
            waiting = [pool.submit(engine.generate, [1], GREEDY, stop=(), seed=0) for _ in range(5)]
        faults = [one.exception() for one in waiting]
        assert all(isinstance(one, Fault) and one.record.blame is Blame.MODEL_SERVER for one in faults)
        assert len({id(one) for one in faults}) == 5
        model.error = None
        assert len(engine.generate([1], GREEDY, stop=(), seed=0).ids) == 20


def test_logits_that_are_no_numbers_are_a_fault():
    model = tiny_llama()
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    with LocalEngine(model, name="nan") as engine, pytest.raises(Fault, match="not finite"):
        engine.generate([1], GREEDY, stop=(), seed=0)


def test_a_log_that_fails_is_a_fault_and_the_engine_goes_on():
    shown = []

    def log(prompt, drawn):
        shown.append(drawn)
        if len(shown) == 2:
            raise OSError("full")

    with LocalEngine(MODEL, name="logged", wait=0.5, max_batch=2, log=log) as engine:
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(engine.generate, [1], GREEDY, stop=(), seed=0) for _ in range(2)]
        assert sorted(str(one.exception()) for one in waiting) == ["None", "model_server: logged: OSError: full"]
        assert engine.generate([1], GREEDY, stop=(), seed=0) == shown[-1]


def test_each_answer_is_of_one_version(log):
    model = tiny_llama(5)
    other = tiny_llama(6).state_dict()
    before, after = tiny_llama(5), tiny_llama(6)
    with LocalEngine(model, name="changing", version="a", wait=0, max_batch=3, log=lambda prompt, drawn: log.append((prompt, drawn))) as engine:
        assert engine.generate([1], GREEDY, stop=(), seed=0).version == "a"
        with ThreadPoolExecutor(8) as pool:
            waiting = [pool.submit(engine.generate, one, GREEDY, stop=(), seed=0) for one in prompts(20, 5)[:10]]
            engine.refresh(lambda model: model.load_state_dict(other), "b")
            waiting += [pool.submit(engine.generate, one, GREEDY, stop=(), seed=0) for one in prompts(20, 5)[10:]]
            versions = [one.result().version for one in waiting]
        assert engine.version == "b" and versions[10:] == ["b"] * 10
    drawn_in_order = [drawn.version for _, drawn in log]
    assert drawn_in_order == sorted(drawn_in_order) and len(log) == 21
    for prompt, drawn in log:
        weights = before if drawn.version == "a" else after
        assert drawn.logprobs == pytest.approx(recomputed(weights, prompt, drawn.ids, 0), abs=TOLERANCE)


def test_nothing_is_drawn_from_weights_that_are_half_changed(engine):
    def fail(model):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        engine.refresh(fail, "1")
    with pytest.raises(Fault, match="weights could not be changed"):
        engine.generate([1], GREEDY, stop=(), seed=0)
    engine.refresh(lambda model: None, "2")
    assert engine.generate([1], GREEDY, stop=(), seed=0).version == "2"


def test_closing_ends_what_waits():
    model = Breakable(MODEL)
    model.gate = threading.Event()
    engine = LocalEngine(model, name="closing", max_batch=1, wait=0)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(engine.generate, [1], GREEDY, stop=(), seed=0) for _ in range(2)]
        while not model.rows:
            pass
        closing = pool.submit(engine.close)
        while not engine._closed:
            pass
        model.gate.set()
        closing.result(10)
        assert all("closed" in str(one.exception()) for one in waiting)
    engine.close()
    with pytest.raises(Fault, match="closed"):
        engine.generate([1], GREEDY, stop=(), seed=0)


def test_a_process_ends_in_the_middle_of_an_answer():
    code = """
import threading
from tiny_model import tiny_llama
from cowork_gym.harness.engines import Sampling
from cowork_gym.harness.policies.local import LocalEngine
engine = LocalEngine(tiny_llama(), name="left open")
threading.Thread(target=engine.generate, args=([1], Sampling(4000)), kwargs={"stop": (), "seed": 0}, daemon=True).start()
threading.Event().wait(0.5)
"""
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0 and "terminate" not in done.stderr


def test_an_adapter_changes_what_is_drawn(tmp_path):
    peft = pytest.importorskip("peft")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    model = tiny_llama(8)
    model.save_pretrained(tmp_path / "model")
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0, "?": 1}, unk_token="?"))).save_pretrained(tmp_path / "model")
    torch.manual_seed(0)
    peft.get_peft_model(model, peft.LoraConfig(r=4, lora_alpha=64, target_modules=["q_proj", "v_proj"], init_lora_weights=False)).save_pretrained(
        tmp_path / "adapter",
    )
    answers = []
    for options in {}, {"adapter": tmp_path / "adapter"}, {"adapter": tmp_path / "adapter", "merge": True}:
        loaded, tokenizer = load_model(tmp_path / "model", device="cpu", **options)
        assert tokenizer.convert_tokens_to_ids("a") == 0
        assert any("lora" in name for name, _ in loaded.named_parameters()) == (len(options) == 1)
        with LocalEngine(loaded, name="loaded") as engine:
            answers.append(engine.generate([1, 2, 3], GREEDY, stop=(), seed=0))
        assert answers[-1].logprobs == pytest.approx(recomputed(loaded, [1, 2, 3], answers[-1].ids, 0), abs=TOLERANCE)
    assert answers[0].ids != answers[1].ids == answers[2].ids
    with pytest.raises(UserError, match=r"no folder with a model.*config\.json"):
        load_model(tmp_path)
    with pytest.raises(UserError, match="no folder with an adapter"):
        load_model(tmp_path / "model", adapter=tmp_path)


def test_what_it_plays_is_what_the_engine_saw(engine, log):
    """Sampled ids are read as calls of real tools; the record joins to the engine's prompts, ids and log-probabilities."""
    def read(ids, tools):
        plain = [one["function"]["name"] for one in tools if not one["function"]["parameters"].get("required")]
        return message(None, *[ToolCall(plain[id % len(plain)], {}) for id in ids[:2]]) if ids[0] % 9 else message("Done")

    policy = TokenPolicy(engine, WordFormat(read), Sampling(max_tokens=12))
    draws = []
    with CoworkEnv(load_task("M1100")) as env:
        episode = play(env, policy, seed=5, watch=lambda turn: draws.append(policy.draw))
    assert episode.fault is None and len(draws) == len(log) == len(episode.turns) > 2
    tape = ()
    for draw, (prompt, drawn) in zip(draws, log, strict=True):
        tape = (*(() if draw.fresh else tape), *draw.tokens.context)
        assert tape == prompt and (draw.tokens.ids, draw.tokens.logprobs) == (drawn.ids, drawn.logprobs)
        tape = (*tape, *drawn.ids)
    assert [one.fresh for one in draws] == [True] + [False] * (len(draws) - 1)
    logprobs = recomputed(MODEL, log[-1][0], log[-1][1].ids, 1)
    assert log[-1][1].logprobs == pytest.approx(logprobs, abs=TOLERANCE)
