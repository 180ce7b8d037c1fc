"""Answers that a model cannot have drawn, updates of weights, and what the contract servers themselves refuse."""

import math
from contextlib import contextmanager

import pytest

pytest.importorskip("httpx")

import httpx
from contract_server import FakeModel, Trouble
from contract_sglang import SGLangServer
from contract_vllm import VLLMServer

from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.harness.engines.engine import Sampling
from cowork_gym.harness.engines.sglang import SGLangEngine
from cowork_gym.harness.engines.vllm import VLLMEngine

PROMPT, STOP = (5, 6, 7, 8, 9), (2, 77)
MIXED = [{"version": "1", "start": 0, "end": 1}, {"version": "2", "start": 1, "end": 3}]
SGLANG, VLLM = (SGLangServer, SGLangEngine), (VLLMServer, VLLMEngine)


@contextmanager
def _open(kind, **options):
    with kind[0](**options) as server, kind[1](server.url, timeout=5.0, retries=1, backoff=0.001) as engine:
        yield server, engine


def _ask(engine, **sampling):
    return engine.generate(PROMPT, Sampling(**{"max_tokens": 40, **sampling}), stop=STOP, seed=1)


def _meta(**changes):
    def spoil(answer):
        answer["meta_info"] |= changes
    return spoil


def _scores(change):
    def spoil(answer):
        change(answer["meta_info"]["output_token_logprobs"])
    return spoil


def _choice(**changes):
    def spoil(answer):
        answer["choices"][0] |= changes
    return spoil


def _logprobs(change):
    def spoil(answer):
        change(answer["choices"][0]["logprobs"])
    return spoil


def _repeat_last(answer):
    for rows in (answer["output_ids"], answer["meta_info"]["output_token_logprobs"]):
        rows.append(rows[-1])


def _set(rows, place, value):
    rows[place] = value


@pytest.mark.parametrize(("spoil", "told"), [
    (_meta(finish_reason={"type": "abort", "message": "Abort in waiting queue", "status_code": None}), "finish_reason: .*Abort in waiting queue"),
    (_meta(finish_reason={"type": "tired"}), "finish_reason.type: the answer ended by 'tired'"),
    (_meta(finish_reason={"type": "stop", "matched": "NaN happened"}), "finish_reason.matched: ended by 'NaN happened'"),
    (_meta(finish_reason={"type": "stop", "matched": 11}), "finish_reason.matched: ended by 11, and the last id is 77"),
    (_meta(finish_reason=None), r"/generate: meta_info.finish_reason: "),
    (_meta(prompt_tokens=4), "prompt_tokens: a prompt of 5 tokens was read as one of 4"),
    (_meta(output_token_logprobs=[]), "output_token_logprobs: 0 log-probabilities of 3 tokens"),
    (_meta(weight_versions=MIXED), "meta_info.weight_versions: .*2 versions.*: 1, 2"),
    (_scores(lambda rows: rows.pop()), "2 log-probabilities of 3 tokens"),
    (_scores(lambda rows: _set(rows[1], 1, 12)), "log-probabilities of other tokens than those of output_ids"),
    (_scores(lambda rows: _set(rows[2], 0, None)), "output_token_logprobs.2: None"),
    (_scores(lambda rows: _set(rows[0], 0, 0.1)), "output_token_logprobs.0: 0.1"),
    (_scores(lambda rows: _set(rows[0], 0, math.nan)), "output_token_logprobs.0: nan"),
    (_scores(lambda rows: _set(rows[0], 0, -math.inf)), "output_token_logprobs.0: -inf"),
    (lambda answer: answer.pop("output_ids") and None, "output_ids: Field required"),
    (lambda answer: answer["output_ids"].clear(), "output_ids: no tokens"),
    (lambda answer: _repeat_last(answer), "output_ids.2: 77 should have ended the answer"),
    (lambda answer: [answer], "/generate: the answer: "),
    (lambda answer: b"not json", "/generate: the answer: Invalid JSON"),
], ids=range(19))
def test_sglang_is_believed_only_what_can_be(spoil, told):
    with _open(SGLANG) as (server, engine):
        server.model.says = [(10, 11, 77)]
        server.troubles = [Trouble(spoil=spoil)]
        with pytest.raises(Fault, match=told) as caught:
            _ask(engine)
        assert (caught.value.record.blame, caught.value.record.where, len(server.asked)) == (Blame.MODEL_SERVER, server.url, 1)


@pytest.mark.parametrize(("spoil", "told"), [
    (_choice(finish_reason="abort"), "choices.0.finish_reason: the answer ended by 'abort'"),
    (_choice(finish_reason=None), "choices.0.finish_reason: the answer ended by None"),
    (_choice(stop_reason="</s>"), "choices.0.stop_reason: ended by '</s>'"),
    (_choice(token_ids=None), "choices.0.token_ids: "),
    (_choice(token_ids=[10, 77]), "choices.0.logprobs.token_logprobs: 3 log-probabilities of 2 tokens"),
    (_choice(prompt_token_ids=[1, 5, 6, 7, 8, 9]), "choices.0.prompt_token_ids: the model read another prompt"),
    (_choice(logprobs=None), "choices.0.logprobs: "),
    (_choice(weight_versions=MIXED), "choices.0.weight_versions: .*2 versions.*: 1, 2"),
    (_logprobs(lambda one: _set(one["tokens"], 0, "token_id:12")), "log-probabilities of other tokens"),
    (_logprobs(lambda one: _set(one["tokens"], 0, "Ġhello")), "choices.0.logprobs.tokens: tokens come as text"),
    (_logprobs(lambda one: _set(one["token_logprobs"], 1, -9999.0)), "token_logprobs.1: -9999.0"),
    (_logprobs(lambda one: _set(one["token_logprobs"], 1, None)), "token_logprobs.1: None"),
    (lambda answer: answer["choices"].clear(), "/v1/completions: choices: "),
    (lambda answer: answer["choices"].append(answer["choices"][0]), "/v1/completions: choices: "),
], ids=range(14))
def test_vllm_is_believed_only_what_can_be(spoil, told):
    with _open(VLLM) as (server, engine):
        server.model.says = [(10, 11, 77)]
        server.troubles = [Trouble(spoil=spoil)]
        with pytest.raises(Fault, match=told):
            _ask(engine)
        assert len(server.asked) == 1


def test_no_more_tokens_are_believed_than_were_asked_for():
    with _open(SGLANG) as (server, engine):
        server.troubles = [Trouble(spoil=lambda answer: answer["output_ids"].extend([3] * 9))]
        with pytest.raises(Fault, match="11 tokens, and 2 were asked for"):
            engine.generate(PROMPT, Sampling(max_tokens=2), stop=(), seed=3)


# Weights


@pytest.mark.parametrize("kind", [SGLANG, VLLM], ids=["sglang", "vllm"])
def test_new_weights_draw_under_their_version(kind):
    with _open(kind) as (server, engine):
        before = _ask(engine)
        assert (engine.version, before.version) == ("default", "default")
        engine.update_weights("second", "step-2")
        after = _ask(engine)
        assert (engine.version, after.version, server.model.weights) == ("step-2", "step-2", "second")
        assert after.logprobs != before.logprobs


def test_an_older_sglang_has_another_path_for_its_version():
    with _open(SGLANG, renamed=False) as (_, engine):
        assert engine.version == "default"


def test_sglang_says_why_weights_were_not_loaded():
    with _open(SGLANG) as (_, engine), pytest.raises(Fault, match="status 400: Failed to get weights iterator: third"):
        engine.update_weights("third", "3")


def test_an_sglang_that_keeps_no_versions_is_no_use_for_updates():
    with _open(SGLANG) as (server, engine):
        server.update = lambda asked: {"success": True, "message": "", "num_paused_requests": 0}
        with pytest.raises(Fault, match="loaded as '2', and the server calls them 'default'"):
            engine.update_weights("second", "2")


def test_an_older_vllm_leaves_the_version_to_the_client():
    with _open(VLLM, tells_versions=False) as (_, engine):
        assert (engine.version, _ask(engine).version) == ("unknown", "unknown")
        engine.update_weights("second", "2")
        assert (engine.version, _ask(engine).version) == ("2", "2")


def test_a_vllm_without_its_development_endpoints_cannot_load_weights():
    with _open(VLLM, dev=False) as (_, engine):
        assert engine.version == "unknown"
        assert _ask(engine).version == "default"
        with pytest.raises(UserError, match="VLLM_SERVER_DEV_MODE=1"):
            engine.update_weights("second", "2")


def test_a_vllm_whose_weights_are_in_doubt_stays_paused_until_others_are_loaded():
    with _open(VLLM) as (server, engine):
        with pytest.raises(Fault, match="the server stays paused: /collective_rpc: status 500"):
            engine.update_weights("third", "3")
        with pytest.raises(Fault, match="status 503"):
            _ask(engine)
        server.cached = True
        with pytest.raises(Fault, match="the server stays paused: /reset_prefix_cache"):
            engine.update_weights("second", "2")
        server.cached = False
        engine.update_weights("second", "2")
        assert _ask(engine).version == "2"


# The contract servers


@pytest.mark.parametrize(("changes", "told"), [
    ({"input_ids": None}, "Either text, input_ids"), ({"input_ids": []}, "input_ids cannot be empty."), ({"inputs": 1}, "unknown field"),
    ({"input_ids": [5] * 128}, "longer than the model's context length"), ({"input_ids": [-1]}, "out of vocabulary"),
    ({"sampling_params": {"top_k": 0}}, "top_k must be -1"), ({"sampling_params": {"temperature": -1.0}}, "temperature must be"),
    ({"sampling_params": {"max_tokens": 3}}, "unknown field `max_tokens`"), ({"sampling_params": {"max_new_tokens": 128}}, "Requested token count"),
    ({"sampling_params": {"top_p": 0.0}}, "top_p must be"), ({"sampling_params": {"sampling_seed": 2**63}}, "sampling_seed"),
])
def test_the_contract_server_of_sglang_refuses(changes, told):
    with SGLangServer() as server:
        fits = {"max_new_tokens": 4}
        body = {"input_ids": [5]} | changes | {"sampling_params": fits | changes.get("sampling_params", {})}
        refused = httpx.post(f"{server.url}/generate", json=body, trust_env=False)
        assert refused.status_code == 400 and told in refused.text
        plain = httpx.post(f"{server.url}/generate", json={"input_ids": [5], "sampling_params": fits}, trust_env=False)
        assert "output_token_logprobs" not in plain.json()["meta_info"]


@pytest.mark.parametrize(("changes", "status", "told"), [
    ({"prompt": None}, 400, "Either prompt or prompt_embeds"), ({"prompt": []}, 400, "cannot be empty"), ({"prompt": [-1]}, 400, "greater than"),
    ({"prompt": [1000]}, 400, "Token id 1000 is out of vocabulary"), ({"prompt": [5] * 129}, 400, "maximum context length is 128 tokens"),
    ({"prompt": [5] * 128}, 400, "max_tokens must be at least 1"), ({"top_k": -2}, 400, "top_k must be"), ({"typo": 1}, 400, "Extra inputs"),
    ({"temperature": -1.0}, 400, "non-negative"), ({"temperature": 2.5}, 400, "in [0, 2]"), ({"top_p": 0.0}, 400, "top_p must be"),
    ({"model": "other"}, 404, "does not exist"),
])
def test_the_contract_server_of_vllm_refuses(changes, status, told):
    with VLLMServer(FakeModel()) as server:
        refused = httpx.post(f"{server.url}/v1/completions", json={"prompt": [5]} | changes, trust_env=False)
        assert refused.status_code == status and told in refused.text
        choice = httpx.post(f"{server.url}/v1/completions", json={"prompt": [5]}, trust_env=False).json()["choices"][0]
        assert (choice["token_ids"], choice["logprobs"], choice["weight_versions"]) == (None, None, None)
