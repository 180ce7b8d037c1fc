"""A transformer small enough to learn on a CPU in minutes: a Llama that also sees, at each position, the token before it.

Copying an id from an observation into a call needs a head that finds where the token before stood last time. A Llama of this size takes
long to build one out of two layers; an embedding of the previous token gives it the first half.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import DynamicCache

__all__ = ["TinyCache", "TinyConfig", "TinyForCausalLM"]


class TinyConfig(LlamaConfig):
    """The shape of a tiny policy; by default 0.45 million parameters beside the vocabulary's."""

    model_type = "cowork_tiny"

    def __init__(
        self, vocab_size: int = 512, hidden_size: int = 96, intermediate_size: int = 192, num_hidden_layers: int = 3, num_attention_heads: int = 4,
        max_position_embeddings: int = 2048, tie_word_embeddings: bool = True, **other: Any,
    ) -> None:
        super().__init__(
            vocab_size=vocab_size, hidden_size=hidden_size, intermediate_size=intermediate_size, num_hidden_layers=num_hidden_layers,
            num_attention_heads=num_attention_heads, max_position_embeddings=max_position_embeddings, tie_word_embeddings=tie_word_embeddings,
            **other,
        )


class TinyCache(DynamicCache):
    """Keys, values, and the last token of each row."""

    last: Tensor | None = None
    """Ids of shape [rows, 1]."""

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these rows only."""
        super().batch_select_indices(indices)
        if self.last is not None:
            self.last = self.last[indices]


class TinyForCausalLM(LlamaForCausalLM):
    """The model. It is used and saved like any of transformers."""

    config_class = TinyConfig

    def __init__(self, config: TinyConfig) -> None:
        super().__init__(config)
        self.previous = nn.Embedding(config.vocab_size, config.hidden_size)
        self.post_init()

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, position_ids: Tensor | None = None,
        past_key_values: Any = None, inputs_embeds: Tensor | None = None, use_cache: bool | None = None, **other: Any,
    ) -> Any:
        """Logits, as a Llama gives them.

        Args:
            input_ids: Tokens [rows, length]; after the first call only the new ones.
            attention_mask: 1 where there is a token, for the cached ones as well [rows, all]; None when all are.
            position_ids: Of the new tokens.
            past_key_values: The cache of the call before; None for none.
            inputs_embeds: Refused: the token before is not known from it.
            use_cache: Whether the output has a cache to go on from.
            other: Passed on.

        Raises:
            ValueError: There are no ids.
        """
        if input_ids is None or inputs_embeds is not None:
            raise ValueError("a tiny policy reads ids, not embeddings")
        if past_key_values is None and use_cache:
            past_key_values = TinyCache()
        embeds = self.model.embed_tokens(input_ids) + self._before(input_ids, attention_mask, past_key_values, position_ids)
        if isinstance(past_key_values, TinyCache):
            past_key_values.last = input_ids[:, -1:]
        return super().forward(
            inputs_embeds=embeds, attention_mask=attention_mask, position_ids=position_ids, past_key_values=past_key_values, use_cache=use_cache,
            **other,
        )

    def _before(self, ids: Tensor, mask: Tensor | None, cache: Any, positions: Tensor | None) -> Tensor:
        """Embeddings of the tokens before; zeros where there is none."""
        last = cache.last if isinstance(cache, TinyCache) else None
        shifted = torch.cat([ids[:, :1] if last is None else last, ids[:, :-1]], dim=1)
        known = torch.ones_like(ids, dtype=torch.bool)
        if last is None:
            known[:, 0] = False
            if mask is not None:  # what stands before is padding
                known[:, 1:] &= mask[:, : ids.shape[1] - 1].bool()
        if positions is not None:  # a sequence that was packed behind another one begins at 0
            known &= positions != 0
        before: Tensor = self.previous(shifted) * known.unsqueeze(-1)
        return before


AutoConfig.register(TinyConfig.model_type, TinyConfig)
AutoModelForCausalLM.register(TinyConfig, TinyForCausalLM)
