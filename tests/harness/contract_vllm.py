"""A server on loopback that speaks as vLLM 0.33.0 does and refuses what it refuses, in its words.

It is stricter in one thing, so that a slip of the client shows: unknown fields, which the real server passes over.
"""

from typing import Annotated, Any, Literal

from contract_server import ContractServer, FakeModel, Refusal, Strict
from pydantic import Field, ValidationError

MODEL = "fake/vllm"


class Request(Strict):
    model: str | None = None
    prompt: list[Annotated[int, Field(ge=0)]] | str | None = None
    request_id: str = "r"
    logprobs: int | None = Field(None, ge=-1)
    max_tokens: int = 16
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    min_tokens: int = 0
    ignore_eos: bool = False
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    stop_token_ids: list[int] | None = None
    include_stop_str_in_output: bool = False
    skip_special_tokens: bool | None = None
    stream: bool = False
    return_token_ids: bool | None = None
    return_tokens_as_token_ids: bool | None = None
    return_weight_versions: bool = False


class RPC(Strict):
    method: Literal["reload_weights"]
    kwargs: dict[Literal["weights_path"], str]


def error(status: int, text: str, kind: str = "BadRequestError", param: str | None = None) -> Refusal:
    return Refusal(status, {"error": {"message": text, "type": kind, "param": param, "code": status}})


def check_sampling(asked: Request, limit: int) -> None:
    if not asked.temperature >= 0:
        raise error(400, f"temperature must be non-negative, got {asked.temperature}.", param="temperature")
    if asked.temperature > 2:
        raise error(400, f"temperature must be in [0, 2], got {asked.temperature}.", param="temperature")
    if not 0 < asked.top_p <= 1:
        raise error(400, f"top_p must be in (0, 1], got {asked.top_p}.", param="top_p")
    if asked.top_k < -1:
        raise error(400, f"top_k must be 0 (disable), or at least 1, got {asked.top_k}.")
    if limit < 1:
        raise error(400, f"max_tokens must be at least 1, got {limit}.", param="max_tokens")


class VLLMServer(ContractServer):
    """`mode` and `dev` are how it was started; one that does not tell versions is an older one."""

    generates = "/v1/completions"

    def __init__(
        self, model: FakeModel | None = None, *, key: str | None = None, mode: Literal["raw", "processed"] = "raw", dev: bool = True,
        tells_versions: bool = True, tells_context: bool = True,
    ) -> None:
        super().__init__(model, key=key)
        self.mode: Literal["raw", "processed"] = mode
        self.dev, self.tells_versions, self.tells_context = dev, tells_versions, tells_context
        self.folders = {"first", "second"}
        self.paused, self.cached = False, False

    def guarded(self, path: str) -> bool:
        return self.key is not None and path.startswith("/v1")

    def route(self, path: str, body: Any) -> Any:
        if path == "/v1/models":
            card = {"id": MODEL, "object": "model", "owned_by": "vllm", "root": MODEL, "parent": None, "permission": []}
            adapter = card | {"id": "adapter", "parent": MODEL}
            return {"object": "list", "data": [card | {"max_model_len": self.model.context if self.tells_context else None}, adapter]}
        if path == "/v1/completions":
            return self.complete(body)
        if self.dev:
            return self.develop(path, body)
        raise Refusal(404, {"detail": "Not Found"})

    def develop(self, path: str, body: Any) -> Any:
        if path == "/pause?mode=wait":
            self.paused = True
            return {"status": "paused"}
        if path == "/resume":
            self.paused = False
            return {"status": "resumed"}
        if path == "/collective_rpc":
            folder = RPC.model_validate(body).kwargs["weights_path"]
            if folder not in self.folders:
                raise Refusal(500, {"error": {"message": "Internal server error", "type": "InternalServerError", "param": None, "code": 500}})
            self.model.weights = folder
            return {"results": [None]}
        if path == "/reset_prefix_cache":
            return {"success": not self.cached}
        if path == "/weight_info" and self.tells_versions:
            return {"weight_version": self.model.version}
        if path == "/update_weight_version" and self.tells_versions:
            self.model.version = body["new_version"]
            return {"success": True, "new_version": self.model.version}
        raise Refusal(404, {"detail": "Not Found"})

    def complete(self, body: Any) -> Any:
        try:
            asked = Request.model_validate(body)
        except ValidationError as problem:
            raise error(400, str(problem), "Bad Request") from None
        prompt = self.check(asked)
        sampled = self.model.draw(
            prompt, limit=min(asked.max_tokens, self.model.context - len(prompt)), temperature=asked.temperature, top_p=asked.top_p,
            top_k=asked.top_k, stop=asked.stop_token_ids or (), seed=asked.seed, mode=self.mode,
        )
        ended = sampled.finish == "stop" and sampled.ids[-1] != self.model.eos
        choice: dict[str, Any] = {
            "index": 0, "text": "…", "logprobs": None, "finish_reason": sampled.finish, "stop_reason": sampled.ids[-1] if ended else None,
            "token_ids": None, "prompt_token_ids": None, "prompt_logprobs": None, "weight_versions": None,
        }
        if asked.return_token_ids:
            choice |= {"token_ids": sampled.ids, "prompt_token_ids": prompt}
        if asked.logprobs is not None:
            named = [f"token_id:{id}" if asked.return_tokens_as_token_ids else "…" for id in sampled.ids]
            top = [{name: logprob} for name, logprob in zip(named, sampled.logprobs, strict=True)]
            choice["logprobs"] = {"text_offset": [0] * len(named), "token_logprobs": sampled.logprobs, "tokens": named, "top_logprobs": top}
        if asked.return_weight_versions and self.tells_versions:
            choice["weight_versions"] = [{"version": self.model.version, "start": 0, "end": len(sampled.ids)}]
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(sampled.ids), "total_tokens": len(prompt) + len(sampled.ids)}
        return {"id": f"cmpl-{asked.request_id}", "object": "text_completion", "created": 1, "model": MODEL, "choices": [choice], "usage": usage}

    def check(self, asked: Request) -> list[int]:
        prompt, context = asked.prompt, self.model.context
        if self.paused:
            raise error(503, "Request failed; please retry", "ServiceUnavailableError")
        if asked.model not in (None, MODEL, "adapter"):
            raise error(404, f"The model `{asked.model}` does not exist. Valid aliases: {MODEL}.", "NotFoundError", "model")
        if prompt is None or isinstance(prompt, str):
            raise error(400, "Either prompt or prompt_embeds must be provided and non-empty.", param="prompt")
        if not prompt:
            raise error(400, "The decoder prompt cannot be empty")
        if len(prompt) > context:
            raise error(
                400, f"This model's maximum context length is {context} tokens. However, your prompt contains {len(prompt)} input tokens, which "
                "exceeds this limit even without any output tokens. Please reduce the length of the input prompt.", param="input_tokens",
            )
        if max(prompt) >= self.model.vocabulary:
            raise error(400, f"Token id {max(prompt)} is out of vocabulary")
        check_sampling(asked, min(asked.max_tokens, context - len(prompt)))
        return prompt
