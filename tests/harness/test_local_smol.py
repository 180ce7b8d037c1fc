"""SmolLM2's real weights in the local engine: conversations of four turns, token in, token out."""

from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("transformers")
pytest.importorskip("gguf")

import torch
from policy_tools import TOOLS

from cowork_gym.core.errors import MissingExtra
from cowork_gym.core.messages import Message
from cowork_gym.envs.turns import spoken
from cowork_gym.harness.engines import Sampling
from cowork_gym.harness.policies.local import LocalEngine, local_policy, smollm2, smollm2_folder
from cowork_gym.harness.policies.token_policy import TokenPolicy
from cowork_gym.harness.tokens.jinja import JinjaFormat
from cowork_gym.harness.tokens.smol import SMOLLM2_TOOLS

pytestmark = [pytest.mark.smol, pytest.mark.slow, pytest.mark.timeout(600)]
torch.set_num_threads(1)

SYSTEM = Message("system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face")
TOLERANCE = 1e-4
"""Of a log-probability in float32, over prompts of some hundred tokens, padded and cached on one side and neither on the other."""


@pytest.fixture(scope="module")
def loaded():
    try:
        return smollm2(dtype="float32", device="cpu")
    except MissingExtra as missing:
        pytest.skip(str(missing))


def converse(policy, seed, questions):
    """The segment's tokens, and (position, log-probability) of each sampled one."""
    policy.reset(TOOLS[3:5], seed)
    history, tape, sampled = [SYSTEM], [], []
    for question in questions:
        history.append(Message("user", question))
        said = policy.act(history)
        tokens = policy.draw.tokens
        assert policy.draw.fresh == (not tape)
        tape += tokens.context
        sampled += zip(range(len(tape), len(tape) + len(tokens.ids)), tokens.logprobs, strict=True)
        tape += tokens.ids
        history.append(spoken(said))
    return tape, sampled


def test_log_probabilities_over_four_turns_are_those_of_one_fresh_pass(loaded):
    model, tokenizer = loaded
    asked = {
        0.7: ["What is the capital of France?", "And of Italy?", "Which of the two is larger?", "Thank you."],
        1.0: ["Write a list of three fruits, please, each with its colour in brackets.", "Shorter.", "日本語で?", "Now as JSON: {\"a\": 1}"],
    }
    log = []
    with LocalEngine(model, name="smollm2", wait=0.05, log=lambda prompt, drawn: log.append((*prompt, *drawn.ids))) as engine:
        policies = {temperature: TokenPolicy(engine, JinjaFormat(tokenizer, SMOLLM2_TOOLS), Sampling(16, temperature)) for temperature in asked}
        with ThreadPoolExecutor(2) as pool:
            tapes = [*pool.map(lambda one: converse(policies[one], 3, asked[one]), asked)]
    assert len(log) == 8
    for temperature, (tape, sampled) in zip(asked, tapes, strict=True):
        assert tuple(tape) in log
        with torch.no_grad():
            fresh = (model(torch.tensor([tape])).logits[0].float() / temperature).log_softmax(-1)
        assert [one for _, one in sampled] == pytest.approx([float(fresh[at - 1, tape[at]]) for at, _ in sampled], abs=TOLERANCE)


def test_it_answers_and_stops(loaded):
    model, tokenizer = loaded
    assert (tokenizer.eos_token, tokenizer.pad_token, model.config.eos_token_id) == ("<|im_end|>", "<|endoftext|>", 2)
    with LocalEngine(model, name="smollm2") as engine:
        policy = TokenPolicy(engine, JinjaFormat(tokenizer, SMOLLM2_TOOLS), Sampling(40, temperature=0))
        said = policy.act([SYSTEM, Message("user", "What is the capital of France?")])
    assert "Paris" in said.content and policy.draw.finish == "stop" and policy.draw.tokens.ids[-1] == 2


def test_the_folder_is_made_once(loaded):
    assert smollm2_folder() == smollm2_folder() and not [*smollm2_folder().parent.glob("tmp*")]


def test_policies_for_one_path_share_an_engine(loaded):
    one, other = local_policy("smollm2"), local_policy("smollm2", sampling=Sampling(8))
    assert one._engine is other._engine and one._format is other._format and one.name == "local:smollm2"
