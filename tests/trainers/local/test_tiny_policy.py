"""The tiny policy: its model saves, loads and caches; its tokenizer keeps digits apart; its template can be extended."""

import copy
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from tiny_players import policy, tokenizer
from transformers import AutoModelForCausalLM

from cowork_gym.core.messages import Message, call
from cowork_gym.harness.engines.engine import Sampling
from cowork_gym.harness.policies.local.draw import Request, draw_together
from cowork_gym.harness.tokens import JinjaFormat
from cowork_gym.trainers.tiny.tokenizer import train_tokenizer

TOOLS = [{"type": "function", "function": {"name": "helpdesk_get_ticket", "description": "", "parameters": {}}}]


def test_cached_log_probabilities_are_those_of_a_fresh_pass() -> None:
    torch.set_num_threads(1)
    model = policy().eval()
    prompts = [tuple(range(20, 20 + length)) for length in (1, 5, 30, 17)]
    requests = [Request(one, Sampling(max_tokens=9 + at), frozenset(), at) for at, one in enumerate(prompts)]
    drawn = draw_together(model, requests, "1", check=lambda: None)
    for prompt, answer in zip(prompts, drawn, strict=True):
        with torch.no_grad():
            fresh = model(input_ids=torch.tensor([[*prompt, *answer.ids]])).logits[0].log_softmax(-1)
        found = [fresh[len(prompt) - 1 + at, id].item() for at, id in enumerate(answer.ids)]
        assert found == pytest.approx(answer.logprobs, abs=1e-5)


def test_padding_and_packing_change_nothing() -> None:
    torch.set_num_threads(1)
    model, one, two = policy().eval(), torch.arange(20, 28), torch.arange(60, 65)
    with torch.no_grad():
        alone, behind = model(input_ids=one[None]).logits[0], model(input_ids=two[None]).logits[0]
        left = model(input_ids=torch.cat([torch.tensor([7, 9]), one])[None], attention_mask=torch.tensor([[0, 0, *[1] * 8]])).logits[0, 2:]
        positions = torch.tensor([[*range(8), *range(5)]])
        packed = model(input_ids=torch.cat([one, two])[None], position_ids=positions, use_cache=False).logits[0]
    assert torch.allclose(alone, left, atol=1e-5) and torch.allclose(torch.cat([alone, behind]), packed, atol=1e-5)


def test_the_token_before_is_seen() -> None:
    model = policy().eval()
    other = copy.deepcopy(model)
    torch.nn.init.zeros_(other.previous.weight)
    with torch.no_grad():
        assert not torch.allclose(model(input_ids=torch.tensor([[5, 6]])).logits[0, 1], other(input_ids=torch.tensor([[5, 6]])).logits[0, 1])
        assert torch.allclose(model(input_ids=torch.tensor([[5]])).logits, other(input_ids=torch.tensor([[5]])).logits)
    with pytest.raises(ValueError, match="reads ids"):
        model(inputs_embeds=torch.zeros(1, 2, 32))


def test_it_is_saved_and_loaded_like_any_model(tmp_path: Path) -> None:
    model = policy()
    model.save_pretrained(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert type(again) is type(model)
    assert all(torch.equal(one, again.state_dict()[name]) for name, one in model.state_dict().items())


def test_ids_are_spelled_in_digits_and_the_template_grows() -> None:
    made = tokenizer()
    assert [made.decode([id]) for id in made.encode("T57")] == ["T", "5", "7"]
    format = JinjaFormat(made)
    assert (format.flaw, format.family) == ("", "hermes")
    prompt = format.open([Message("user", "T57?")], TOOLS)
    system, asked = "<|im_start|>system\nTools: helpdesk_get_ticket<|im_end|>\n", "<|im_start|>user\nT57?<|im_end|>\n"
    assert made.decode(prompt) == system + asked + "<|im_start|>assistant\n"
    said = made.encode('<tool_call>{"name":"helpdesk_get_ticket","arguments":{"ticket_id": "T57"}}</tool_call><|im_end|>')
    read = format.read(said, "stop", TOOLS)
    assert read.tool_calls[0].name == "helpdesk_get_ticket" and read.tool_calls[0].decoded() == call("x", ticket_id="T57").tool_calls[0].decoded()


def test_equal_texts_give_an_equal_tokenizer() -> None:
    one, two = (train_tokenizer(["get_ticket T57", "Answer: done"], 300) for _ in range(2))
    assert one.get_vocab() == two.get_vocab() and len(one) <= 300
