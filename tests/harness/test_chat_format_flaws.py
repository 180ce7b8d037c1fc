"""Templates that cannot be extended are found out when the format is made; they can still open."""

import pytest
from chat_tokenizers import CHATML, TOOLS, asked, chat_format, mistral, template, tiny, told

from cowork_gym.core.errors import Fault, UserError
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.tokens import SMOLLM2_TOOLS, JinjaFormat

pytest.importorskip("transformers")

LOOP = "{% for m in messages %}"
TURN = "{{'<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n'}}"
END = "{% endfor %}"
PROMPT = "{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}"
BROKEN = {
    "numbers": (LOOP + "{{loop.index}}" + TURN + END + PROMPT, "depends on what came earlier"),
    "counts": (LOOP + TURN + END + "{{messages|length}}" + PROMPT, "the beginning anew"),
    "last": (LOOP + TURN + "{{'Mind this.' if loop.last and m.role != 'assistant'}}" + END + PROMPT, "the beginning anew"),
    "late": (LOOP + "{% if m.role == 'tool' and loop.last %}{{'(new) '}}{% endif %}" + TURN + END + PROMPT, "depends on what came earlier"),
    "forgets": (LOOP + "{% if not (m.role == 'system' and messages|length > 3) %}" + TURN + "{% endif %}" + END + PROMPT, "the beginning anew"),
    "moves": (LOOP + "{% if m.role == 'user' and loop.last and messages[0].role == 'system' %}{{messages[0].content}}{% endif %}" + TURN + END
              + PROMPT, "anew|earlier"),
    "window": ("{% for m in messages[-4:] %}" + TURN + END + PROMPT, "anew|shows"),
    "no results": (LOOP + "{% if m.role != 'tool' %}" + TURN + "{% endif %}" + END + PROMPT, "does not show messages of the role 'tool'"),
    "no answers": (LOOP + "{% if m.role != 'assistant' %}" + TURN + "{% endif %}" + END + PROMPT, "does not show what the assistant said"),
    "no prompt": (LOOP + TURN + END, "does not begin the next answer"),
    "no end": (LOOP + "{{m.role + ': ' + m.content + '\n'}}" + END + PROMPT.replace("<|im_start|>", ""), "no token of its own"),
    "raises": ("{{raise_exception('not today')}}", "not today"),
    "alternates": (LOOP + "{% if m.role == 'tool' %}{{raise_exception('no tools here')}}{% endif %}" + TURN + END + PROMPT, "no tools here"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_template_is_found_out(name):
    text, reason = BROKEN[name]
    one = JinjaFormat(tiny(), text, family="hermes")
    assert one.flaw.startswith("the chat template cannot be extended: ")
    assert any(part in one.flaw for part in reason.split("|")), one.flaw
    with pytest.raises(ValueError, match="cannot be extended"):
        one.extend([Message("user", "more")], closed=True)


@pytest.mark.parametrize("name", [name for name in BROKEN if name != "raises"])
def test_a_broken_template_can_still_open(name):
    text, _ = BROKEN[name]
    assert JinjaFormat(tiny(), text, family="hermes").open([Message("user", "hello")], TOOLS)


def test_a_conversation_that_the_template_refuses_is_nobodys_turn():
    one = JinjaFormat(tiny(), BROKEN["raises"][0], family="hermes")
    with pytest.raises(Fault, match="not today"):
        one.open([Message("user", "hello")], TOOLS)


@pytest.mark.parametrize("text", [CHATML, SMOLLM2_TOOLS])
def test_sound_templates_have_no_flaw(text):
    assert JinjaFormat(tiny(), text).flaw == ""


@pytest.mark.parametrize(("name", "flaw"), [
    ("qwen2_5", ""), ("qwen3", ""), ("qwen3_6", ""), ("qwen3_vl", ""), ("qwen3_instruct_2507", ""), ("llama3", ""), ("llama3_1", ""),
    ("llama3_2", ""), ("nemotron_3_nano", ""), ("gemma", "roles must alternate"), ("gemma3", "roles must alternate"),
    ("phi3", "does not show messages of the role 'tool'"),
])
def test_templates_of_others(name, flaw):
    one = JinjaFormat(tiny(), template(name))
    assert flaw in one.flaw
    assert bool(flaw) == bool(one.flaw)


def test_a_template_in_a_foreign_form_is_refused_by_name():
    with pytest.raises(UserError, match="gpt-oss"):
        JinjaFormat(tiny(), template("gptoss"))


def test_a_template_is_needed():
    with pytest.raises(UserError, match="no chat template"):
        JinjaFormat(tiny())


@pytest.mark.parametrize("version", [3, 7])
def test_mistrals_older_tokenizers_move_the_tools(version):
    one = mistral(version)
    assert one.flaw == f"tokenizer v{version} cannot be extended: a message behind answer 1 changes what came earlier"
    assert one.open([Message("user", "?"), asked("a", text="I see"), told("a", "x")], TOOLS)
    with pytest.raises(ValueError, match="cannot be extended"):
        one.extend([told("a", "x")], closed=True)


def test_parallel_calls_are_shown_where_the_template_knows_only_one():
    one = chat_format("llama3.1")
    both = [Message("user", "?"), asked("a", "b"), told("a", "x"), told("b", "y")]
    text = one._rendering._tokenizer.decode(one.open(both, TOOLS))
    assert '[{"name":"look","arguments":{"at":"a"}},{"name":"look","arguments":{"at":"b"}}]<|eot_id|>' in text


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "llama3.1", "chatml", "chatml+tools", "mistral13"])
def test_malformed_arguments_and_odd_names_can_be_shown(name):
    one = chat_format(name)
    odd = Message("assistant", None, (ToolCall("look at; this", '{"at": ', "call_a"),))
    assert one.open([Message("user", "?"), odd, Message("tool", "no", tool_call_id="call_a", name="look at; this")], TOOLS)


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "chatml", "chatml+tools"])
def test_a_system_message_can_stand_alone(name):
    one = chat_format(name)
    assert "the rules" in one._rendering._tokenizer.decode(one.open([Message("system", "the rules")], TOOLS))
