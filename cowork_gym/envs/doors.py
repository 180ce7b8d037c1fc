"""The doors of a world: the direct call, which is the world itself, and its services' HTTP application in this process."""

import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from decimal import Decimal
from json import dumps
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from cowork_gym.core.canonical import decode
from cowork_gym.core.errors import Blame, Fault, MissingExtra, UserError, nearest
from cowork_gym.envs.turns import Caller
from cowork_gym.envs.world import Outcome, World

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from httpx import Response

__all__ = ["AsgiDoor", "Door", "open_door"]


class Door(Caller, Protocol):
    """A way into a world that can be closed."""

    def close(self) -> None:
        """Free what the door holds."""


def open_door(kind: str, world: World) -> Door:
    """A door into a world.

    Args:
        kind: `direct` for the world itself, `asgi` for an `AsgiDoor`.
        world: Where it leads.

    Raises:
        UserError: There is no such kind of door.
        MissingExtra: The door needs a package that is not installed.
    """
    if kind == "direct":
        return world
    if kind == "asgi":
        return AsgiDoor(world)
    raise UserError(f"unknown door {kind!r}, {nearest(kind, ('asgi', 'direct'))}")


class AsgiDoor:
    """Sends every call through the services' HTTP application, without a socket.

    The application runs on an event loop of its own in a background thread, so that `call` works from plain code, and from
    plain code inside a running event loop such as a notebook's. The thread starts with the first call.

    What JSON text does not give back unchanged (NaN, a set, a list that is too deep to be written, a float, which is read as a
    decimal) goes to the world directly.

    Args:
        world: Where the calls lead.

    Raises:
        MissingExtra: FastAPI or httpx is not installed.
    """

    def __init__(self, world: World) -> None:
        try:
            import httpx

            from cowork_gym.mock_services.kit import http
        except ModuleNotFoundError as error:
            raise MissingExtra("the HTTP door", "pip install 'cowork-gym[http]'") from error
        self._world, self._httpx, self._http = world, httpx, http
        self._transport = httpx.ASGITransport(http.make_app(world.blueprint.services, {"here": world}.get))
        self._portal: BlockingPortal | None = None
        self._end: Callable[[], object] = ExitStack().close
        self._lock = threading.Lock()

    def call(self, tool: str, arguments: Mapping[str, Any], dispatch: str | None = None) -> Outcome:
        """Call a tool; see `World.call`.

        Raises:
            Fault: A handler failed by a defect of its own.
        """
        service, _, function = tool.partition("_")
        try:
            body = _json(dict(arguments))
        except (TypeError, ValueError, RecursionError):
            return self._world.call(tool, arguments, dispatch)
        if not (service and function and tool.isidentifier()):
            return self._world.call(tool, arguments, dispatch)
        headers = {} if dispatch is None else {self._http.DISPATCH: quote(dispatch, errors="surrogatepass")}
        portal = self._portal or self._start()
        return self._outcome(portal.call(self._post, f"/episodes/here/{quote(service)}/{quote(function)}", headers, body))

    def close(self) -> None:
        """End the background thread. A later call starts another."""
        with self._lock:
            self._end()
            self._portal = None

    def _start(self) -> "BlockingPortal":
        from anyio.from_thread import start_blocking_portal

        with self._lock:
            if self._portal is None:
                stack = ExitStack()
                self._portal = stack.enter_context(start_blocking_portal(name="cowork-asgi-door"))
                self._end = weakref.finalize(self, stack.close)
            return self._portal

    async def _post(self, path: str, headers: Mapping[str, str], body: str) -> "Response":
        request = self._httpx.Request("POST", f"http://cowork{path}", headers=headers, content=body)
        response = await self._transport.handle_async_request(request)
        await response.aread()
        return response

    def _outcome(self, response: "Response") -> Outcome:
        text = response.content.decode()
        value = decode(text)
        if response.status_code == 500:
            raise Fault(Blame(value["blame"]), value["where"], value["error"])
        sequence = response.headers.get(self._http.SEQUENCE)
        return Outcome(
            response.status_code, text, value, None if sequence is None else int(sequence), self._http.REPLAYED in response.headers,
        )


def _json(value: Any) -> str:
    """JSON text from which `decode` makes the same value: every number in its own spelling, in ASCII.

    Raises:
        TypeError: A value would come back as another type.
        ValueError: A number is not finite.
    """
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not JSON")
        return str(value)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a key is not a string")
        return "{" + ",".join(f"{dumps(key)}:{_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if value is None or isinstance(value, str | bool | int):
        return dumps(value)
    raise TypeError(f"a {type(value).__name__} would come back as another type")
