"""The doors of a world: the direct call, which is the world itself, and its services' HTTP application in this process."""

import os
import threading
import weakref
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import ExitStack
from decimal import Decimal
from functools import lru_cache
from itertools import count
from json import dumps
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from cowork_gym.core.canonical import check_id, decode, encode, plain
from cowork_gym.core.errors import Blame, Fault, MissingExtra, ToolError, UserError, nearest
from cowork_gym.envs.turns import Caller
from cowork_gym.envs.world import Outcome, World
from cowork_gym.mock_services.kit.service import Service

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from fastapi import FastAPI
    from httpx import Response

__all__ = ["AsgiDoor", "Door", "open_door"]

_TOKENS = count(1)
_NAME = 200
"""Characters of an unknown tool's name that are sent; the answer repeats fewer."""


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
    plain code inside a running event loop such as a notebook's. The thread starts with the first call. Worlds with the same services
    share one application, each under a token of its own.

    What no JSON text can say (NaN, a lone surrogate, a list that is too deep) is refused here, in the world's words.

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
        self._world, self._httpx, self._http, self._token = world, httpx, http, str(next(_TOKENS))
        application, worlds = _application(world.blueprint.services)
        worlds[self._token] = world
        self._transport = httpx.ASGITransport(application)
        self._portal: BlockingPortal | None = None
        self._end: Callable[[], object] = ExitStack().close
        self._lock, self._process = threading.Lock(), os.getpid()

    def call(self, tool: str, arguments: Mapping[str, Any], dispatch: str | None = None) -> Outcome:
        """Call a tool; see `World.call`.

        Raises:
            Fault: A handler failed by a defect of its own.
        """
        try:
            path, body = self._request(tool, arguments, dispatch)
        except ToolError as error:
            return Outcome(error.kind.status, encode(error.outcome()), error.outcome(), None)
        headers = {} if dispatch is None else {self._http.DISPATCH: quote(dispatch, errors="surrogatepass")}
        portal = self._portal if self._portal is not None and self._process == os.getpid() else self._start()
        return self._outcome(portal.call(self._post, f"/episodes/{self._token}/{path}", headers, body))

    def _request(self, tool: str, arguments: Mapping[str, Any], dispatch: str | None) -> tuple[str, str]:
        """Where a call goes, and the text of its arguments.

        Raises:
            ToolError: They have no text, or not one within the limits.
        """
        permitted = self._world.blueprint.tools.get(tool)
        if permitted is None:  # nobody reads the arguments, and no more of the name than this
            return quote(tool[:_NAME], safe="", errors="surrogatepass").replace(".", "%2E"), "{}"
        check_id(dispatch, "the dispatch id")
        body = _json(plain(arguments, what=f"{tool}: the arguments"))
        return f"{quote(permitted.tool.service)}/{quote(permitted.tool.function.__name__)}", body

    def close(self) -> None:
        """End the background thread. A later call starts another."""
        with self._lock:
            self._end()
            self._portal = None

    def _start(self) -> "BlockingPortal":
        from anyio.from_thread import start_blocking_portal

        if self._process != os.getpid():  # a fork has none of its parent's threads, and perhaps a lock that one of them held
            self._lock, self._process, self._portal = threading.Lock(), os.getpid(), None
        with self._lock:
            if self._portal is None:
                stack = ExitStack()
                self._portal = stack.enter_context(start_blocking_portal(name="cowork-asgi-door"))
                self._end = weakref.finalize(self, stack.close)
            return self._portal

    async def _post(self, path: str, headers: Mapping[str, str], body: str) -> "Response":
        request = self._httpx.Request("POST", f"http://cowork{path}", headers=headers, content=body.encode())
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


@lru_cache(16)
def _application(services: tuple[type[Service], ...]) -> tuple["FastAPI", MutableMapping[str, World]]:
    """The application of some services, and the worlds behind its tokens; to build it takes longer than a dozen calls."""
    from cowork_gym.mock_services.kit.http import make_app

    worlds = weakref.WeakValueDictionary[str, World]()
    return make_app(services, worlds.get), worlds


def _json(value: Any) -> str:
    """JSON text from which `decode` makes the same value: a decimal is written as one, even where it is whole."""
    if isinstance(value, Decimal):
        text = str(value)
        return text if "." in text or "E" in text else f"{text}E0"
    if isinstance(value, dict):
        return "{" + ",".join(f"{dumps(key)}:{_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return dumps(value, ensure_ascii=False)
