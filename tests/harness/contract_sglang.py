"""A server on loopback that speaks as SGLang 0.5.23 does and refuses what it refuses, in its words.

It is stricter in two things, so that a slip of the client shows: unknown fields beside `sampling_params`, which the real server
passes over, and ids out of the vocabulary, which it feeds to the model.
"""

import itertools
from typing import Any

from contract_server import ContractServer, FakeModel, Refusal, Strict
from pydantic import Field, ValidationError

MODEL = "fake/sglang"
ALL = 1 << 30


class Parameters(Strict):
    max_new_tokens: int = 128
    stop_token_ids: list[int] | None = None
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = ALL
    min_p: float = 0.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    min_new_tokens: int = 0
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    no_stop_trim: bool = False
    sampling_seed: int | None = Field(None, ge=-(2**63), lt=2**63)


class Request(Strict):
    rid: str | None = None
    text: str | None = None
    input_ids: list[int] | None = None
    sampling_params: Parameters = Parameters()
    return_logprob: bool | None = None
    stream: bool = False


class Update(Strict):
    model_path: str
    weight_version: str | None = None
    flush_cache: bool = True


def refuse(text: str) -> Refusal:
    return Refusal(400, {"error": {"message": text}})


def check_parameters(how: Parameters) -> None:
    if not how.temperature >= 0:
        raise refuse(f"temperature must be a non-negative finite number, got {how.temperature}.")
    if not 0 < how.top_p <= 1:
        raise refuse(f"top_p must be in (0, 1], got {how.top_p}.")
    if how.top_k < 1 and how.top_k != -1:
        raise refuse(f"top_k must be -1 (disable) or at least 1, got {how.top_k}.")
    if how.max_new_tokens < 0:
        raise refuse(f"max_new_tokens must be at least 0, got {how.max_new_tokens}.")


class SGLangServer(ContractServer):
    """`deterministic` is the server's flag; `renamed` says whether it has the newer path for its model's data."""

    generates = "/generate"

    def __init__(
        self, model: FakeModel | None = None, *, key: str | None = None, deterministic: bool = True, renamed: bool = True, tells_context: bool = True,
    ) -> None:
        super().__init__(model, key=key)
        self.deterministic, self.renamed, self.tells_context = deterministic, renamed, tells_context
        self.folders = {"first", "second"}
        self.running: set[str] = set()
        self._draws = itertools.count()

    def route(self, path: str, body: Any) -> Any:
        if path == "/v1/models":
            card = {"id": MODEL, "object": "model", "owned_by": "sglang", "root": MODEL, "parent": None}
            return {"object": "list", "data": [card | {"max_model_len": self.model.context if self.tells_context else None}]}
        if path == "/get_model_info" or (path == "/model_info" and self.renamed):
            return {"model_path": self.model.weights, "tokenizer_path": "first", "is_generation": True, "weight_version": self.model.version}
        if path == "/update_weights_from_disk":
            return self.update(Update.model_validate(body))
        if path == "/generate":
            return self.generate(body)
        raise Refusal(404, {"detail": "Not Found"})

    def abandoned(self, body: Any) -> None:
        self.running.add(body["rid"])

    def update(self, asked: Update) -> Any:
        if asked.model_path not in self.folders:
            raise Refusal(400, {"success": False, "message": f"Failed to get weights iterator: {asked.model_path}", "num_paused_requests": 0})
        self.model.weights, self.model.version = asked.model_path, asked.weight_version or self.model.version
        return {"success": True, "message": "Succeeded to update model weights.", "num_paused_requests": 0}

    def generate(self, body: Any) -> Any:
        try:
            asked = Request.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "extra_forbidden":
                raise Refusal(400, {"error": f"unknown field `{first['loc'][-1]}`, expected one of `max_new_tokens`, `stop`"}) from None
            raise Refusal(400, {"object": "error", "message": str(error), "type": "Bad Request", "param": None, "code": 400}) from None
        prompt = self.check(asked)
        how = asked.sampling_params
        seed = how.sampling_seed if self.deterministic else next(self._draws)
        sampled = self.model.draw(
            prompt, limit=min(how.max_new_tokens, self.model.context - len(prompt)), temperature=how.temperature, top_p=how.top_p, top_k=how.top_k,
            stop=how.stop_token_ids or (), seed=seed, mode="scaled",
        )
        finish = {"type": "stop", "matched": sampled.ids[-1]} if sampled.finish == "stop" else {"type": "length", "length": len(sampled.ids)}
        meta = {
            "id": asked.rid, "finish_reason": finish, "prompt_tokens": len(prompt), "completion_tokens": len(sampled.ids), "cached_tokens": 0,
            "weight_version": self.model.version, "num_retractions": 0, "e2e_latency": 0.01,
        }
        if asked.return_logprob:
            scored = [[logprob, id, None] for logprob, id in zip(sampled.logprobs, sampled.ids, strict=True)]
            meta |= {"input_token_logprobs": [], "output_token_logprobs": scored, "output_token_logprobs_length": len(scored)}
        return {"text": "…", "output_ids": sampled.ids, "meta_info": meta}

    def check(self, asked: Request) -> list[int]:
        prompt, how, context = asked.input_ids, asked.sampling_params, self.model.context
        if prompt is None:
            raise refuse("Either text, input_ids or input_embeds should be provided.")
        if not prompt:
            raise refuse("input_ids cannot be empty.")
        if asked.rid in self.running:
            self.running.discard(asked.rid)  # by the next time, it has seen that nobody waits for the first one
            raise refuse(f"Duplicate request ID detected: {asked.rid}")
        if len(prompt) >= context:
            raise refuse(f"The input ({len(prompt)} tokens) is longer than the model's context length ({context} tokens).")
        if len(prompt) + how.max_new_tokens > context:
            raise refuse(
                f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested a total of "
                f"{how.max_new_tokens + len(prompt)} tokens: {len(prompt)} tokens from the input messages and {how.max_new_tokens} tokens for the "
                "completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
            )
        check_parameters(how)
        if wrong := [id for id in prompt if not 0 <= id < self.model.vocabulary]:
            raise refuse(f"contract: out of vocabulary: {wrong}")
        return prompt
