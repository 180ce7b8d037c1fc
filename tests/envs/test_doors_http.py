"""The application over HTTP: addresses, bodies, headers, many episodes side by side, and what its description says."""

import asyncio
import json

import pytest
from desk_samples import SERVICES, SPOILABLE, TOOLS, desk_world
from typing_extensions import TypedDict

from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Effect, Service, tool

httpx = pytest.importorskip("httpx")
http = pytest.importorskip("cowork_gym.mock_services.kit.http")
pytestmark = pytest.mark.asyncio
ALL = tuple(SERVICES.values())
EXPORT = {"title": "t", "customer_ids": ["C-1"], "summary": "证书"}


def client_for(worlds, services=ALL):
    return httpx.AsyncClient(transport=httpx.ASGITransport(http.make_app(services, worlds.get)), base_url="http://test")


def without_nulls(form):
    """A schema without the defaults that are null, which FastAPI leaves out of its document."""
    if isinstance(form, dict):
        return {key: without_nulls(value) for key, value in form.items() if value is not None}
    return [without_nulls(one) for one in form] if isinstance(form, list) else form


async def test_a_call():
    world = desk_world()
    async with client_for({"a": world}) as client:
        response = await client.post("/episodes/a/crm/get_customer", json={"customer_id": "C-1"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers[http.SEQUENCE] == "1"
    assert response.json()["name"] == SPOILABLE
    assert world.ledger[0].tool == "crm_get_customer"


async def test_a_repeated_key_executes_nothing():
    world = desk_world()
    async with client_for({"a": world}) as client:
        headers = {http.DISPATCH: "%F0%9F%99%82 1"}
        first = await client.post("/episodes/a/crm/export_report", json=EXPORT, headers=headers)
        again = await client.post("/episodes/a/crm/export_report", json=EXPORT, headers=headers)
        other = await client.post("/episodes/a/crm/export_report", json={**EXPORT, "title": "u"}, headers=headers)
        spoiled = await client.post("/episodes/a/crm/export_report", json=EXPORT, headers={http.DISPATCH: "%ED%A0%80"})
        garbled = await client.post("/episodes/a/crm/export_report", json=EXPORT, headers={http.DISPATCH: "%FF"})
    assert first.text == again.text
    assert http.REPLAYED not in first.headers
    assert again.headers[http.REPLAYED] == "true"
    assert [first.headers[http.SEQUENCE], again.headers[http.SEQUENCE]] == ["1", "1"]
    assert [other.status_code, spoiled.status_code, garbled.status_code] == [409, 422, 422]
    assert "not percent-encoded UTF-8" in garbled.text
    assert len(world.ledger) == 1
    assert world.ledger[0].dispatch == "🙂 1"


@pytest.mark.parametrize(("body", "problem"), [
    (b"", "not valid JSON"), (b"{", "not valid JSON"), (b"[]", "must be a JSON object, not a list"), (b"5", "must be a JSON object, not a number"),
    (b'{"customer_id": NaN}', "NaN is not JSON"), (b"\xff\xfe", "not UTF-8"), (b"[" * 100_000, "nested too deeply"),
    (b'{"customer_id": "\\ud800"}', "lone surrogate"), (b'{"customer_id": "\\u0000"}', "NUL"),
    (b'{"customer_id": "C-1", "x": 1.50}', "unknown argument 'x'"),
    (b'{"customer_id": ' + b"[" * 40 + b"]" * 40 + b"}", "32 levels"), (json.dumps({"customer_id": "x" * 2**20}).encode(), "too large"),
])
async def test_bad_bodies_are_typed_errors(body, problem):
    world = desk_world()
    async with client_for({"a": world}) as client:
        response = await client.post("/episodes/a/crm/get_customer", content=body)
    assert response.status_code == 422
    assert response.json()["type"] == "validation"
    assert problem in response.json()["error"]
    assert http.SEQUENCE not in response.headers
    assert len(world.ledger) == 0


async def test_a_body_is_read_no_further_than_its_limit():
    world, sent = desk_world(), 0

    async def endless():
        nonlocal sent
        yield b'{"customer_id": "'
        while True:
            sent += 2**20
            yield b"x" * 2**20

    async with client_for({"a": world}) as client:
        response = await client.post("/episodes/a/crm/get_customer", content=endless())
    assert response.status_code == 413
    assert response.json()["type"] == "validation" and "too large" in response.json()["error"]
    assert http.MAX_BODY <= sent <= http.MAX_BODY + 2**20
    assert len(world.ledger) == 0


@pytest.mark.parametrize("value", [["\u0001" * 200_000], ["🙂" * 200_000], [-2.2250738585072014e-38] * 200_000, [-(2**63)] * 200_000])
async def test_a_body_within_the_limits_of_arguments_is_read(value):
    async with client_for({"a": desk_world()}) as client:
        response = await client.post("/episodes/a/crm/get_customer", json={"customer_id": value})
    assert response.status_code == 422 and "argument 'customer_id'" in response.json()["error"]


async def test_unknown_addresses():
    async with client_for({"a": desk_world()}) as client:
        token = await client.post("/episodes/b/crm/get_customer", json={})
        near = await client.post("/episodes/a/crm/get_customers", json={})
        far = await client.post("/episodes/a/Zürich/🙂", json={})
        one, more = await client.post("/episodes/a/x%2Fy_z", json={}), await client.post("/episodes/a/x/y/%ED%A0%80", json={})
        garbled = await client.post("/episodes/a/crm/%FF", json={})
        verb = await client.get("/episodes/a/crm/get_customer")
    assert (token.status_code, token.json()["type"]) == (404, "unknown_episode")
    assert (near.status_code, near.json()["type"]) == (404, "unknown_tool")
    assert "did you mean 'crm_get_customer'?" in near.json()["error"]
    assert (far.status_code, far.json()["type"]) == (404, "unknown_tool")
    assert one.json()["error"].startswith("unknown tool 'x/y_z'") and more.json()["error"].startswith("unknown tool 'x_y_\\ud800")
    assert garbled.json()["error"].startswith("unknown tool 'crm_\ufffd'")
    assert verb.status_code == 405


async def test_an_address_without_its_bytes_is_read_all_the_same():
    application = http.make_app(ALL, {"a": desk_world()}.get)

    async def server(scope, receive, send):
        await application({**scope, "raw_path": None}, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(server), base_url="http://test") as client:
        assert (await client.post("/episodes/a/crm/list_customers", json={})).status_code == 200
        assert "'no_thing'" in (await client.post("/episodes/a/no/thing", json={})).text


async def test_a_tool_that_the_episode_does_not_permit_is_unknown():
    world = World.open(SERVICES.values(), tools=["kb_search"])
    async with client_for({"a": world}) as client:
        response = await client.post("/episodes/a/crm/list_customers", json={})
    assert (response.status_code, response.json()["type"]) == (404, "unknown_tool")


class Faulty(Service):
    """A service with a defect."""

    name = "very_faulty"

    @tool(Effect.READ)
    def fail(self) -> None:
        """Fail."""
        raise RuntimeError("\ud800 a defect")


async def test_a_fault_has_a_typed_blame():
    async with client_for({"a": World.open([Faulty])}, [Faulty]) as client:
        for path in ("very_faulty/fail", "very/faulty_fail"):
            response = await client.post(f"/episodes/a/{path}", json={})
            assert response.status_code == 500
            assert response.json() == {
                "error": "RuntimeError: \ud800 a defect", "type": "fault", "blame": "environment", "where": "very_faulty_fail",
            }


async def test_episodes_do_not_see_each_other():
    worlds = {"a": desk_world(), "b": desk_world()}
    async with client_for(worlds) as client:
        made = (await client.post("/episodes/a/crm/export_report", json=EXPORT)).json()["report"]["report_id"]
        await client.post("/episodes/b/helpdesk/list_tickets", json={})
        assert worlds["b"].rows("crm.reports") == {}
        worlds["b"].restore(worlds["b"].blueprint.start)
        assert list(worlds["a"].rows("crm.reports")) == [made]
        del worlds["b"]
        assert (await client.post("/episodes/b/helpdesk/list_tickets", json={})).status_code == 404


async def test_many_episodes_in_parallel_end_alike():
    worlds = {str(number): desk_world() for number in range(32)}
    async with client_for(worlds) as client:
        async def play(token):
            for number in range(5):
                await client.post(f"/episodes/{token}/crm/export_report", json={**EXPORT, "title": str(number)})

        await asyncio.gather(*map(play, worlds))
    assert len({world.fingerprint() for world in worlds.values()}) == 1
    assert len({world.ledger.hash for world in worlds.values()}) == 1
    assert {len(world.rows("crm.reports")) for world in worlds.values()} == {5}


async def test_fifty_calls_at_once_make_fifty_records():
    worlds = {"a": desk_world(), "b": desk_world()}
    async with client_for(worlds) as client:
        async def export(at):
            return await client.post(f"/episodes/{'ab'[at % 2]}/crm/export_report", json={**EXPORT, "title": str(at)})

        responses = await asyncio.gather(*map(export, range(100)))
    assert {one.status_code for one in responses} == {200}
    for token, rest in (("a", 0), ("b", 1)):
        assert {row["title"] for row in worlds[token].rows("crm.reports").values()} == {str(at) for at in range(100) if at % 2 == rest}


async def test_the_description_has_every_tool_with_its_schema():
    async with client_for({}) as client:
        document = (await client.get("/openapi.json")).json()
    operations = {one["post"]["operationId"]: (path, one["post"]) for path, one in document["paths"].items()}
    assert set(operations) == set(TOOLS)
    for name, one in TOOLS.items():
        path, operation = operations[name]
        assert path == f"/episodes/{{token}}/{name.replace('_', '/', 1)}"
        assert operation["requestBody"]["content"]["application/json"]["schema"] == without_nulls(one.parameters)
        assert operation["description"] == one.description
        assert operation["tags"] == [one.service]
        assert {parameter["name"] for parameter in operation["parameters"]} == {"token", http.DISPATCH}
        assert set(operation["responses"]) == {"200", "4XX", "500"}
        result, refusal = operation["responses"]["200"]["content"]["application/json"]["schema"]["anyOf"]
        assert result.items() >= {key: value for key, value in one.returns.items() if key not in {"$defs", "properties"}}.items()
        assert result.get("properties", {}).keys() == one.returns.get("properties", {}).keys()
        assert refusal["required"] == ["error", "type"]


class Folder(TypedDict):
    """A type that contains itself."""

    effect: Effect
    inner: "list[Folder]"


class Place(Service):
    """Arguments and results that refer to definitions."""

    name = "place"

    @tool(Effect.READ)
    def visit(self, effects: list[Effect], first: Effect, folder: Folder) -> Folder:
        """Visit."""
        return folder

    @tool(Effect.READ)
    def leave(self):
        """Leave."""


async def test_schemas_in_the_description_stand_alone():
    assert "$ref" in json.dumps(Place.tools()["place_visit"].parameters)
    async with client_for({}, [Place]) as client:
        document = (await client.get("/openapi.json")).json()
    visit, leave = (document["paths"][f"/episodes/{{token}}/place/{one}"]["post"] for one in ("visit", "leave"))
    schema = visit["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["folder"]["properties"]["inner"]["items"] == {}
    folder, _ = visit["responses"]["200"]["content"]["application/json"]["schema"]["anyOf"]
    assert folder["properties"]["effect"]["enum"] == ["read", "write"] and folder["properties"]["inner"]["items"] == {}
    assert leave["responses"]["200"]["content"]["application/json"]["schema"] == {}
    assert schema["properties"]["first"]["enum"] == schema["properties"]["effects"]["items"]["enum"] == ["read", "write"]
    assert "$" not in json.dumps([schema, folder])
