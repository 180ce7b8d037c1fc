"""The direct call and the call over HTTP: one scripted episode, equal outcomes, ledgers and states."""

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import active_count
from threading import enumerate as threads
from types import MappingProxyType
from typing import Any

import pytest
from desk_samples import SPOILABLE, TOOLS, desk_task, desk_world
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.canonical import canonical, check_value, decode, encode
from cowork_gym.core.errors import Blame, Fault, MissingExtra, UserError
from cowork_gym.core.messages import call, final
from cowork_gym.envs.doors import AsgiDoor, open_door
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.spaces import ActionSpace
from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Effect, ErrorKind, Service, ToolError, tool

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

SCRIPT = [
    ("crm_list_customers", {}, None),
    ("crm_list_customers", {"tier": "VIP"}, "call_1"),
    ("crm_get_customer", {"customer_id": "C-1"}, None),
    ("crm_get_customer", {"customer_id": "Zürich 🙂"}, None),
    ("crm_export_report", {"title": SPOILABLE, "customer_ids": ["C-1"], "summary": "证书"}, "call_2"),
    ("crm_export_report", {"title": SPOILABLE, "customer_ids": ["C-1"], "summary": "证书"}, "call_2"),
    ("crm_export_report", {"title": "another call", "customer_ids": ["C-1"], "summary": "x"}, "call_2"),
    ("helpdesk_update_ticket", {"ticket_id": "T-1", "tags": ["a", "a b"], "resolution": None}, "id with spaces, 证书 100% \n"),
    ("helpdesk_update_ticket", {"ticket_id": "T-1", "tags": ["a", "a b"], "resolution": None}, "id with spaces, 证书 100% \n"),
    ("helpdesk_close_ticket", {"ticket_id": "T-2", "resolution": "done"}, ""),
    ("helpdesk_close_ticket", {"ticket_id": "T-9", "resolution": "done"}, None),
    ("kb_search", {"query": "can't a-b AND 证书", "max_results": 3}, None),
    ("kb_search", {"query": "🙂"}, None),
    ("gmail_get_message", {"message_id": "M-1"}, None),
    ("gmail_send_message", {"to": "ann@example.com", "subject": "é", "body": "\u2028\x7f"}, None),
    ("finance_list_transactions", {"min_amount": Decimal("0.1"), "max_amount": Decimal("33.00")}, None),
    ("finance_list_transactions", {"min_amount": 0.1, "max_amount": 1e2}, None),
    ("finance_submit_report", {"title": "t", "transactions": ["TX-1", "TX-2"], "total_amount": Decimal("33.10")}, None),
    ("finance_submit_report", {"title": "t", "transactions": ["TX-1", "TX-2"], "total_amount": Decimal("33.1000000000000000000001")}, None),
    ("finance_submit_report", {"title": "t", "transactions": ["TX-1", "TX-1"], "total_amount": 66}, None),
    ("crm_get_customre", {"customer_id": "C-1"}, None), ("nonsense", {}, None), ("", {}, None), ("_", {}, None), ("a/b_c", {}, None),
    ("crm_..", {}, None), ("crm_%2e", {}, None), ("crm_?x=1", {}, None), ("crm_ü", {}, None), ("crm_\n", {}, None), ("crm_\ud800", {}, None),
    ("crm_get_customer", {}, None), ("crm_get_customer", {"customer_id": 5, "more": True}, None),
    ("kb_search", {"query": "x", "max_results": True}, None), ("kb_search", {"query": "x", "max_results": None}, None),
    ("kb_search", {"query": "x", "max_results": 2**62}, None), ("kb_search", {"query": "x", "max_results": 2**80}, None),
    ("kb_search", {"query": "x" * 300_000}, None), ("kb_search", {"query": "€" * 200_000}, None),
]


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


UNSENDABLE = [
    "\ud800", "a\0b", float("nan"), float("inf"), Decimal("NaN"), Decimal("1e99"), 1e99, {1: "a"}, {"a", "b"}, b"bytes", object, deep(40),
    deep(10_000), 2**80,
]
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.floats(-1e40, 1e40).filter(lambda one: one == 0 or abs(one) > 1e-39),
    st.decimals(-(10**30), 10**30, allow_nan=False, places=3), st.sampled_from([Decimal("2"), Decimal("2.00"), Decimal("1E+3"), Decimal("-0"), -0.0]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(st.text("aé\"\\/ ", max_size=3), inner, max_size=3),
        st.dictionaries(st.text("b", max_size=2), inner, max_size=2).map(MappingProxyType),
    ),
    max_leaves=8,
)


@pytest.fixture
def requests(monkeypatch):
    """The addresses to which requests went."""
    sent, handle = [], httpx.ASGITransport.handle_async_request

    async def counted(self, request):
        sent.append(request.url.raw_path)
        return await handle(self, request)

    monkeypatch.setattr(httpx.ASGITransport, "handle_async_request", counted)
    return sent


@pytest.fixture
def pair():
    direct, far = desk_world(), desk_world()
    door = AsgiDoor(far)
    yield direct, door, far
    door.close()


def sendable(tool_name, arguments):
    """Whether a call gets as far as HTTP: all but those whose arguments are beyond every limit."""
    try:
        check_value(arguments)
    except ToolError:
        return tool_name not in TOOLS
    return True


def shown(outcome):
    """An outcome whose value is told by its text: 33 and 33.00 are the same."""
    return outcome._replace(value=canonical(outcome.value))


def test_one_script_through_both_doors(pair, requests):
    direct, door, far = pair
    for tool_name, arguments, dispatch in SCRIPT:
        expected, before = direct.call(tool_name, arguments, dispatch), len(requests)
        assert shown(door.call(tool_name, arguments, dispatch)) == shown(expected), tool_name
        assert len(requests) - before == sendable(tool_name, arguments), tool_name
    assert len(requests) == len(SCRIPT) - 2
    assert {entry.service for entry in direct.ledger} == {"crm", "helpdesk", "kb", "gmail", "finance"}
    assert far.ledger.hash == direct.ledger.hash
    assert far.fingerprint() == direct.fingerprint()
    assert canonical([change.after for change in far.diff()]) == canonical([change.after for change in direct.diff()])


def test_the_script_meets_every_kind_of_answer(pair):
    direct, *_ = pair
    outcomes = [direct.call(*step) for step in SCRIPT]
    assert {one.status for one in outcomes} == {200, 404, 409, 422}
    assert sum(one.replayed for one in outcomes) == 2
    assert any(one.status == 200 and one.value.get("type") == "not_found" for one in outcomes)


class Grim(dict[str, Any]):
    """A mapping that cannot be read."""

    def values(self):
        raise ZeroDivisionError


def test_a_mapping_that_cannot_be_read_is_refused_alike(pair, requests):
    direct, door, _ = pair
    outcome = door.call("kb_search", Grim(query="x"))
    assert outcome == direct.call("kb_search", Grim(query="x"))
    assert (outcome.status, requests) == (422, [])


@pytest.mark.parametrize("value", UNSENDABLE, ids=lambda value: f"{type(value).__name__}")
def test_what_cannot_travel_is_refused_alike_and_does_not_go_around(pair, requests, monkeypatch, value):
    direct, door, far = pair
    expected = direct.call("kb_search", {"query": value})
    monkeypatch.setattr(far, "call", None)
    assert door.call("kb_search", {"query": value}) == expected
    assert expected.status == 422
    assert (len(far.ledger), requests) == (0, [])


@pytest.mark.parametrize("dispatch", ["\ud800", "a\0b", "d" * 300_000], ids=lambda dispatch: ascii(dispatch[:9]))
def test_a_dispatch_id_that_cannot_be_kept_is_refused_alike(pair, requests, dispatch):
    direct, door, _ = pair
    assert door.call("crm_list_customers", {}, dispatch) == direct.call("crm_list_customers", {}, dispatch)
    assert requests == []


@pytest.mark.parametrize("name", [
    "", "x", "_", "__", "a/b_c", "/", "..", "crm_..", "crm_%2e", "crm_?x=1#y", "crm_\udfff", "x" * 100_000, "证" * 70_000,
], ids=lambda name: ascii(name[:9]))
@pytest.mark.parametrize("value", [1, float("nan")])
def test_an_unknown_tool_is_answered_over_http_whatever_its_name(pair, requests, name, value):
    direct, door, _ = pair
    outcome = door.call(name, {"query": value})
    assert outcome == direct.call(name, {"query": value})
    assert (outcome.status, len(requests)) == (404, 1)


class Echo(Service):
    """Says what came."""

    name = "echo"

    @tool(Effect.READ)
    def über(self, value: Any) -> str:
        """Say what came, types included."""
        return repr(value)

    @tool(Effect.READ)
    def count(self, number: int) -> str:
        """Say what came."""
        return repr(number)


@settings(max_examples=150)
@given(value=VALUES)
def test_what_can_travel_arrives_as_it_would_directly(value):
    direct, far = World.open([Echo]), World.open([Echo])
    door = AsgiDoor(far)
    try:
        for name, argument in (("echo_über", "value"), ("echo_count", "number")):
            assert door.call(name, {argument: value}) == direct.call(name, {argument: value})
        assert len(direct.ledger) >= 1 and far.ledger.hash == direct.ledger.hash
    finally:
        door.close()


def test_money_goes_over_http(pair, requests):
    direct, door, far = pair
    report = {"title": "t", "transactions": ("TX-1", "TX-2"), "total_amount": 33.1}
    assert door.call("finance_submit_report", report) == direct.call("finance_submit_report", report)
    assert requests == [f"/episodes/{door._token}/finance/submit_report".encode()]
    assert far.ledger[0].audit == "submitted_reports" and far.ledger.hash == direct.ledger.hash


@pytest.mark.parametrize("seed", range(3))
def test_random_actions_through_both_doors(pair, seed):
    direct, door, far = pair
    space = ActionSpace(TOOLS.values(), seed=seed)
    for number in range(60):
        for one in space.sample().tool_calls:
            arguments = decode(encode(one.decoded()))
            expected = direct.call(one.name, arguments, f"call_{number % 40}")
            assert shown(door.call(one.name, arguments, f"call_{number % 40}")) == shown(expected)
    assert far.ledger.hash == direct.ledger.hash
    assert far.fingerprint() == direct.fingerprint()


class Broken(Service):
    """A service with defects."""

    name = "broken"

    @tool(Effect.WRITE)
    def fail(self, text: str) -> None:
        """Fail."""
        raise ZeroDivisionError(text)

    @tool(Effect.READ)
    def refuse(self, kind: str) -> None:
        """Refuse."""
        raise ToolError("Grüße", ErrorKind(kind))


def test_a_fault_is_raised_with_its_blame():
    door = AsgiDoor(World.open([Broken]))
    with pytest.raises(Fault) as caught:
        door.call("broken_fail", {"text": "Zürich 🙂"})
    assert caught.value.record.blame is Blame.ENVIRONMENT
    assert caught.value.record.where == "broken_fail"
    assert caught.value.record.message == "ZeroDivisionError: Zürich 🙂"
    door.close()


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_refusal_has_its_status(kind):
    world = World.open([Broken])
    door = AsgiDoor(world)
    outcome = door.call("broken_refuse", {"kind": kind.value})
    assert outcome == (kind.status, f'{{"error":"Grüße","type":"{kind}"}}', {"error": "Grüße", "type": kind.value}, 1, False)
    door.close()


@pytest.mark.asyncio
async def test_it_works_inside_a_running_event_loop(pair):
    direct, door, _ = pair
    assert door.call("crm_list_customers", {}).text == direct.call("crm_list_customers", {}).text


def test_many_threads_take_turns(pair):
    _, door, far = pair
    with ThreadPoolExecutor(16) as pool:
        calls = [pool.submit(door.call, "crm_export_report", {"title": str(at), "customer_ids": ["C-1"], "summary": "s"}) for at in range(50)]
        ids = {one.result().value["report"]["report_id"] for one in calls}
    assert len(ids) == 50
    assert len(far.rows("crm.reports")) == 50
    assert sorted(one.result().sequence for one in calls) == [*range(1, 51)]


def test_closing_ends_the_thread_and_a_later_call_starts_another():
    before = active_count()
    door = AsgiDoor(desk_world())
    assert active_count() == before
    door.call("crm_list_customers", {})
    assert "cowork-asgi-door" in {one.name for one in threads()}
    door.close()
    door.close()
    assert active_count() == before
    assert door.call("crm_list_customers", {}).sequence == 2
    del door
    assert active_count() == before


def test_worlds_with_the_same_services_share_an_application():
    worlds = [desk_world() for _ in range(6)]
    doors = [AsgiDoor(world) for world in worlds]
    other = AsgiDoor(World.open([Broken]))
    assert len({id(door._transport.app) for door in doors}) == 1 and other._transport.app is not doors[0]._transport.app

    def play(at):
        for number in range(5):
            doors[at].call("crm_export_report", {"title": f"{at}.{number}", "customer_ids": ["C-1"], "summary": "s"})

    with ThreadPoolExecutor(6) as pool:
        [*pool.map(play, range(6))]
    for at, world in enumerate(worlds):
        assert {row["title"] for row in world.rows("crm.reports").values()} == {f"{at}.{number}" for number in range(5)}
    for door in doors:
        door.close()


def test_a_world_without_a_door_is_not_kept():
    world = desk_world()
    door, kept = AsgiDoor(world), weakref.ref(world)
    door.call("crm_list_customers", {})
    door.close()
    del door, world
    gc.collect()
    assert kept() is None


def test_doors_by_name():
    world = desk_world()
    assert open_door("direct", world) is world
    assert isinstance(open_door("asgi", world), AsgiDoor)
    with pytest.raises(UserError, match="unknown door 'agsi', did you mean 'asgi'"):
        open_door("agsi", world)


@pytest.mark.parametrize("package", ["fastapi", "httpx"])
def test_a_missing_extra_is_named(monkeypatch, package):
    from cowork_gym.mock_services import kit

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "cowork_gym.mock_services.kit.http", raising=False)
    monkeypatch.delattr(kit, "http", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'cowork-gym\[http\]'"):
        AsgiDoor(desk_world())


def test_environments_behind_both_doors_agree():
    actions = [
        call("helpdesk_list_tickets"), '{"name": "kb_search", "arguments": {"query": "x", "max_results": 2.0}}', "junk",
        call("crm_get_customer", customer_id="\ud800"), {"tool_calls": [{"name": "finance_list_transactions", "arguments": '{"min_amount": 1.0}'}]},
        final("done"),
    ]
    ends = []
    for kind in ("direct", "asgi"):
        env = CoworkEnv(desk_task(), door=kind)
        seen = [env.reset(seed=5)[0]]
        for action in actions:
            seen.append(env.step(action)[0])
        ends.append((seen, env.world.ledger.hash, env.world.fingerprint(), env.progress))
        env.close()
    assert ends[0] == ends[1]
