"""The prompted format: what is read as an action, what is not, and how the conversation is told."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_tools import TOOLS, tool

from cowork_gym.core.messages import InvalidAction, Message, ToolCall, final
from cowork_gym.harness.policies.prompted import instructions, read_action, transcript

CALL = '{"name": "kb_search", "arguments": {"query": "x"}}'


@pytest.mark.parametrize("text", [
    CALL, f"```json\n{CALL}\n```", f"I will search {{the base}}.\n{CALL}", json.dumps(json.loads(CALL), indent=4),
    CALL + '\nResult: []\n{"final": "made up"}',
    f'<think>{{"final": "no"}}</think>{CALL}', f'{{"final": "no"}}</think>\n{CALL}', f"[{CALL}]", f'{{"thought": "so"}} {CALL}', f"{{{CALL}",
])
def test_a_call_is_found(text):
    action = read_action(text)
    assert isinstance(action, Message) and action.tool_calls == (ToolCall("kb_search", {"query": "x"}),)


def test_arguments_keep_their_types():
    action = read_action('{"name": "t", "arguments": {"a": 0.10, "b": "7", "c": [true, null]}}')
    assert action.tool_calls[0].arguments == {"a": Decimal("0.10"), "b": "7", "c": [True, None]}
    assert read_action('{"name": "t", "arguments": "{\\"a\\": 1}"}').tool_calls[0].arguments == '{"a": 1}'


@pytest.mark.parametrize(("text", "answer"), [
    ('{"final": "All done."}', "All done."),
    ('Well.\n{\n "final": "é"\n}', "é"), ('{"final": {"total": 3.50}}', '{"total":3.5}'), ('{"final": ""}', ""),
])
def test_a_final_answer_is_found(text, answer):
    assert read_action(text) == final(answer)


@pytest.mark.parametrize("text", [
    "", "All done.", '{"final": "cut', "{'name': 'kb_search', 'arguments': {}}", '{"name": "kb_search"}', '{"name": 5, "arguments": {}}',
    "{}", "[]", "null", '"done"', '{"name": "t", "arguments": 5}', '{"name": "t", "arguments": {"a": NaN}}',
    '{"role": "assistant", "content": "done"}', '{"tool_calls": []}',
    '{"customer": "C-1"}', '{"final": "x", "sure": true}', '{"a":' * 10_000, "{" * 10_000, f"<think>{CALL}</think>",
    '{"name": "crm_create", "arguments": {"name": "Bob"}',
])
def test_anything_else_is_an_invalid_action(text):
    action = read_action(text)
    assert isinstance(action, InvalidAction)
    assert action.reason and action.text == text.rpartition("</think>")[2]


PARTS = ['{"final": ', '{"name": "x", "arguments": ', '"x"', '"name"', ": ", "{", "}", "[", "]", ", ", "7", "\n", "```", "\ud800", "</think>"]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PARTS)))
def test_reading_never_raises_and_finds_one_call_at_most(parts):
    action = read_action("".join(parts))
    if isinstance(action, Message):
        assert action.role == "assistant" and len(action.tool_calls) <= 1


def test_each_tool_is_one_line_with_its_types():
    nested = tool("pay", "Pay\n  an invoice.", ("lines",), lines={"type": "array", "items": {"$ref": "#/$defs/Line"}})
    nested["function"]["parameters"]["$defs"] = {"Line": {"type": "object", "properties": {"sum": {"type": "number"}, "why": {"const": "x"}}}}
    lines = instructions([*TOOLS, nested, {"type": "function", "function": {"name": "bare"}}]).splitlines()[-10:]
    assert lines[1] == "- crm_get_customer(customer_id: string): One customer with all its fields."
    assert 'priority?: "low" | "medium" | "high" | "critical" | null, tags?: [string] | null' in lines[5]
    assert lines[6] == "- kb_search(query: string, category?: string | null, max_results?: integer): Search the knowledge base."
    assert lines[8] == '- pay(lines: [{sum?: number, why?: "x"}]): Pay an invoice.'
    assert lines[9] == "- bare(): "


def test_roles_alternate_and_several_results_are_one_turn():
    two = Message("assistant", "Both.", (ToolCall("a", {"n": Decimal("1.5")}, "x"), ToolCall("b", '{"raw": 1}', "y")))
    history = [
        Message("system", "Be brief."), Message("user", "Hi"), two,
        Message("tool", "1", (), "x", "a"), Message("tool", "2 \ud800", (), "y", "b"), Message("user", "?"),
    ]
    assert transcript("Rules.", history) == [
        {"role": "system", "content": "Rules.\n\nBe brief."}, {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": 'Both.\n{"name": "a", "arguments": {"n": 1.5}}\n{"name": "b", "arguments": {"raw": 1}}'},
        {"role": "user", "content": "Result of a: 1\nResult of b: 2 ?\n?"},
    ]


def test_what_was_said_reads_back_as_it_was():
    said = Message("assistant", None, (ToolCall("kb_search", {"query": "müde \"x\"", "n": [1, None]}),))
    assert read_action(transcript("", [said])[1]["content"]) == said


def test_arguments_are_spaced_as_models_space_them_however_they_were_kept():
    kept = [{"query": "x", "n": [1, 2]}, '{"query":"x","n":[1,2]}', '{"query"']
    told = [transcript("", [Message("assistant", None, (ToolCall("kb_search", one),))])[1]["content"] for one in kept]
    assert told[0] == told[1] == '{"name": "kb_search", "arguments": {"query": "x", "n": [1, 2]}}'
    assert told[2] == '{"name": "kb_search", "arguments": {"query"}'
