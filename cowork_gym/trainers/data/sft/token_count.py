"""How many tokens a dialogue has for a model, and how many of them are learned."""

from dataclasses import dataclass
from pathlib import Path

from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sft.build import CountTokens
from cowork_gym.trainers.data.sft.dropped import Dropped
from cowork_gym.trainers.data.sft.render import Rules, render
from cowork_gym.trainers.data.views.source import load_format

__all__ = ["TokenCounter", "token_counter"]


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """What counts tokens, and by which tokenizer."""

    count: CountTokens
    fingerprint: str
    """Of tokenizer and chat template."""


def token_counter(tokenizer: str | Path) -> TokenCounter:
    """What counts tokens by a tokenizer and its chat template.

    Args:
        tokenizer: A folder, or `smollm2`.

    Raises:
        UserError: There is no such tokenizer, or it has no chat template.
        PackageError: It cannot be used.
        MissingExtra: What reads tokenizers is not installed.
    """
    format = load_format(tokenizer)

    def count(dialogue: Dialogue) -> tuple[int, int] | str:
        found = render(dialogue, format, Rules(spans=False))
        return found.reason.value if isinstance(found, Dropped) else (len(found), found.supervised)

    return TokenCounter(count, format.fingerprint)
