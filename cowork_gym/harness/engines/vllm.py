"""vLLM as an engine: token ids go to `POST /v1/completions`, sampled ids and their log-probabilities come back.

Read in the sources of vLLM 0.33.0 (`entrypoints/openai/completion/`, `entrypoints/rl/online/api_router.py`,
`entrypoints/serve/dev/`, `v1/engine/{detokenizer,input_processor}.py`, `v1/sample/sampler.py`, `sampling_params.py`):

- `token_ids` has the token that ended the answer. `stop_reason` is that token's id, or null for the end-of-sequence token.
- `--logprobs-mode` says which log-probabilities come: `raw_logprobs`, the default, are taken at temperature 1 and before top-p and
  top-k; `processed_logprobs` after all of them. So what `Drawn` promises can be had from a raw server at temperature 1, from
  a processed one without top-p and top-k, and from both at temperature 0 (then at temperature 1). Anything else is refused here.
  The mode cannot be asked for, so the caller has to say how the server was started.
- The answer's limit is cut to the room that is left by the server too; a prompt that fills the context is refused.
- Weights are loaded by the development endpoints (VLLM_SERVER_DEV_MODE=1): `/pause`, `/collective_rpc` with `reload_weights`,
  `/reset_prefix_cache`, `/update_weight_version`, `/resume`.
- `weight_versions` and `/weight_info` tell the version of the weights. Older servers know neither; then it is what `update_weights`
  of this object set, and `unknown` before.
"""

import contextlib
import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from cowork_gym.core.errors import Fault, UserError
from cowork_gym.harness.engines.engine import Drawn, Sampling
from cowork_gym.harness.engines.http import Connection, NotServed, Received
from cowork_gym.harness.engines.served import SEEDS, UNKNOWN, Answer, Fields, ServedModel, Span

__all__ = ["VLLMEngine"]

# At least one token is always asked for: the last of these means that the server had to cut the limit to 0.
_FULL = re.compile(r"maximum context length|maximum model length|max_tokens must be at least 1, got 0")
_UNALTERED = {"min_p": 0.0, "frequency_penalty": 0.0, "presence_penalty": 0.0, "repetition_penalty": 1.0, "min_tokens": 0, "ignore_eos": False}
"""What the model's own generation defaults could have set to something else."""
_TOKEN = "token_id:"


class _Logprobs(Received):
    token_logprobs: tuple[float | None, ...]
    tokens: tuple[str, ...]


class _Choice(Received):
    token_ids: tuple[int, ...]
    prompt_token_ids: tuple[int, ...]
    logprobs: _Logprobs
    finish_reason: str | None
    stop_reason: int | str | None = None
    weight_versions: tuple[Span, ...] | None = None


class _Completion(Received):
    choices: tuple[_Choice, ...] = Field(min_length=1, max_length=1)


class _Weights(Received):
    weight_version: str


class _Reset(Received):
    success: bool


class VLLMEngine(ServedModel):
    """A model behind a vLLM server.

    Args:
        url: The server's address.
        model: The model's name at that server; by default the first that it lists.
        logprobs: Which log-probabilities the server was started to give, as `--logprobs-mode` names them.
        api_key: What it was started with, where it asks for a key.
        timeout: Seconds to wait for one answer.
        retries: How often a failed request is sent again.
        backoff: Seconds of the first pause before that.

    Raises:
        MissingExtra: The `httpx` library is not installed.
        UserError: The address is none, nobody answers there, or the key or the model's name is wrong.
    """

    fields = Fields(
        ids="choices.0.token_ids", logprobs="choices.0.logprobs.token_logprobs", finish="choices.0.finish_reason",
        matched="choices.0.stop_reason", versions="choices.0.weight_versions",
    )

    def __init__(
        self, url: str = "http://127.0.0.1:8000", model: str | None = None, *,
        logprobs: Literal["raw_logprobs", "processed_logprobs"] = "raw_logprobs",
        api_key: str | None = None, timeout: float = 600.0, retries: int = 4, backoff: float = 0.5,
    ) -> None:
        super().__init__(Connection(url, api_key=api_key, timeout=timeout, retries=retries, backoff=backoff, full=_FULL), model)
        self._mode = logprobs
        self._version = UNKNOWN

    @property
    def version(self) -> str:
        """Of the weights that the server has now; where it does not tell, what `update_weights` set, and `unknown` before."""
        try:
            return self._connection.ask("/weight_info", _Weights).weight_version
        except NotServed:
            return self._version

    def generate(self, prompt: Sequence[int], sampling: Sampling, *, stop: Sequence[int], seed: int) -> Drawn:
        """One answer; see `Engine.generate`.

        Raises:
            ContextFull: The prompt leaves no room for an answer.
            Fault: The server failed, gave the request up, or answered what it cannot have drawn.
            UserError: The key or the model's name is wrong, no server would sample like this, or this one would return
                log-probabilities that do not belong to the sampling.
        """
        room, version = self.room(prompt, sampling), self._version
        self._check_mode(sampling)
        body = {
            "model": self.name, "prompt": list(prompt), "request_id": self.request_id(), "return_token_ids": True, "logprobs": 0,
            "return_tokens_as_token_ids": True, "return_weight_versions": True, "stream": False, **_parameters(sampling, room, stop, seed),
        }
        choice = self._connection.ask("/v1/completions", _Completion, body).choices[0]
        if choice.prompt_token_ids != tuple(prompt):
            raise self._connection.fault("choices.0.prompt_token_ids: the model read another prompt than it was given")
        versions = {span.version for span in choice.weight_versions or ()} or {version, self._version}
        answer = Answer(
            choice.token_ids, self._scored(choice.logprobs.tokens), choice.logprobs.token_logprobs, choice.finish_reason, choice.stop_reason,
            sorted(versions),
        )
        return self.drawn(answer, room=room, stop=stop)

    def update_weights(self, path: str, version: str) -> None:
        """Load other weights once the answers under way are done, and forget what was cached of the old ones.

        Args:
            path: A model's folder, as the server sees it.
            version: How answers name the weights from now on.

        Raises:
            Fault: The server could not load them. It stays paused then, since nobody knows what it would draw from.
            UserError: The key is wrong, or the server was started without its development endpoints.
        """
        tell = self._connection.tell
        try:
            tell("/pause?mode=wait", {})
        except NotServed:
            raise UserError(f"{self._connection.url} cannot load weights: start it with VLLM_SERVER_DEV_MODE=1") from None
        try:
            tell("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": path}})
            if not self._connection.ask("/reset_prefix_cache", _Reset, {}).success:
                raise self._connection.fault("/reset_prefix_cache: what was cached of the old weights is still there")
        except Fault as error:
            raise self._connection.fault(f"the server stays paused: {error.record.message}") from None
        with contextlib.suppress(NotServed):  # an older server, whose answers name no version either
            tell("/update_weight_version", {"new_version": version})
        self._version = version
        tell("/resume", {})

    def _check_mode(self, sampling: Sampling) -> None:
        if sampling.temperature == 0:
            return
        if self._mode == "raw_logprobs" and sampling.temperature != 1:
            raise UserError(
                f"temperature is {sampling.temperature}, and {self._connection.url} gives log-probabilities of temperature 1: "
                "start it with --logprobs-mode processed_logprobs and say so here",
            )
        if self._mode == "processed_logprobs" and (sampling.top_p != 1 or sampling.top_k != 0):
            raise UserError(
                f"top_p is {sampling.top_p} and top_k {sampling.top_k}, and {self._connection.url} gives log-probabilities of what these leave over: "
                "sample without them, or at temperature 1 from a server with --logprobs-mode raw_logprobs",
            )

    def _scored(self, tokens: Sequence[str]) -> list[int]:
        numbers = [token.removeprefix(_TOKEN) for token in tokens if token.startswith(_TOKEN)]
        if len(numbers) != len(tokens) or not all(number.isdecimal() for number in numbers):
            raise self._connection.fault("choices.0.logprobs.tokens: tokens come as text, so nobody knows which were scored")
        return [int(number) for number in numbers]


def _parameters(sampling: Sampling, room: int, stop: Sequence[int], seed: int) -> dict[str, Any]:
    return _UNALTERED | {
        "max_tokens": room, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k or -1,
        "stop_token_ids": list(stop), "skip_special_tokens": False, "include_stop_str_in_output": True, "seed": seed % SEEDS,
    }
