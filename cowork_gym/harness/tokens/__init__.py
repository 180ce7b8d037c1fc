"""Messages as tokens and tokens as actions."""

from cowork_gym.harness.tokens.chat_format import ChatFormat
from cowork_gym.harness.tokens.jinja import JinjaFormat
from cowork_gym.harness.tokens.mistral import MistralFormat
from cowork_gym.harness.tokens.smol import SMOLLM2_TOOLS

__all__ = ["SMOLLM2_TOOLS", "ChatFormat", "JinjaFormat", "MistralFormat"]
