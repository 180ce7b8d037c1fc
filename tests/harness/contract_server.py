"""What the contract servers share: a model that draws the same every time, and a real socket on loopback that can be told to misbehave."""

import json
import math
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

KEY = "right-key-123"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Sampled(NamedTuple):
    ids: list[int]
    logprobs: list[float]
    finish: Literal["stop", "length"]


class FakeModel:
    """A dozen tokens may follow any four; the weights' path decides which. What `says` holds is drawn before anything else."""

    def __init__(self, vocabulary: int = 1000, context: int = 128, eos: int = 2) -> None:
        self.vocabulary, self.context, self.eos = vocabulary, context, eos
        self.weights, self.version = "first", "default"
        self.says: list[Sequence[int]] = []

    def logprobs(self, before: Sequence[int], temperature: float = 1.0, *, also: int | None = None) -> dict[int, float]:
        source = random.Random(f"{self.weights}:{tuple(before[-4:])}")
        scores = {source.randrange(3, self.vocabulary): source.gauss(0, 2) for _ in range(12)} | {self.eos: 0.0}
        if also is not None:
            scores.setdefault(also, -3.0)
        whole = math.log(sum(math.exp(score / temperature) for score in scores.values()))
        return {id: score / temperature - whole for id, score in scores.items()}

    def draw(
        self, prompt: Sequence[int], *, limit: int, temperature: float, top_p: float, top_k: int, stop: Sequence[int], seed: object,
        mode: Literal["scaled", "raw", "processed"],
    ) -> Sampled:
        script = list(self.says.pop(0)) if self.says else None
        heat, top_k = (temperature, top_k) if temperature else (1.0, 1)
        ids: list[int] = []
        kept_logprobs: list[float] = []
        while len(ids) < limit:
            before, forced = [*prompt, *ids], script[len(ids)] if script else None
            scaled = self.logprobs(before, heat, also=forced)
            kept = _keep(scaled, top_p, top_k)
            id = forced if forced is not None else random.Random(f"{seed}:{len(ids)}").choices([*kept], [math.exp(one) for one in kept.values()])[0]
            ids.append(id)
            shown = {"scaled": scaled, "raw": self.logprobs(before, also=forced), "processed": scaled if temperature == 0 else kept}[mode]
            kept_logprobs.append(shown[id])
            if id == self.eos or id in stop:
                return Sampled(ids, kept_logprobs, "stop")
        return Sampled(ids, kept_logprobs, "length")


def _keep(logprobs: dict[int, float], top_p: float, top_k: int) -> dict[int, float]:
    """What top-k and top-p leave over, as probabilities that sum to 1 again."""
    order = sorted(logprobs, key=lambda id: -logprobs[id])[: top_k if top_k > 0 else None]
    kept, mass = [], 0.0
    for id in order:
        kept.append(id)
        mass += math.exp(logprobs[id])
        if mass >= top_p:
            break
    return {id: logprobs[id] - math.log(mass) for id in kept}


@dataclass
class Trouble:
    """What befalls one request for an answer."""

    status: int | None = None
    body: Any = None
    drop: bool = False
    hang: bool = False
    spoil: Callable[[Any], Any] | None = None
    """Changes the answer in place, or returns another."""


class Refusal(Exception):
    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status, body)
        self.status, self.body = status, body


class ContractServer:
    """Use as a context manager. `troubles` holds what befalls the next requests for an answer, `requests` what was asked."""

    generates = ""

    def __init__(self, model: FakeModel | None = None, *, key: str | None = None) -> None:
        self.model, self.key = model or FakeModel(), key
        self.troubles: list[Trouble] = []
        self.requests: list[tuple[str, Any]] = []
        self._closing, self._lock = threading.Event(), threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    @property
    def asked(self) -> list[Any]:
        """The bodies of the requests for an answer."""
        return [body for path, body in self.requests if path == self.generates]

    def route(self, path: str, body: Any) -> Any:
        """The answer to one request; a Refusal for anything else."""
        raise NotImplementedError

    def guarded(self, path: str) -> bool:
        return self.key is not None

    def abandoned(self, body: Any) -> None:
        """A request for an answer hangs: its client will leave."""

    def handle(self, path: str, key: str | None, raw: bytes) -> tuple[int, Any] | Trouble:
        body = json.loads(raw) if raw else None
        with self._lock:
            self.requests.append((path, body))
            trouble = self.troubles.pop(0) if path == self.generates and self.troubles else Trouble()
            if trouble.drop or trouble.hang:
                self.abandoned(body)
                return trouble
            if trouble.status is not None:
                return trouble.status, trouble.body
            try:
                if self.guarded(path) and key != f"Bearer {self.key}":
                    raise Refusal(401, {"error": "Unauthorized"})
                answer = self.route(path, body)
            except Refusal as refusal:
                return refusal.status, refusal.body
        if trouble.spoil is not None:
            answer = trouble.spoil(answer) or answer
        return 200, answer

    def __enter__(self) -> "ContractServer":
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def _handler(server: ContractServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.reply(b"")

        def do_POST(self) -> None:
            self.reply(self.rfile.read(int(self.headers["content-length"])))

        def reply(self, raw: bytes) -> None:
            outcome = server.handle(self.path, self.headers.get("authorization"), raw)
            if isinstance(outcome, Trouble):
                if outcome.hang:
                    server._closing.wait(20)
                self.close_connection = True
                return
            status, body = outcome
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *values: Any) -> None:
            pass

    return Handler
