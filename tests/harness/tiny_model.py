"""A Llama of two layers with random weights, and the log-probabilities that a fresh forward pass gives."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from word_format import VOCABULARY

torch.set_num_threads(1)


def tiny_llama(seed=0, context=4096):
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=context, initializer_range=0.3,
    ))


def recomputed(model, prompt, ids, temperature):
    """The log-probabilities of sampled ids, from one pass over prompt and answer."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *ids]])).logits[0].float()
    rows = (logits[len(prompt) - 1:-1] / (temperature or 1.0)).log_softmax(-1)
    return [float(row[id]) for row, id in zip(rows, ids, strict=True)]
