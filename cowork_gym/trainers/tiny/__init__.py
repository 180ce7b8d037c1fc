"""A policy to train from nothing on a CPU: a small transformer, its tokenizer and its chat template."""
