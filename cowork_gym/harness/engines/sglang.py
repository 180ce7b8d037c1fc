"""SGLang as an engine: token ids go to `POST /generate`, sampled ids and their log-probabilities come back.

Read in the sources of SGLang 0.5.23 (`entrypoints/http_server.py`, `managers/{io_struct,tokenizer_manager,schedule_batch}.py`,
`sampling/sampling_params.py`, `layers/sampler.py`):

- `output_ids` has the token that ended the answer; the server also stops at the end-of-sequence tokens of its own tokenizer.
- Log-probabilities are taken after the temperature and before top-p and top-k, as `Drawn` wants them. A temperature of 0 means 1
  and the likeliest token. The server must run without SGLANG_RETURN_ORIGINAL_LOGPROB, which would take them at temperature 1.
- A seed decides what is drawn only if the server was started with `--enable-deterministic-inference`; else it has no effect.
- A prompt is refused when prompt and answer together exceed the context, so the answer's limit is cut to the room that is left.
- Out-of-vocabulary ids in a prompt are not refused.
- An update of weights waits for the answers under way; an answer tells in `weight_versions` if more than one version drew it.
"""

import re
from collections.abc import Sequence
from typing import Any

from cowork_gym.harness.engines.engine import Drawn, Sampling
from cowork_gym.harness.engines.http import Connection, NotServed, Received
from cowork_gym.harness.engines.served import SEEDS, UNKNOWN, Answer, Fields, ServedModel, Span

__all__ = ["SGLangEngine"]

_FULL = re.compile(r"model's (maximum )?context length|exceeds the maximum allowed length")
_BUSY = re.compile(r"Duplicate request ID")
_UNALTERED = {"min_p": 0.0, "frequency_penalty": 0.0, "presence_penalty": 0.0, "repetition_penalty": 1.0, "min_new_tokens": 0, "ignore_eos": False}
"""What the server's own defaults could have set to something else."""


class _Finish(Received):
    type: str
    message: str | None = None
    matched: int | str | None = None


class _Meta(Received):
    finish_reason: _Finish
    prompt_tokens: int | None = None
    output_token_logprobs: tuple[tuple[float | None, int, str | None], ...] = ()
    weight_version: str = UNKNOWN
    weight_versions: tuple[Span, ...] = ()


class _Generated(Received):
    output_ids: tuple[int, ...]
    meta_info: _Meta


class _Info(Received):
    weight_version: str = UNKNOWN


class _Updated(Received):
    success: bool
    message: str = ""


class SGLangEngine(ServedModel):
    """A model behind an SGLang server.

    Args:
        url: The server's address.
        api_key: What it was started with, where it asks for a key; updates of weights may need its admin key.
        timeout: Seconds to wait for one answer.
        retries: How often a failed request is sent again.
        backoff: Seconds of the first pause before that.

    Raises:
        MissingExtra: The `httpx` library is not installed.
        UserError: The address is none, nobody answers there, or the key is wrong.
    """

    fields = Fields(
        ids="output_ids", logprobs="meta_info.output_token_logprobs", finish="meta_info.finish_reason.type",
        matched="meta_info.finish_reason.matched", versions="meta_info.weight_versions",
    )

    def __init__(
        self, url: str = "http://127.0.0.1:30000", *, api_key: str | None = None, timeout: float = 600.0, retries: int = 4, backoff: float = 0.5,
    ) -> None:
        super().__init__(Connection(url, api_key=api_key, timeout=timeout, retries=retries, backoff=backoff, full=_FULL, busy=_BUSY))

    @property
    def version(self) -> str:
        """Of the weights that the server has now; it is asked each time."""
        try:
            return self._connection.ask("/model_info", _Info).weight_version
        except NotServed:
            return self._connection.ask("/get_model_info", _Info).weight_version

    def generate(self, prompt: Sequence[int], sampling: Sampling, *, stop: Sequence[int], seed: int) -> Drawn:
        """One answer; see `Engine.generate`.

        Raises:
            ContextFull: The prompt leaves no room for an answer.
            Fault: The server failed, gave the request up, or answered what it cannot have drawn.
            UserError: The key is wrong, or no server would sample like this.
        """
        room = self.room(prompt, sampling)
        body = {
            "rid": self.request_id(), "input_ids": list(prompt), "sampling_params": _parameters(sampling, room, stop, seed),
            "return_logprob": True, "stream": False,
        }
        answer = self._connection.ask("/generate", _Generated, body)
        meta = answer.meta_info
        if meta.finish_reason.type == "abort":
            raise self._connection.fault(f"meta_info.finish_reason: the server gave the request up: {meta.finish_reason.message}")
        if meta.prompt_tokens not in (None, len(prompt)):
            raise self._connection.fault(f"meta_info.prompt_tokens: a prompt of {len(prompt)} tokens was read as one of {meta.prompt_tokens}")
        logprobs, scored = [one[0] for one in meta.output_token_logprobs], [one[1] for one in meta.output_token_logprobs]
        versions = {span.version for span in meta.weight_versions} or {meta.weight_version}
        return self.drawn(
            Answer(answer.output_ids, scored, logprobs, meta.finish_reason.type, meta.finish_reason.matched, sorted(versions)), room=room, stop=stop,
        )

    def update_weights(self, path: str, version: str) -> None:
        """Load other weights once the answers under way are done, and forget what was cached of the old ones.

        Args:
            path: A model's folder, as the server sees it.
            version: How answers name the weights from now on.

        Raises:
            Fault: The server could not load them, or does not keep their version.
            UserError: The key is wrong.
        """
        done = self._connection.ask("/update_weights_from_disk", _Updated, {"model_path": path, "weight_version": version, "flush_cache": True})
        if not done.success:
            raise self._connection.fault(f"/update_weights_from_disk: {done.message}")
        if (now := self.version) != version:
            raise self._connection.fault(f"weight_version: the weights were loaded as {version!r}, and the server calls them {now!r}")


def _parameters(sampling: Sampling, room: int, stop: Sequence[int], seed: int) -> dict[str, Any]:
    return _UNALTERED | {
        "max_new_tokens": room, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k or -1,
        "stop_token_ids": list(stop), "skip_special_tokens": False, "sampling_seed": seed % SEEDS,
    }
