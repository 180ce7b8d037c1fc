"""Tool calls in the text that a model wrote, for each family of chat templates.

Maintained parsers exist (TRL's response schemas for transformers' `parse_response`, mistral-common's `experimental.tools`), and tests hold these
readers against them on well-formed answers. They cannot be the judge. Run on flawed ones, the schemas end a call at a `</tool_call>` inside a
JSON string, cut a parameter at the first `</parameter>`, drop one that is not closed, let the last of two equal keys win, take NaN and a call
without arguments, and leave Llama's `<|python_tag|>` and a cut-off object as the final answer; `trl.parse_response` turns whatever fails into
plain text, which would end an episode. mistral-common is strict about structure, but takes an empty list, equal keys and NaN, and wants ids of
its own tokenizers.

Here an answer is read whole or not at all: one call that cannot be read makes it an `InvalidAction`.
"""

from cowork_gym.harness.tokens.calls.answer import read_answer
from cowork_gym.harness.tokens.calls.families import FAMILIES, family_of

__all__ = ["FAMILIES", "family_of", "read_answer"]
