"""The agents `sglang:MODEL@URL` and `vllm:MODEL@URL`: a server that takes and gives tokens, as a policy."""

import os
from functools import cache
from threading import Lock
from typing import Literal

from cowork_gym.harness.engines import Engine, Sampling, SGLangEngine, VLLMEngine
from cowork_gym.harness.policies.local.weights import load_tokenizer
from cowork_gym.harness.policies.token_policy import TokenPolicy
from cowork_gym.harness.tokens.jinja import JinjaFormat

__all__ = ["served_policy"]

_CONNECTING = Lock()


def served_policy(kind: Literal["sglang", "vllm"], model: str, url: str, *, sampling: Sampling | None = None) -> TokenPolicy:
    """A policy over a running server. Policies of one process share the connection.

    Args:
        kind: What the server is.
        model: A folder with the model's tokenizer and chat template: what is said to the server is tokens.
        url: The server's address, without a path.
        sampling: How tokens are drawn.

    Raises:
        UserError: There is no such tokenizer, or no such server.
        MissingExtra: What reads tokenizers, or asks servers, is not installed.
    """
    with _CONNECTING:
        return TokenPolicy(_engine(os.getpid(), kind, url), _format(model), sampling)


@cache
def _engine(process: int, kind: str, url: str) -> Engine:
    # By process, since a fork would share the parent's sockets.
    key = os.environ.get("OPENAI_API_KEY")
    return SGLangEngine(url, api_key=key) if kind == "sglang" else VLLMEngine(url, api_key=key)


@cache
def _format(model: str) -> JinjaFormat:
    return JinjaFormat(load_tokenizer(model))
