"""The engines behind servers, over real sockets, against servers that refuse what the real ones refuse."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

pytest.importorskip("httpx")

from contract_server import KEY, FakeModel, Trouble
from contract_sglang import SGLangServer
from contract_vllm import VLLMServer

from cowork_gym.core.errors import Blame, Fault, MissingExtra, UserError
from cowork_gym.harness.engines.engine import ContextFull, Drawn, Sampling
from cowork_gym.harness.engines.sglang import SGLangEngine
from cowork_gym.harness.engines.vllm import VLLMEngine

PROMPT = (5, 6, 7, 8, 9)
STOP = (2, 77)
KINDS = {"sglang": (SGLangServer, SGLangEngine), "vllm": (VLLMServer, VLLMEngine)}


@contextmanager
def _pair(kind, *, engine=None, **options):
    make_server, make_engine = KINDS[kind]
    with make_server(**options) as server, make_engine(server.url, **{"timeout": 5.0, "retries": 2, "backoff": 0.001, **(engine or {})}) as client:
        yield server, client


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    return request.param


@pytest.fixture
def pair(kind):
    with _pair(kind) as both:
        yield both


def _ask(engine, prompt=PROMPT, *, seed=1, **sampling) -> Drawn:
    return engine.generate(prompt, Sampling(**{"max_tokens": 40, **sampling}), stop=STOP, seed=seed)


def _scored(model, ids, temperature=1.0):
    return [model.logprobs([*PROMPT, *ids[:place]], temperature, also=id)[id] for place, id in enumerate(ids)]


def _fault(engine, **sampling) -> str:
    with pytest.raises(Fault) as caught:
        _ask(engine, **sampling)
    assert caught.value.record.blame is Blame.MODEL_SERVER
    return caught.value.record.message


# What comes back


def test_an_answer_has_its_ids_with_their_log_probabilities(pair):
    server, engine = pair
    ends = set()
    for seed in range(20):
        drawn = _ask(engine, seed=seed)
        assert drawn.logprobs == pytest.approx(_scored(server.model, drawn.ids), abs=1e-12)
        assert drawn.version == "default"
        assert (drawn.finish == "stop") is (drawn.ids[-1] in STOP)
        ends.add(drawn.finish)
    assert "stop" in ends


def test_the_seed_decides(pair):
    _, engine = pair
    answers = [_ask(engine, seed=seed).ids for seed in (1, 2, 3, 1, -5, 2**70)]
    assert answers[0] == answers[3]
    assert len(set(answers)) > 2


def test_a_server_of_sglang_that_is_not_deterministic_ignores_the_seed():
    with _pair("sglang", deterministic=False) as (_, engine):
        assert len({_ask(engine, seed=1).ids for _ in range(8)}) > 1


def test_the_limit_cuts_an_answer(pair):
    server, engine = pair
    server.model.says = [(10, 11, 12, 13, 2), (10, 11, 77)]
    assert _ask(engine, max_tokens=3)[0::2] == ((10, 11, 12), "length")
    assert _ask(engine, max_tokens=3)[0::2] == ((10, 11, 77), "stop")


def test_a_stop_token_that_is_also_the_last_one_allowed_ends_the_answer_by_itself(pair):
    server, engine = pair
    server.model.says = [(10, 77)]

    def length_first(answer):
        if "choices" in answer:
            answer["choices"][0] |= {"finish_reason": "length", "stop_reason": None}
        else:
            answer["meta_info"]["finish_reason"] = {"type": "length", "length": 2}

    server.troubles = [Trouble(spoil=length_first)]
    assert _ask(engine, max_tokens=2).finish == "stop"


@pytest.mark.parametrize("temperature", [0.0, 0.6, 1.3])
def test_log_probabilities_of_sglang_are_those_of_the_temperature_before_top_p_and_top_k(temperature):
    with _pair("sglang") as (server, engine):
        drawn = _ask(engine, temperature=temperature, top_p=0.8, top_k=5)
        assert drawn.logprobs == pytest.approx(_scored(server.model, drawn.ids, temperature or 1.0), abs=1e-12)


@pytest.mark.parametrize(("mode", "sampling"), [
    ("raw", {"temperature": 1.0, "top_p": 0.7, "top_k": 4}), ("raw", {"temperature": 0.0}), ("processed", {"temperature": 0.0, "top_p": 0.5}),
    ("processed", {"temperature": 0.6}), ("processed", {"temperature": 1.0}),
])
def test_log_probabilities_of_vllm_where_its_mode_gives_the_right_ones(mode, sampling):
    with _pair("vllm", mode=mode, engine={"logprobs": f"{mode}_logprobs"}) as (server, engine):
        drawn = _ask(engine, **{"top_p": 1.0, **sampling})
        assert drawn.logprobs == pytest.approx(_scored(server.model, drawn.ids, sampling["temperature"] or 1.0), abs=1e-12)


@pytest.mark.parametrize(("mode", "sampling", "told"), [
    ("raw", {"temperature": 0.6}, "temperature is 0.6.*--logprobs-mode processed_logprobs"),
    ("processed", {"top_p": 0.9}, "top_p is 0.9 and top_k 0.*--logprobs-mode raw_logprobs"),
    ("processed", {"temperature": 0.5, "top_k": 3}, "top_k 3"),
])
def test_vllm_is_not_asked_for_log_probabilities_that_belong_to_another_sampling(mode, sampling, told):
    with _pair("vllm", mode=mode, engine={"logprobs": f"{mode}_logprobs"}) as (server, engine):
        with pytest.raises(UserError, match=told):
            _ask(engine, **sampling)
        assert not server.asked


def test_many_threads_share_an_engine(pair):
    server, engine = pair
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda seed: _ask(engine, seed=seed % 10), range(60)))
    assert answers == [answers[seed % 10] for seed in range(60)]
    ids = [body.get("rid") or body["request_id"] for body in server.asked]
    assert len(set(ids)) == 60


# What the engine knows of its model


def test_name_and_context_are_asked_for_once(pair, kind):
    server, engine = pair
    assert (engine.name, engine.context) == (f"fake/{kind}", 128)
    _ask(engine)
    assert [path for path, _ in server.requests] == ["/v1/models", server.generates]


def test_another_of_the_servers_models_can_be_named():
    with _pair("vllm", engine={"model": "adapter"}) as (server, engine):
        assert (engine.name, engine.context) == ("adapter", None)
        assert _ask(engine).ids and server.asked[0]["model"] == "adapter"
    with pytest.raises(UserError, match="no model 'adaptor': did you mean 'adapter'"), _pair("vllm", engine={"model": "adaptor"}):
        pass


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://h", "http://", "http://h:x"])
def test_what_is_no_address_is_refused(kind, url):
    with pytest.raises(UserError, match="is no address of a server"):
        KINDS[kind][1](url)


def test_an_address_may_end_in_v1(kind):
    with KINDS[kind][0]() as server, KINDS[kind][1](server.url + "/v1/", timeout=5.0) as engine:
        assert _ask(engine).ids


def test_a_missing_library_is_named(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"pip install 'cowork-gym\[sglang\]'"):
        KINDS[kind][1]()


# Room


def test_the_answers_limit_is_cut_to_the_room_that_is_left(kind):
    with _pair(kind, model=FakeModel(context=10)) as (server, engine):
        server.model.says = [(10,) * 9]
        assert _ask(engine)[0::2] == ((10,) * 5, "length")
        with pytest.raises(ContextFull, match="a prompt of 10 tokens, and a context of 10"):
            _ask(engine, prompt=PROMPT * 2)
        assert len(server.asked) == 1


@pytest.mark.parametrize("length", [10, 11])
def test_a_server_that_does_not_tell_its_context_says_that_it_is_full(kind, length):
    with _pair(kind, model=FakeModel(context=10), tells_context=False) as (server, engine):
        assert engine.context is None
        with pytest.raises(ContextFull, match=r"context length|max_tokens must be at least 1"):
            _ask(engine, prompt=(5,) * length)
        assert len(server.asked) == 1


@pytest.mark.parametrize(("kind", "text"), [
    ("sglang", "Requested token count exceeds the model's maximum context length of 9 tokens. You requested a total of 10 tokens: …"),
    ("sglang", "Input length (10 tokens) exceeds the maximum allowed length (9 tokens). Use a shorter input or enable --allow-auto-truncate."),
    ("vllm", "The decoder prompt (length 10) is longer than the maximum model length of 9. Make sure that …"),
    ("vllm", "Input length (10) exceeds model's maximum context length (9)."),
])
def test_other_layers_of_the_servers_say_it_in_other_words(kind, text):
    with _pair(kind) as (server, engine):
        server.troubles = [Trouble(400, {"error": {"message": text}})]
        with pytest.raises(ContextFull, match="maximum"):
            _ask(engine)


# Who is to blame


@pytest.mark.parametrize("trouble", [
    Trouble(503, {"error": "overloaded"}), Trouble(500, b"<html>"), Trouble(429, {"detail": "slow down"}), Trouble(drop=True), Trouble(hang=True),
], ids=["503", "500", "429", "drop", "hang"])
def test_what_may_pass_is_asked_again_as_the_same_request(kind, trouble):
    with _pair(kind, engine={"timeout": 0.3}) as (server, engine):
        server.troubles = [trouble]
        assert _ask(engine).ids
        unnoticed = kind == "sglang" and (trouble.drop or trouble.hang)  # that nobody waits for the first one any more
        assert len(server.asked) == 2 + unnoticed
        assert all(body == server.asked[0] for body in server.asked)


@pytest.mark.parametrize(("trouble", "told"), [
    (Trouble(503, {"error": {"message": "overloaded"}}), "status 503: overloaded, asked 3 times"), (Trouble(drop=True), "disconnected"),
    (Trouble(hang=True), "no answer within 0.2 seconds, asked 3 times"),
], ids=["503", "drop", "hang"])
def test_what_does_not_pass_is_the_servers_fault(trouble, told):
    with _pair("vllm", engine={"timeout": 0.2}) as (server, engine):
        server.troubles = [trouble] * 3
        assert told in _fault(engine)
        assert len(server.asked) == 3


def test_pauses_between_tries_grow(pair):
    server, engine = pair

    pauses = []

    class Watch(threading.Event):
        def wait(self, timeout=None):
            pauses.append(timeout)
            return True

    engine._connection._closed = Watch()
    server.troubles = [Trouble(502, {}), Trouble(502, {})]
    _ask(engine)
    first, second = pauses
    assert 0.0005 <= first <= 0.0015 and 0.001 <= second <= 0.003


def test_nobody_at_the_address_is_the_persons(kind):
    with KINDS[kind][0]() as server:
        url = server.url
    with pytest.raises(UserError, match=rf"^{url}/v1/models: ConnectError.*asked 2 times"):
        KINDS[kind][1](url, retries=1, backoff=0.001)


def test_a_wrong_key_is_the_persons(kind):
    with KINDS[kind][0](key=KEY) as server:
        for wrong in (None, "wrong"):
            with pytest.raises(UserError, match="refuses the key"):
                KINDS[kind][1](server.url, api_key=wrong)
        assert len(server.requests) == 2
    with _pair(kind, key=KEY, engine={"api_key": KEY}) as (_, engine):
        assert _ask(engine).ids


def test_a_wrong_path_is_the_persons(pair):
    server, engine = pair
    server.troubles = [Trouble(404, {"detail": "Not Found"})]
    with pytest.raises(UserError, match="is not there: Not Found"):
        _ask(engine)


def test_another_refusal_is_a_fault_at_once(pair):
    server, engine = pair
    with pytest.raises(Fault, match=r"status 400: (contract: out of vocabulary|Token id 5000 is out of vocabulary)"):
        _ask(engine, prompt=(5000,))
    with pytest.raises(Fault, match=r"status 400: .*cannot be empty"):
        _ask(engine, prompt=())
    assert len(server.asked) == 2


@pytest.mark.parametrize(("wrong", "told"), [
    ({"max_tokens": 0}, "max_tokens is 0"), ({"temperature": -0.1}, "temperature is -0.1"), ({"temperature": float("nan")}, "temperature is nan"),
    ({"top_p": 0.0}, "top_p is 0.0"), ({"top_k": -1}, "top_k is -1: it should be 0 for all tokens"),
])
def test_sampling_that_no_server_does_is_the_persons(pair, wrong, told):
    with pytest.raises(UserError, match=told):
        _ask(pair[1], **wrong)
