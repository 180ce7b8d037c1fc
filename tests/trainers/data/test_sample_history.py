"""Templates that render history anew are found out; empty thoughts are context; thoughts of earlier turns stay, unless they are not wanted."""

import pytest
from sample_tools import assistant, calls, chat_format, dialogue, learned, mistral, qwen, template, text_of, told, user

from cowork_gym.core.messages import Message
from cowork_gym.harness.tokens import JinjaFormat
from cowork_gym.trainers.data.sft.dropped import Dropped, Reason
from cowork_gym.trainers.data.sft.render import Rules, render, samples

pytest.importorskip("transformers")

THOUGHTFUL = dialogue(
    user("Book a room."), calls("<think>\nWhere?\n</think>\n\n", ("look", {"at": "x"})), told("0", "free"),
    assistant("<think>\nGood.\n</think>\n\nFree."),
    user("Book it."), assistant("<think>\n\n</think>\n\nBooked."),
)
CALLED = '<tool_call>\n{"name": "look", "arguments": {"at": "x"}}\n</tool_call>'


@pytest.mark.parametrize(("name", "texts"), [
    ("qwen3", [f"<think>\nWhere?\n</think>\n\n{CALLED}<|im_end|>", "<think>\nGood.\n</think>\n\nFree.<|im_end|>", "Booked.<|im_end|>"]),
    ("qwen3.6", [
        "Where?\n</think>\n\n<tool_call>\n<function=look>\n<parameter=at>\nx\n</parameter>\n</function>\n</tool_call><|im_end|>",
        "Good.\n</think>\n\nFree.<|im_end|>", "Booked.<|im_end|>",
    ]),
    ("qwen2.5", [f"<think>\nWhere?\n</think>\n\n\n{CALLED}<|im_end|>", "<think>\nGood.\n</think>\n\nFree.<|im_end|>", "Booked.<|im_end|>"]),
    ("chatml", [
        '<think>\nWhere?\n</think>\n\n\n{"name":"look","arguments":{"at":"x"}}<|im_end|>', "<think>\nGood.\n</think>\n\nFree.<|im_end|>",
        "Booked.<|im_end|>",
    ]),
])
def test_thoughts_are_learned_and_stay_in_context_but_empty_ones_are_only_context(name, texts):
    one = chat_format(name)
    sample = render(THOUGHTFUL, one)
    assert learned(one, sample) == texts
    whole = text_of(one, sample.ids)
    assert whole.count("</think>") == 3 and "Where?" in whole.split("Book it.")[0]


def test_an_empty_block_is_learned_where_that_is_asked_for():
    one = chat_format("qwen3")
    sample = render(THOUGHTFUL, one, Rules(ignore_empty_think=False))
    assert learned(one, sample)[-1] == "<think>\n\n</think>\n\nBooked.<|im_end|>"
    assert sample.ids == render(THOUGHTFUL, one).ids


@pytest.mark.parametrize("block", ["<think></think>", "<think> </think>\n", "<think>\n\n\n</think>\n\n\n", "\n<think>\n</think>"])
def test_a_block_of_white_space_alone_is_context_however_it_is_written(block):
    one = chat_format("qwen2.5")
    sample = render(dialogue(user("?"), assistant(f"{block}Yes.")), one)
    assert learned(one, sample) == ["Yes.<|im_end|>"] and block in text_of(one, sample.ids)


def test_a_letter_that_shares_a_token_with_the_white_space_stays_learned():
    one = chat_format("qwen2.5")
    assert learned(one, render(dialogue(user("?"), assistant("<think></think> Yes.")), one)) == [" Yes.<|im_end|>"]


def test_without_thoughts_in_history_each_answer_is_given_what_the_template_shows():
    one, rules = chat_format("qwen3"), Rules(preserve_thinking=False)
    assert render(THOUGHTFUL, one, rules).reason is Reason.RERENDERED
    assert samples(THOUGHTFUL, one, rules) == (render(THOUGHTFUL, one, rules),)
    found = samples(THOUGHTFUL, one, Rules(preserve_thinking=False, each_answer=True))
    assert [learned(one, sample) for sample in found] == [[text] for text in learned(one, render(THOUGHTFUL, one))]
    messages, tools = THOUGHTFUL.messages, THOUGHTFUL.tools
    for at, sample in zip((1, 3, 5), found, strict=True):
        prompt = one.open(messages[:at], tools)
        assert sample.ids[: len(prompt)] == prompt and not any(sample.mask[: len(prompt)])
    last = text_of(one, found[-1].ids)
    assert "Where?" not in last and "Good." not in last and "Free." in last


def test_without_thoughts_to_drop_one_sequence_shows_it_all():
    plain = dialogue(user("Book a room."), calls("I look.", ("look", {"at": "x"})), told("0", "free"), assistant("Free."))
    one = chat_format("qwen2.5")
    assert render(plain, one, Rules(preserve_thinking=False)) == render(plain, one)


@pytest.fixture(scope="module", params=["gemma3", "phi3", "mistral3"])
def flawed(request):
    """Formats that cannot be extended."""
    one = mistral(3) if request.param == "mistral3" else JinjaFormat(qwen(), template(request.param))
    assert one.flaw
    return one


def test_a_format_that_cannot_be_extended_gives_true_prompts_or_nothing(flawed):
    talk = dialogue(user("Book a room."), assistant("Which?"), user("The blue one."), assistant("Booked."))
    whole, each = render(talk, flawed), samples(talk, flawed, Rules(each_answer=True))
    if isinstance(whole, Dropped):
        assert whole.reason is Reason.RERENDERED and whole.detail.startswith("before message 3")
    for sample, at in zip(each, (1, 3) if isinstance(whole, Dropped) else (3,), strict=True):
        prompt = flawed.open(talk.messages[:at], talk.tools)
        assert sample.ids[: len(prompt)] == prompt
        said = text_of(flawed, sample.ids[len(prompt) :])
        assert said.startswith(talk.messages[at].content) and sample.ids[-1] in flawed.stop


def test_a_template_that_renders_history_anew_is_found_by_its_prefixes():
    """It counts the questions on top: every turn changes what came first."""
    anew = (
        "{{'<|im_start|>system\n' + (messages | selectattr('role', 'equalto', 'user') | list | length) | string + ' questions<|im_end|>\n'}}"
        "{% for m in messages %}{{'<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n'}}{% endfor %}"
        "{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}"
    )
    one = JinjaFormat(qwen(), anew)
    assert one.flaw
    talk = dialogue(user("a"), assistant("b"), user("c"), assistant("d"))
    assert render(talk, one).reason is Reason.RERENDERED
    found = samples(talk, one, Rules(each_answer=True))
    assert [learned(one, sample) for sample in found] == [["b<|im_end|>"], ["d<|im_end|>"]]
    assert ["2 questions" in text_of(one, sample.ids) for sample in found] == [False, True]


def test_an_answer_that_is_context_is_in_the_prompt_of_the_next(flawed):
    talk = dialogue(user("Book a room."), assistant("Which?"), user("The blue one."), assistant("Booked."), context=(1,))
    sample = render(talk, flawed)
    assert len(learned(flawed, sample)) == 1 and "Which?" in text_of(flawed, sample.ids)
    assert [(span.role, span.trained) for span in sample.spans if span.message >= 0] == [
        ("user", False), ("assistant", False), ("user", False), ("assistant", True),
    ]


def test_what_a_template_refuses_is_dropped_with_what_it_says():
    found = render(dialogue(Message("system", "a"), assistant("b"), Message("system", "c"), assistant("d")), chat_format("qwen3.6"))
    assert found.reason is Reason.REFUSED and found.detail
