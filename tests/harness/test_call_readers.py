"""Reading calls from text: what is written comes back exactly, what is flawed executes nothing, and maintained parsers agree."""

import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_tools import TOOLS, tool

from cowork_gym.core.canonical import decode, exact
from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import InvalidAction, Message, ToolCall, final
from cowork_gym.harness.tokens.calls import FAMILIES, family_of, read_answer

MARKERS = [
    "</tool_call>", "<tool_call>", '<tool_call>{"name": "b", "arguments": {}}</tool_call>', "[TOOL_CALLS]", "[ARGS]{}", "<|python_tag|>",
    "</think>", "<think>", "<function=a>", "</function>", "\n</parameter>\n", "<parameter=b>", '{"name": "b", "arguments": {}}', '{"final": "x"}',
    "```", "[/THINK]",
]
XML_TAGS = ("tool_call>", "<function=", "</function>", "<parameter=", "</parameter>")

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
texts = st.lists(st.sampled_from([*MARKERS, '"', "\\", "\n"]) | words, max_size=4).map("".join)
numbers = st.integers(-2**63, 2**63 - 1) | st.floats(-1e30, 1e30).filter(lambda one: one == 0 or abs(one) > 1e-30)
plain = texts | numbers | st.booleans() | st.none()
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
names = st.from_regex(r"[a-z][a-z0-9_.-]{0,12}", fullmatch=True)
keys = st.from_regex(r"[A-Za-z_][A-Za-z0-9_é]{0,8}", fullmatch=True)
writings = st.lists(st.tuples(names, st.dictionaries(keys, values, max_size=3)), min_size=1, max_size=3)
spaces = st.sampled_from([None, 2]), st.booleans()


def read(text, family, finish="stop", tools=TOOLS, **rest):
    return read_answer(text, family, finish=finish, tools=tools, **rest)


def hermes(calls):
    return "\n".join(f'<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {text}}}\n</tool_call>' for name, text in calls)


def mistral_list(calls):
    return "[TOOL_CALLS][" + ", ".join(f'{{"name": {json.dumps(name)}, "arguments": {text}}}' for name, text in calls) + "]"


def mistral_named(calls):
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{text}" for name, text in calls)


def llama(calls):
    return "; ".join(f'{{"name": {json.dumps(name)}, "parameters": {text}}}' for name, text in calls)


def bare(calls):
    return "[" + ",\n".join(f'{{"name": {json.dumps(name)}, "arguments": {text}}}' for name, text in calls) + "]"


def xml(calls):
    return "\n".join(
        f"<tool_call>\n<function={name}>\n"
        + "".join(f"<parameter={key}>\n{xml_value(value)}\n</parameter>\n" for key, value in arguments.items()) + "</function>\n</tool_call>"
        for name, arguments in calls
    )


def xml_value(value):
    """As Qwen's template has it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def xml_tool(name, arguments):
    types = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array", dict: "object"}
    return tool(name, "", **{key: {"type": types[type(value)]} for key, value in arguments.items()})


FORMS = [("hermes", hermes), ("mistral", mistral_list), ("mistral", mistral_named), ("llama3", llama), ("json", bare)]


def in_json(calls, *layout):
    return [(name, json.dumps(arguments, indent=layout[0], ensure_ascii=layout[1])) for name, arguments in calls]


def as_calls(written):
    return tuple(ToolCall(name, text) for name, text in written)


@pytest.mark.parametrize(("family", "write"), FORMS)
@settings(max_examples=40, deadline=None)
@given(calls=writings, indent=spaces[0], ascii=spaces[1], thought=st.sampled_from(["", "<think>\nThe user wants\n</think>\n\n", "no opener</think>"]))
def test_what_is_written_comes_back_as_it_was_written(family, write, calls, indent, ascii, thought):
    written = in_json(calls, indent, ascii)
    action = read(thought + write(written), family)
    assert action == Message("assistant", None, as_calls(written))
    assert [one.decoded() for one in action.tool_calls] == [exact(arguments) for _, arguments in calls]


@settings(max_examples=60, deadline=None)
@given(calls=st.lists(st.tuples(names, st.dictionaries(keys, values, max_size=3)), min_size=1, max_size=2, unique_by=lambda one: one[0]))
def test_xml_comes_back_with_its_types_or_not_at_all(calls):
    text = xml(calls)
    action = read(text, "qwen_xml", tools=[xml_tool(*one) for one in calls])
    if any(tag in xml_value(value) for _, arguments in calls for value in arguments.values() for tag in XML_TAGS):
        assert isinstance(action, InvalidAction) or xml([(one.name, decode(one.arguments)) for one in action.tool_calls]) == text
    else:
        assert [(one.name, one.decoded()) for one in action.tool_calls] == [(name, exact(arguments)) for name, arguments in calls]


@pytest.mark.parametrize(("family", "write"), FORMS)
@settings(max_examples=12, deadline=None)
@given(calls=writings)
def test_a_cut_answer_has_no_call_that_was_not_written(family, write, calls):
    written = in_json(calls, None, False)
    text = write(written)
    for cut in range(len(text)):
        action = read(text[:cut], family)
        assert isinstance(action, InvalidAction) or action.tool_calls == as_calls(written)[:len(action.tool_calls)], text[:cut]
        assert isinstance(read(text[:cut], family, "length"), InvalidAction)


@settings(max_examples=12, deadline=None)
@given(calls=st.lists(st.tuples(names, st.dictionaries(keys, values, max_size=3)), min_size=1, max_size=2, unique_by=lambda one: one[0]))
def test_a_cut_xml_answer_has_no_call_that_was_not_written(calls):
    text, tools = xml(calls), [xml_tool(*one) for one in calls]
    whole = read(text, "qwen_xml", tools=tools)
    for cut in range(len(text)) if isinstance(whole, Message) else ():
        action = read(text[:cut], "qwen_xml", tools=tools)
        assert isinstance(action, InvalidAction) or action.tool_calls == whole.tool_calls[:len(action.tool_calls)], text[:cut]


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=80, deadline=None)
@given(text=st.lists(st.sampled_from([*MARKERS, '{"', "[", "{", "]", "}", ",", '"name":', "\\"]) | st.text(max_size=4), max_size=12).map("".join),
       thinking=st.booleans())
def test_no_text_raises(family, text, thinking):
    assert isinstance(read(text, family, thinking=thinking), Message | InvalidAction)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, '{"a {"' * 20_000, "<tool_call>" + '{"name":' * 20_000, "<think>" * 10_000])
def test_deep_and_long_garbage_ends_quickly(family, text):
    action = read(text, family)
    assert isinstance(action, InvalidAction) or not action.tool_calls


X = '{"name": "kb_search", "arguments": {"query": "x"}}'
H = f"<tool_call>\n{X}\n</tool_call>"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("text", "answer"), [
    ("", ""), ("All done.", "All done."), ("<think>\nhm\n</think>\n\nAll done.", "All done."), ("a { b [1]", "a { b [1]"),
])
def test_a_text_without_a_mark_is_the_final_answer(family, text, answer):
    assert read(text, family) == final(answer)


@pytest.mark.parametrize(("family", "text", "content"), [
    ("hermes", f"I look.\n{H}", "I look."), ("hermes", f"{H}\nWait for it.", "Wait for it."), ("hermes", f"A\n{H}B", "A\nB"),
    ("hermes", f"```\n{H}\n```", None), ("hermes", f"<think>a <tool_call> is due</think>{H}", None), ("hermes", f"{H}</think>I look.{H}", "I look."),
    ("mistral", f"I look.[TOOL_CALLS] [{X}]", "I look."), ("mistral", '[THINK]so[/THINK][TOOL_CALLS]kb_search[ARGS]{"query": "x"}', None),
    ("mistral", '[TOOL_CALLS]kb_search[CALL_ID]abc123XYZ[ARGS] {"query": "x"}', None),
    ("llama3", f"<|python_tag|>{X}", None), ("llama3", X.replace("arguments", "parameters"), None), ("llama3", f"I look: {X}", "I look:"),
    ("json", f"```json\n{X}\n```", None), ("json", f"I look.\n{X}\nResult: []\n{{\"final\": \"made up\"}}", "I look."), ("json", f"[{X}]", None),
    ("json", f'{{"final": "no"}}</think>\n{X}', None), ("json", f'{{"thought": "so"}} {X}', '{"thought": "so"}'), ("json", f"{{base}} {X}", "{base}"),
])
def test_what_stands_around_a_call(family, text, content):
    assert read(text, family) == Message("assistant", content, (ToolCall("kb_search", '{"query": "x"}'),))


def test_a_bare_final_answer():
    assert read('{"final": "Done."}', "json") == final("Done.") and read('{"final": {"total": 3.50}}', "json") == final('{"total":3.5}')
    assert read('{"final": "Done."}', "hermes") == final('{"final": "Done."}')


def test_nothing_of_an_answer_that_was_cut_off_is_executed():
    assert read(f"{H}\nAnd now", "hermes", "length") == InvalidAction(
        "the answer was cut off at the token limit, and nothing in it was executed", f"{H}\nAnd now")


def block(text):
    return f"<tool_call>{text}</tool_call>"


@pytest.mark.parametrize(("flaw", "reason"), [
    (block("{bad}"), "malformed JSON"), (block(f"[{X}]"), "not array"), (f"<tool_call>{X}", "not closed"), (f"{X}</tool_call>", "ends no call"),
    (block(X + "}"), "not closed"), (block(f"```json\n{X}\n```"), "malformed JSON"), (block(H), "malformed JSON"),
    (block('{"name": 5, "arguments": {}}'), "must be a string, not number"), (block('{"arguments": {}}'), "no name"),
    (block('{"name": "", "arguments": {}}'), "name is empty"), (block('{"name": "a"}'), "no `arguments`"),
    (block('{"name": "a", "arguments": null}'), "not null"), (block('{"name": "a", "arguments": "{}"}'), "not string"),
    (block('{"name": "a", "arguments": []}'), "not array"), (block('{"name": "a", "name": "b", "arguments": {}}'), "twice"),
    (block('{"name": "a", "arguments": {"x": 1, "x": 2}}'), "'x' stands twice"), (block('{"name": "a", "arguments": {"x": NaN}}'), "NaN"),
    (block('{"name": "a", "arguments": {"x": "\\ud800"}}'), "surrogate"), (block('{"name": "a", "arguments": {"x": 1e999999}}'), "cannot be kept"),
    (block(f'{{"name": "a", "arguments": {{"x": {"[" * 40}{"]" * 40}}}}}'), "levels deep"),
    (block(f'{{"name": "a", "arguments": {{"x": {"[" * 9999}{"]" * 9999}}}}}'), "nested too deeply"),
    (block(f'{{"name": "a", "arguments": {{"x": "{"x" * 300_000}"}}}}'), "too large"),
    (block('{"name": "a", "arguments": {"x": "a\nb"}}'), "control"),
])
def test_one_bad_call_makes_the_answer_invalid(flaw, reason):
    action = read(f"{H}\n{flaw}", "hermes")
    assert isinstance(action, InvalidAction) and reason in action.reason and action.text == f"{H}\n{flaw}"
    assert action.reason.startswith("tool call 2 cannot be read: ") and action.reason.endswith("nothing in the answer was executed")


CALL = "<tool_call>\n<function=kb_search>\n<parameter=query>\nx\n</parameter>\n</function>\n</tool_call>"


@pytest.mark.parametrize(("family", "text", "reason"), [
    ("mistral", "[TOOL_CALLS][]", "malformed JSON"), ("mistral", f"[TOOL_CALLS][{X}", "not closed"),
    ("mistral", f"[TOOL_CALLS][{X}] so", "text follows"),
    ("mistral", '[TOOL_CALLS]a{"x": 1}', "followed neither"), ("mistral", "a[ARGS]{}", "outside"),
    ("mistral", "[TOOL_CALLS]a[ARGS]null", "JSON object"),
    ("mistral", f'[TOOL_CALLS][{X}, {{"name": "a"}}]', "tool call 2"), ("mistral", '[TOOL_CALLS]a[ARGS]{"x": 1, "x": 1}', "twice"),
    ("qwen_xml", CALL.replace("\n</parameter>", ""), "not closed"), ("qwen_xml", CALL.replace("</function>\n", ""), "not closed"),
    ("qwen_xml", CALL.removeprefix("<tool_call>\n"), "outside"), ("qwen_xml", H, "not followed by <function"),
    ("qwen_xml", CALL.replace("x\n", "x\n</parameter>\ny\n"), "not closed"), ("qwen_xml", CALL.replace("x\n", f"{CALL}\n"), "holds a tag"),
    ("qwen_xml", CALL.replace("</function>", "<parameter=query>\ny\n</parameter>\n</function>"), "twice"),
    ("llama3", '<|python_tag|>search.call(query="x")', "not followed by a call"), ("llama3", f"{X}; {X[:-1]}", "tool call 2"),
    ("llama3", '{"name": "a", "parameters": {}, "arguments": {}}', "both"), ("llama3", '{"name": ["a"], "parameters": {}}', "not array"),
    ("json", '{"name": "a", "arguments": {"name": "b", "arguments": {}}', "malformed JSON"), ("json", f"[{X}, ", "malformed JSON"),
    ("json", f'{X}\n{{"name": "b", "argu', "tool call 2"), ("json", f"[{X}, 5]", "not number"),
])
def test_flaws_of_other_families(family, text, reason):
    action = read(text, family)
    assert isinstance(action, InvalidAction) and reason in action.reason


@pytest.mark.parametrize(("family", "text", "reason"), [
    ("hermes", f"<think>{H}</think>", "inside the thinking block"), ("hermes", f"<think>{H}</think>Done.", "inside the thinking block"),
    ("hermes", f"{H}</think>Done.", "inside the thinking block"), ("hermes", f"<think>{H}", "inside the thinking block"),
    ("json", f"<think>{X}</think>Done.", "inside the thinking block"), ("hermes", "<think>Well", "not closed"),
    ("hermes", f"```json\n{X}\n```", "not this model's"), ("hermes", f"[TOOL_CALLS][{X}]", "not this model's"),
    ("mistral", H, "not this model's"), ("json", CALL, "not this model's"),
])
def test_a_call_that_nobody_reads_is_no_final_answer(family, text, reason):
    action = read(text, family)
    assert isinstance(action, InvalidAction) and reason in action.reason


def test_a_thinking_block_that_the_prompt_opened():
    assert read(f"So: {H}", "hermes", thinking=True).reason.startswith("a tool call stood inside the thinking block")
    assert read("hm <tool_call> hm\n</think>\n\nDone.", "hermes", thinking=True) == final("Done.")
    assert read(f"{{\"name\": hm</think>{X}", "json", thinking=True).tool_calls == (ToolCall("kb_search", '{"query": "x"}'),)


@pytest.mark.parametrize(("schema", "written", "value"), [
    ({"type": "string"}, "7", "7"), ({"type": "integer"}, "7", 7), ({"type": "number"}, "0.10", decode("0.10")), ({"type": "boolean"}, "True", True),
    ({"type": "boolean"}, "false", False), ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "None", None), ({"type": "string"}, "None", "None"),
    ({"type": ["string", "null"]}, "7", "7"), ({"type": "integer"}, "seven", "seven"), ({"type": "string"}, '"a"', '"a"'),
    ({}, "7", 7), ({}, "a b", "a b"),
    ({"enum": ["1", "2"]}, "1", "1"), ({"const": 1.5}, "1.5", decode("1.5")), ({"$ref": "#/$defs/T"}, "[1]", [1]), ({"type": "array"}, "[1", "[1"),
    ({"type": "string"}, "", ""), ({"type": "string"}, "\na\n", "\na\n"),
])
def test_the_schema_types_what_xml_does_not(schema, written, value):
    one = tool("t", "", p=schema)
    one["function"]["parameters"]["$defs"] = {"T": {"type": "array"}}
    text = f"<tool_call>\n<function=t>\n<parameter=p>\n{written}\n</parameter>\n</function>\n</tool_call>"
    assert read(text, "qwen_xml", tools=[one]).tool_calls[0].decoded() == {"p": value}


@pytest.mark.parametrize(("template", "family"), [
    ('<tool_call>\n{"name":', "hermes"), ("<tool_call>\n<function=' + name", "qwen_xml"), ("'[TOOL_CALLS]'", "mistral"), ("<|python_tag|>", "llama3"),
    ("<|start_header_id|>'{\"name\": \"' '\"parameters\": '", "llama3"), ("<|im_start|>", "json"), ("", "json"),
])
def test_the_family_of_a_template(template, family):
    assert family_of(template) == family


def test_a_template_whose_calls_nobody_reads_is_refused():
    with pytest.raises(UserError, match="GLM"):
        family_of("<tool_call>name<arg_key>a</arg_key>")


@pytest.fixture(scope="module")
def schemas():
    """TRL's parser of a bundled template: TRL writes the schema, transformers reads by it."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    for name in ("jmespath", "tokenizers", "transformers"):
        pytest.importorskip(name)
    trl, utils = pytest.importorskip("trl"), pytest.importorskip("trl.chat_template_utils")
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    def parser(template):
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
        tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates" / f"{template}.jinja").read_text()
        return utils.add_response_schema(tokenizer)

    return parser


def plainly(action):
    return (action.content or "").strip(), [(one.name, json.loads(one.arguments)) for one in action.tool_calls]


ARGUMENTS = {"query": 'Zürich "x"\n{}', "max_results": 7, "flags": [1, {"a": None}], "on": False}


@pytest.mark.parametrize(("template", "family", "write", "most"), [
    ("qwen2_5", "hermes", hermes, 3), ("qwen3", "hermes", hermes, 3), ("qwen3_5_think", "qwen_xml", None, 3), ("llama3_1", "llama3", llama, 1),
])
def test_the_schemas_of_trl_agree(schemas, template, family, write, most):
    parser = schemas(template)
    assert family_of(parser.chat_template) == family
    calls = [("kb_search", ARGUMENTS), ("crm_list_customers", {}), ("kb_search", {"query": "7 days"})][:most]
    text = write(in_json(calls, None, False)) if write else xml(calls).replace("False", "false")
    for answer in (text, "Only words.", *([f"I look.\n{text}", f"<think>\nhm\n</think>\n\n{text}"] if family != "llama3" else [])):
        theirs = parser.parse_response(answer)
        found = [(one["function"]["name"], one["function"].get("arguments", {})) for one in theirs.get("tool_calls") or []]
        untyped = [tool("kb_search", "", query={"type": "string"}), tool("crm_list_customers", "")]
        assert plainly(read(answer, family, tools=untyped)) == (theirs.get("content", "").strip(), found)


@pytest.mark.parametrize(("version", "write"), [("v7", mistral_list), ("v11", mistral_named), ("v13", mistral_named)])
def test_the_decoder_of_mistral_agrees(version, write):
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    base, tools = pytest.importorskip("mistral_common.tokens.tokenizers.base"), pytest.importorskip("mistral_common.experimental.tools")
    special = [*tekken.Tekkenizer.DEPRECATED_SPECIAL_TOKENS]
    special += [{"rank": len(special) + at, "token_str": name, "is_control": True} for at, name in enumerate(("[ARGS]", "[CALL_ID]"))]
    vocab = [{"rank": one, "token_bytes": base64.b64encode(bytes([one])).decode(), "token_str": None} for one in range(256)]
    tokenizer = tekken.Tekkenizer(vocab, special, ".+", 256 + len(special), len(special), base.TokenizerVersion(version))
    text = write(in_json([("kb_search", ARGUMENTS), ("crm_list_customers", {})], None, False))
    ids = tokenizer.encode("I look.", bos=False, eos=False)
    for piece in text.replace("[TOOL_CALLS]", "\1[TOOL_CALLS]\1").replace("[ARGS]", "\1[ARGS]\1").split("\1"):
        ids += [tokenizer.get_special_token(piece)] if piece in ("[TOOL_CALLS]", "[ARGS]") else tokenizer.encode(piece, bos=False, eos=False)
    before, blocks = tools._split_content_and_tool_calls(ids, tokenizer.get_special_token("[TOOL_CALLS]"))
    theirs = [(one.function.name, json.loads(one.function.arguments)) for one in tools._decode_tool_calls(blocks, tokenizer)]
    seen = tokenizer.decode(ids, base.SpecialTokenPolicy.KEEP)
    assert seen == f"I look.{text}" and plainly(read(seen, "mistral")) == (tokenizer.decode(before), theirs)
