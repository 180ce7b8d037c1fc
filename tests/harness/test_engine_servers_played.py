"""An episode played by the token policy through each of the engines behind servers: the record has what the server saw and drew."""

import pytest

pytest.importorskip("httpx")

from contract_server import FakeModel, Trouble
from contract_sglang import SGLangServer
from contract_vllm import VLLMServer
from word_format import END, VOCABULARY, WordFormat

from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import Blame
from cowork_gym.core.messages import ToolCall, message
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import play
from cowork_gym.harness.engines.engine import Sampling
from cowork_gym.harness.engines.sglang import SGLangEngine
from cowork_gym.harness.engines.vllm import VLLMEngine
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.token_policy import TokenPolicy

LISTING = message("So", ToolCall("helpdesk_list_tickets", {}))


class Watched(Policy):
    """Plays as another policy does, and keeps its draws."""

    def __init__(self, inner):
        self.inner, self.name, self.draws = inner, inner.name, []

    def reset(self, tools, seed):
        self.inner.reset(tools, seed)

    def act(self, history):
        said = self.inner.act(history)
        self.draws.append(self.inner.draw)
        return said


def _read(ids, tools):
    return message("Done") if ids[0] == 0 else LISTING


def _play(server, engine):
    policy = Watched(TokenPolicy(engine, WordFormat(_read), Sampling(max_tokens=6)))
    with CoworkEnv(load_task("M1100")) as env:
        return play(env, policy, seed=0), policy.draws, [body.get("input_ids") or body["prompt"] for body in server.asked]


@pytest.fixture(params=["sglang", "vllm"])
def pair(request):
    make_server, make_engine = {"sglang": (SGLangServer, SGLangEngine), "vllm": (VLLMServer, VLLMEngine)}[request.param]
    with make_server(FakeModel(VOCABULARY, 100_000, eos=END)) as server, make_engine(server.url, timeout=5.0, retries=1, backoff=0.001) as engine:
        yield server, engine


def test_the_record_extends_what_the_server_saw(pair):
    server, engine = pair
    server.model.says = [(1, 9, END), (1, 9, 9, 9, 9, 9), (2, END), (0, END)]
    server.troubles = [Trouble(), Trouble(503, {})]
    episode, draws, prompts = _play(server, engine)
    assert episode.fault is None and len(draws) == 4
    assert [draw.finish for draw in draws] == ["stop", "length", "stop", "stop"]
    del prompts[1]  # the one that was asked again
    tape = ()
    for draw, prompt in zip(draws, prompts, strict=True):
        tokens = draw.tokens
        assert (*tape, *tokens.context) == tuple(prompt)
        tape = (*prompt, *tokens.ids)
        for place, (id, logprob) in enumerate(zip(tokens.ids, tokens.logprobs, strict=True)):
            assert logprob == pytest.approx(server.model.logprobs([*prompt, *tokens.ids[:place]], also=id)[id])
        assert draw.version == "default"


def test_a_conversation_that_fills_the_context_is_the_policys(pair):
    server, engine = pair
    server.model.says = [(1, 9, END)] * 50

    def shrink(_):
        [first] = server.asked
        server.model.context = len(first.get("input_ids") or first["prompt"]) + 6

    server.troubles = [Trouble(spoil=shrink)]
    episode, draws, prompts = _play(server, engine)
    assert episode.fault is None
    assert [draw.finish for draw in draws] == ["stop"] and episode.ending is Ending.CONTEXT
    assert draws[0].tokens
    assert len(prompts[1]) > server.model.context


def test_a_server_that_fails_quarantines_the_episode(pair):
    server, engine = pair
    server.model.says = [(1, 9, END)]
    server.troubles = [Trouble(), Trouble(500, {}), Trouble(500, {})]
    episode, _, _ = _play(server, engine)
    assert episode.fault is not None and episode.fault.blame is Blame.MODEL_SERVER
