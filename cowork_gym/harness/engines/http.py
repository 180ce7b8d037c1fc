"""JSON over HTTP to a model server: one connection for many threads, retries, and who is to blame where no answer comes."""

import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from cowork_gym.core.canonical import decode
from cowork_gym.core.errors import Fault, MissingExtra, UserError, told
from cowork_gym.core.ids import generator
from cowork_gym.harness.engines.address import failure, host_of, is_near
from cowork_gym.harness.engines.engine import ContextFull

if TYPE_CHECKING:
    import httpx

__all__ = ["Connection", "NotServed", "Received"]

_AGAIN = (408, 425, 429)
_LONGEST_PAUSE, _LONGEST_CONNECT = 30.0, 10.0
_EXAMPLE = "http://127.0.0.1:30000"


class NotServed(UserError):
    """The server has no such path, or not the model that was asked for."""


class Received(BaseModel):
    """The form of what a server sends. Its next version may add fields, so those that are not read here are passed over."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


Form = TypeVar("Form", bound=Received)


class Connection:
    """A model server. Threads may share it.

    Args:
        url: Such as `http://127.0.0.1:30000`; a `/v1` at its end is dropped.
        api_key: What the server was started with, where it asks for a key.
        timeout: Seconds to wait for one answer.
        retries: How often a failed request is sent again.
        backoff: Seconds of the first pause, give or take a half; each further one is twice as long.
        full: How the server says, with the status 400, that a prompt is too long.
        busy: How it says, with the status 400, that it may answer later.

    Raises:
        MissingExtra: The `httpx` library is not installed.
        UserError: The address is none.
    """

    def __init__(
        self, url: str, *, api_key: str | None, timeout: float, retries: int, backoff: float,
        full: re.Pattern[str], busy: re.Pattern[str] | None = None,
    ) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self._client = _connect(self.url, api_key, timeout)
        self._timeout, self._retries, self._backoff = timeout, retries, backoff
        self._full, self._busy = full, busy
        self._jitter = generator(0, "retries", self.url)
        self._closed = threading.Event()

    def ask(self, path: str, form: type[Form], body: Mapping[str, Any] | None = None) -> Form:
        """Send a request and read its answer: a GET, or with a body a POST.

        Raises:
            ContextFull: The server says that the prompt is too long.
            Fault: It failed after all retries, refused the request, or answered in another form.
            NotServed: It has no such path.
            UserError: It refuses the key.
        """
        content = self._send(path, body)
        try:
            return form.model_validate_json(content)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the answer"
            raise self.fault(f"{path}: {place}: {first['msg']}") from None

    def tell(self, path: str, body: Mapping[str, Any]) -> None:
        """POST something whose answer says nothing.

        Raises:
            ContextFull, Fault, NotServed, UserError: As `ask` does.
        """
        self._send(path, body)

    def fault(self, text: str) -> Fault:
        """A failure of the server."""
        return failure(self.url, text)

    def close(self) -> None:
        """Close it. What waits for its next retry asks at once, and fails."""
        self._closed.set()
        self._client.close()

    def _send(self, path: str, body: Mapping[str, Any] | None) -> bytes:
        import httpx

        method, what = "GET" if body is None else "POST", ""
        for attempt in range(self._retries + 1):
            if attempt:
                pause = min(self._backoff * 2 ** (attempt - 1), _LONGEST_PAUSE)
                self._closed.wait(pause * (0.5 + self._jitter.random()))
            try:
                answer = self._client.request(method, path, json=body)
            except httpx.TimeoutException:
                what = f"no answer within {self._timeout} seconds"
            except httpx.TransportError as error:
                what = told(error)
            else:
                if answer.is_success:
                    return answer.content
                what = self._refusal(path, answer.status_code, _said(answer.content))
        raise self.fault(f"{path}: {what}, asked {self._retries + 1} times")

    def _refusal(self, path: str, status: int, text: str) -> str:
        """What a failure was, if asking again may help."""
        what = f"status {status}: {text}"
        if status in (401, 403):
            raise UserError(f"{self.url} refuses the key: pass the api_key that the server was started with")
        if status == 404:
            raise NotServed(f"{self.url}{path} is not there: {text}")
        if status == 400 and self._full.search(text):
            raise ContextFull(text)
        if status >= 500 or status in _AGAIN or (self._busy and self._busy.search(text)):
            return what
        raise self.fault(f"{path}: {what}")


def _connect(url: str, api_key: str | None, timeout: float) -> "httpx.Client":
    try:
        import httpx
    except ImportError:
        raise MissingExtra("the httpx library", "pip install 'cowork-gym[sglang]'") from None
    host = host_of(url, _EXAMPLE)
    return httpx.Client(
        base_url=url,
        headers={"authorization": f"Bearer {api_key}"} if api_key else {},
        # A request that waits for the server is not one that waits for a place in the pool: as many as there are threads may be under way.
        timeout=httpx.Timeout(timeout, connect=min(timeout, _LONGEST_CONNECT), pool=None),
        limits=httpx.Limits(max_connections=None),
        trust_env=not is_near(host),
    )


def _said(content: bytes) -> str:
    """The message in a refusal: servers, and the layers of one server, have envelopes of their own."""
    try:
        value = decode(content)
    except ValueError:
        return content.decode(errors="replace")
    while isinstance(value, Mapping):
        value = next((value[key] for key in ("error", "message", "detail") if key in value), str(value))
    return str(value)
