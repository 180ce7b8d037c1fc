"""Which family a chat template is of."""

from cowork_gym.core.errors import UserError
from cowork_gym.harness.tokens.calls.bare import JSON, LLAMA3
from cowork_gym.harness.tokens.calls.hermes import HERMES
from cowork_gym.harness.tokens.calls.mistral import MISTRAL
from cowork_gym.harness.tokens.calls.qwen_xml import QWEN_XML

__all__ = ["FAMILIES", "family_of"]

FAMILIES = {"hermes": HERMES, "json": JSON, "llama3": LLAMA3, "mistral": MISTRAL, "qwen_xml": QWEN_XML}

_FOREIGN = {
    "<arg_key>": "GLM", "<|tool_call>": "Gemma 4", "<|tool_call_start|>": "LFM2", "<|channel|>": "gpt-oss", "<|START_ACTION|>": "Command",
    "<｜tool▁calls▁begin｜>": "DeepSeek",
}


def family_of(template: str) -> str:
    """The key in `FAMILIES` of a chat template, by its markers; `json` for one that writes no tool calls.

    Raises:
        UserError: It writes tool calls in a form that nobody here reads, so that they would be taken for final answers.
    """
    for mark, whose in _FOREIGN.items():
        if mark in template:
            raise UserError(f"this chat template writes tool calls as {whose} does ({mark}), which is not supported")
    if "[TOOL_CALLS]" in template:
        return "mistral"
    if "<tool_call>" in template:
        return "qwen_xml" if "<function=" in template else "hermes"
    if "<|python_tag|>" in template or ("<|start_header_id|>" in template and '"parameters"' in template):
        return "llama3"
    return "json"
