"""The HTTP door: every tool of every service as a FastAPI route, many episodes in one application."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import unquote

from fastapi import FastAPI, Request, Response

from cowork_gym.core.canonical import MAX_SIZE, check_value
from cowork_gym.core.errors import ErrorKind, Fault, ToolError
from cowork_gym.core.messages import ToolCall
from cowork_gym.mock_services.kit.service import Service
from cowork_gym.mock_services.kit.tools import Tool

__all__ = ["DISPATCH", "MAX_BODY", "REPLAYED", "SEQUENCE", "Answer", "Caller", "make_app"]

DISPATCH = "Idempotency-Key"
"""The request header with the dispatch id, percent-encoded where it is not plain ASCII."""
SEQUENCE = "Ledger-Sequence"
"""The response header with the ledger entry's number; absent when the call was refused at the door."""
REPLAYED = "Idempotent-Replayed"
"""The response header that says `true` when the dispatch id came again and nothing was executed."""
MAX_BODY = 32 * MAX_SIZE
"""Bytes of a request's body. Texts and numbers of the usual size fit whenever they are within the limits of arguments."""


class Answer(Protocol):
    """What a call came to."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def text(self) -> str:
        """JSON."""

    @property
    def sequence(self) -> int | None:
        """The ledger entry, or None."""

    @property
    def replayed(self) -> bool:
        """Whether nothing was executed."""


class Caller(Protocol):
    """An episode that takes calls; a world is one."""

    def call(self, tool: str, arguments: Mapping[str, Any], dispatch: str | None = None) -> Answer:
        """Call a tool."""


def make_app(services: Iterable[type[Service]], find: Callable[[str], Caller | None]) -> FastAPI:
    """The application: `POST /episodes/{token}/{service}/{function}` with the arguments as a JSON object.

    The response has the call's status and text; a body of more than `MAX_BODY` bytes is refused with 413 before it is read whole.
    Every other address below an episode is taken for a tool's name with `/` for `_`, so that the episode says what there is instead.
    A route runs its tool on the event loop, since a call takes less time than handing it to a thread; calls of one episode take turns
    by themselves.

    Args:
        services: Whose tools the application documents. An episode decides by itself which tools it permits.
        find: The episode behind a token, or None.
    """
    app = FastAPI(title="cowork", description="Mock services of co-work episodes, one token an episode.", version="1")
    for service in services:
        for tool in service.tools().values():
            app.add_api_route(
                f"/episodes/{{token}}/{service.name}/{tool.function.__name__}", _endpoint(find, tool.name), methods=["POST"], tags=[service.name],
                operation_id=tool.name, description=tool.description, responses=_responses(tool), openapi_extra=_operation(tool),
            )
    app.add_api_route("/episodes/{token}/{address:path}", _elsewhere(find), methods=["POST"], include_in_schema=False)
    return app


def _endpoint(find: Callable[[str], Caller | None], tool: str) -> Callable[..., Awaitable[Response]]:
    async def endpoint(token: str, request: Request) -> Response:
        return await _respond(find(token), tool, request)

    return endpoint


def _elsewhere(find: Callable[[str], Caller | None]) -> Callable[..., Awaitable[Response]]:
    """The endpoint of every other address."""

    async def endpoint(token: str, address: str, request: Request) -> Response:
        return await _respond(find(token), _named(request, address), request)

    return endpoint


def _named(request: Request, address: str) -> str:
    """The tool that an address names. Its bytes, where the server has them, still tell a slash of the name from one of the address."""
    with suppress(UnicodeDecodeError):
        if raw := request.scope.get("raw_path"):
            parts = raw.decode("ascii").partition("/episodes/")[2].split("/")[1:]
            return "_".join(unquote(part, errors="surrogatepass") for part in parts)
    return address.replace("/", "_")


async def _respond(episode: Caller | None, tool: str, request: Request) -> Response:
    if episode is None:
        return _error(404, {"error": "no episode has this token", "type": "unknown_episode"})
    try:
        arguments = ToolCall(tool, _text(await _body(request), tool)).decoded()
        answer = episode.call(tool, arguments, _dispatch(request))
    except _TooLarge:
        return _error(413, {"error": f"the arguments of {tool} are too large: more than {MAX_BODY} bytes", "type": ErrorKind.VALIDATION})
    except ToolError as error:
        return _error(error.kind.status, error.outcome())
    except Fault as fault:
        one = fault.record
        return _error(500, {"error": one.message, "type": "fault", "blame": one.blame, "where": one.where})
    headers = {} if answer.sequence is None else {SEQUENCE: str(answer.sequence)}
    if answer.replayed:
        headers[REPLAYED] = "true"
    return Response(answer.text, answer.status, headers, "application/json")


def _dispatch(request: Request) -> str | None:
    if (key := request.headers.get(DISPATCH)) is None:
        return None
    try:
        dispatch = unquote(key, errors="surrogatepass")
    except UnicodeDecodeError:
        raise ToolError(f"the header {DISPATCH} is not percent-encoded UTF-8") from None
    check_value(dispatch, what=f"the header {DISPATCH}")
    return dispatch


class _TooLarge(Exception):
    """A request's body has more than `MAX_BODY` bytes."""


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise _TooLarge
    return bytes(body)


def _text(body: bytes, tool: str) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise ToolError(f"the arguments of {tool} are not valid JSON: not UTF-8", ErrorKind.VALIDATION) from None


def _error(status: int, outcome: Mapping[str, str]) -> Response:
    return Response(json.dumps(outcome), status, media_type="application/json")


_REFUSED = {
    "type": "object", "required": ["error", "type"],
    "properties": {"error": {"type": "string"}, "type": {"enum": [kind.value for kind in ErrorKind]}},
}


def _responses(tool: Tool) -> dict[int | str, dict[str, Any]]:
    result = {} if tool.returns is None else {"anyOf": [_inlined(tool.returns), _REFUSED]}
    return {
        200: {
            "description": "The tool's result, or that a record was not found.", "content": {"application/json": {"schema": result}},
            "headers": {SEQUENCE: {"schema": {"type": "integer"}, "description": "The entry in the audit ledger."}},
        },
        "4XX": {"description": "The call was refused.", "content": {"application/json": {"schema": _REFUSED}}},
        500: {"description": "The environment failed; the episode is quarantined."},
    }


def _operation(tool: Tool) -> dict[str, Any]:
    """What FastAPI cannot see in the endpoint: the body and the header."""
    dispatch = {
        "name": DISPATCH, "in": "header", "schema": {"type": "string"},
        "description": "An id of the call. One that comes again with the same call returns the recorded result and executes nothing.",
    }
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _inlined(tool.parameters)}}}, "parameters": [dispatch]}


def _inlined(schema: Any, definitions: Mapping[str, Any] | None = None, within: frozenset[str] = frozenset()) -> Any:
    """A schema without references, which in this document would point elsewhere. A type inside itself may be anything."""
    if isinstance(schema, list):
        return [_inlined(one, definitions, within) for one in schema]
    if not isinstance(schema, dict):
        return schema
    known = schema.get("$defs", {}) if definitions is None else definitions
    if "$ref" not in schema:
        return {key: _inlined(value, known, within) for key, value in schema.items() if key != "$defs"}
    name, beside = schema["$ref"].rpartition("/")[2], {key: value for key, value in schema.items() if key not in {"$ref", "$defs"}}
    return beside if name in within else _inlined({**known[name], **beside}, known, within | {name})
