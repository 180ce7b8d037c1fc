"""A chat-completions server on loopback that refuses what real ones refuse and answers from a script."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, TypeAdapter, ValidationError

KEY, MODEL = "right-key-123", "scripted"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Named(Strict):
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    arguments: str


class Called(Strict):
    id: str = Field(min_length=1)
    type: Literal["function"]
    function: Named


class Plain(Strict):
    role: Literal["system", "user"]
    content: str


class Assistant(Strict):
    role: Literal["assistant"]
    content: str | None = None
    tool_calls: list[Called] | None = Field(None, min_length=1)


class Result(Strict):
    role: Literal["tool"]
    content: str
    tool_call_id: str


Chat = Annotated[list[Annotated[Plain | Assistant | Result, Discriminator("role")]], Field(min_length=1)]


class Request(Strict):
    model: str
    messages: Chat
    tools: list[dict[str, Any]] | None = Field(None, min_length=1)
    seed: int | None = None
    temperature: float | None = None
    max_tokens: int | None = Field(None, ge=1)


def check_chat(messages: Sequence[Mapping[str, Any]]) -> None:
    """Raise ValueError for a conversation that a server would refuse."""
    waiting: list[str] = []
    known: set[str] = set()
    for one in TypeAdapter(Chat).validate_python([*messages]):
        if isinstance(one, Result):
            if one.tool_call_id not in waiting:
                raise ValueError(f"a tool message answers no preceding call: {one.tool_call_id}")
            waiting.remove(one.tool_call_id)
        elif waiting:
            raise ValueError(f"calls without a result: {waiting}")
        elif isinstance(one, Assistant):
            waiting = [call.id for call in one.tool_calls or ()]
            _check_said(one, known)
    if waiting:
        raise ValueError(f"calls without a result: {waiting}")
    if messages[-1]["role"] == "assistant":
        raise ValueError("nothing to answer: the last message is the assistant's")


def _check_said(one: Assistant, known: set[str]) -> None:
    if one.content is None and not one.tool_calls:
        raise ValueError("an assistant message with neither content nor calls")
    for call in one.tool_calls or ():
        if call.id in known:
            raise ValueError(f"two calls have the id {call.id}")
        known.add(call.id)
        if not isinstance(json.loads(call.function.arguments), dict):
            raise ValueError("the chat template needs arguments that are an object")


@dataclass
class Answer:
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    late: bool = False
    """Comes only when the server closes."""


def says(content: Any, finish: str | None = "stop", **message: Any) -> Answer:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return Answer(body={"id": "c", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice], "usage": usage})


def calls(*made: tuple[str, str, Any], finish: str = "tool_calls", content: str | None = None) -> Answer:
    forms = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id, name, arguments in made]
    return says(content, finish, tool_calls=forms)


def fails(status: int, message: str = "no luck") -> Answer:
    return Answer(status, {"error": {"message": message, "type": "error", "code": None}}, {"retry-after-ms": "1"})


class ChatServer:
    """Use as a context manager; `script` holds the answers still to give, `requests` what was asked."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self._closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                outer.keys.append(self.headers.get("authorization"))
                answer = outer.answer(self.path, self.headers.get("authorization"), raw)
                if answer.late:
                    outer._closing.wait(20)
                    self.close_connection = True
                    return
                body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", "content-length": str(len(body)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *values: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def answer(self, path: str, key: str | None, raw: bytes) -> Answer:
        if path != "/v1/chat/completions":
            return fails(404, "not found")
        if key != f"Bearer {KEY}":
            return fails(401, f"incorrect key: {key}")
        try:
            body = json.loads(raw)
            request = Request.model_validate(body)
            check_chat(body["messages"])
        except (ValidationError, ValueError) as error:
            return fails(400, f"contract: {error}")
        if request.model != MODEL:
            return fails(404, f"no model {request.model}")
        self.requests.append(body)
        return self.script.pop(0)

    def __enter__(self) -> "ChatServer":
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
