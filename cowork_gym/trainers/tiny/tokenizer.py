"""The tokenizer of tiny policies: byte-level BPE over a small set of texts, with digits one by one, and a chat template that knows tools."""

from collections.abc import Iterable
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

__all__ = ["TINY_TEMPLATE", "train_tokenizer"]

_MARKS = ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<|pad|>")
_PIECES = r"\d| ?[^\W\d]+|[^\w\s]+|\s+"
"""A digit; a word, with its underscores and the blank before it; marks; blanks. An id such as `T57` is a letter and digits, so that a model
learns to copy ids and not to know them."""
TINY_TEMPLATE = r"""
{%- if tools or messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content }}
    {%- endif %}
    {%- if tools %}
        {{- 'Tools:' }}
        {%- for tool in tools %}
            {{- ' ' + tool.function.name }}
        {%- endfor %}
    {%- endif %}
    {{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}
            {{- '<|im_start|>user\n' }}
        {%- else %}
            {{- '\n' }}
        {%- endif %}
        {{- '<tool_response>' + message.content + '</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- elif not (loop.first and message.role == 'system') %}
        {{- '<|im_start|>' + message.role + '\n' + message.content }}
        {%- for call in message.tool_calls or [] %}
            {{- '<tool_call>{"name":' + call.function.name | tojson + ',"arguments":' }}
            {{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
            {{- '}</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
""".lstrip("\n")
"""ChatML with Hermes' calls, without a line break that could be spared. Of the tools it names only the names: a tiny policy learns the
arguments from demonstrations."""


def train_tokenizer(texts: Iterable[str], vocabulary: int = 512) -> Any:
    """A tokenizer for a closed set of texts. Equal texts in equal order give an equal tokenizer.

    Args:
        texts: Those whose pieces are worth a token of their own.
        vocabulary: Tokens at the most, the 256 bytes and the marks of the template included.

    Returns:
        A fast tokenizer of transformers with `TINY_TEMPLATE`.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(_PIECES), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[*_MARKS], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    ))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|pad|>", additional_special_tokens=[*_MARKS[:6]],
        chat_template=TINY_TEMPLATE, clean_up_tokenization_spaces=False,
    )
