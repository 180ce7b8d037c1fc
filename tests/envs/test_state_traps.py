"""Fifteen ways in which SQLite and SQLAlchemy lose writes, change values or kill the process; one test each."""

import gc
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy.exc import InvalidRequestError
from state_service import Account, Article, Lab, Mail

from cowork_gym.core.errors import Fault, PackageError
from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Effect, Service, tool

ARTICLES = [{"article_id": f"A-{n}", "title": f"alpha {n}", "body": "y" * 400} for n in range(40)]


@pytest.fixture
def world():
    made = World.open([Lab], {"lab": {"articles": ARTICLES, "accounts": [{"account_id": 1}, {"account_id": 2}]}})
    yield made
    made.close()


def run(world, *steps, end="done"):
    return world.call("lab_run", {"steps": list(steps), "end": end})


def found(world, query, limit=50):
    return world.call("lab_search", {"table": "articles", "query": query, "limit": limit}).value


def account(**values):
    return {"table": "accounts", "values": values}


def test_1_what_a_call_wrote_is_in_the_image(world):
    run(world, {"do": "insert", **account(account_id=7)}, {"do": "orm_add", "flush": False, **account(account_id=8)})
    [fork] = world.fork()
    assert set(fork.rows("lab.accounts")) == {"1", "2", "7", "8"}


def test_2_a_half_read_cursor_raises_after_a_restore(world):
    world.rows("lab.articles")
    cursor = world._database.connection.execute(f"SELECT * FROM {Article.__table__.name}")
    cursor.fetchone()
    world.restore(world.snapshot())
    world.rows("lab.articles")
    with pytest.raises(sqlite3.ProgrammingError):
        cursor.fetchall()


def test_3_search_holds_no_structure_over_a_restore(world):
    start = world.snapshot()
    for n in range(40):
        steps = [{"do": "insert", "table": "articles", "values": {"article_id": f"B-{at}", "title": "beta"}} for at in range(n % 7)]
        run(world, *steps)
        assert len(found(world, "beta")) == n % 7
        world.restore(start)
        assert found(world, "beta") == [] and len(found(world, "alpha")) == 40


def test_4_a_replaced_row_leaves_neither_hit_nor_hash(world):
    row = {"article_id": "A-3", "title": "beta", "body": None, "tags": None, "extra": None}
    before = world.fingerprint()
    run(world, {"do": "replace", "table": "articles", "values": row})
    assert "A-3" not in found(world, "alpha") and found(world, "beta") == ["A-3"]
    assert [change.key for change in world.diff()] == ["A-3"]
    run(world, {"do": "replace", "table": "articles", "values": {**row, "title": "alpha 3", "body": "y" * 400}})
    assert world.fingerprint() == before and world.diff() == ()


def test_5_a_statement_that_is_prepared_once_is_seen_each_time(world):
    prints = {world.fingerprint()}
    for n in range(3):
        run(world, {"do": "insert", **account(account_id=10 + n)})
        prints.add(world.fingerprint())
    assert len(prints) == 4


def test_6_an_undone_write_is_no_write(world):
    before, image = world.fingerprint(), world.snapshot().image
    assert run(world, {"do": "insert", **account(account_id=9)}, end="refuse").status == 409
    assert world.call("lab_read", {"table": "accounts", "key": 1}).status == 200
    assert (world.fingerprint(), world.diff()) == (before, ())
    assert World(world.blueprint, snapshot=world.snapshot()).fingerprint() == before and len(world.snapshot().image) == len(image)


def test_7_numbers_keep_every_digit(world):
    run(world, {"do": "update", "table": "articles", "key": "A-0", "values": {"tags": [2**63 - 1, Decimal("0.12345678901234567890"), 1e3]}},
        {"do": "update", "key": 1, **account(balance="12345678901234.1234567891")})
    assert world.rows("lab.articles")["A-0"]["tags"] == [2**63 - 1, Decimal("0.12345678901234567890"), 1000]
    assert world.rows("lab.accounts")["1"]["balance"] == Decimal("12345678901234.1234567891")


@pytest.mark.parametrize("undo", ["session_rollback", "failed_flush"])
def test_8_a_session_ends_with_its_savepoint_and_no_more(world, undo):
    """Its commit does not commit the call, its rollback not undo what came before it, and afterwards it refuses to work."""
    before = world.fingerprint()
    commit = [{"do": "orm_add", "flush": True, **account(account_id=5)}, {"do": "session_commit"}, {"do": "commit"}]
    assert run(world, *commit, end="refuse").status == 409
    assert world.fingerprint() == before
    added = {"do": "orm_add", "flush": True, **account(account_id=5)}
    run(world, {"do": "insert", **account(account_id=6)}, added, {"do": undo, **account(account_id=1)})
    assert set(world.rows("lab.accounts")) == {"1", "2", "6"}
    world.call("lab_keep", {})
    _, session, row, _ = Lab.kept.pop()
    with pytest.raises(InvalidRequestError, match="closed"):
        session.get(Mail, "m")
    assert row.account_id == 1


@pytest.mark.parametrize("conflict", ["OR FAIL", "OR ABORT", "OR REPLACE", "OR IGNORE"])
def test_9_a_conflict_clause_of_the_statement_does_not_reach_the_marks(world, conflict):
    for minor in (3, 4):
        step = {"do": "raw_update", "table": "accounts", "key": 1, "conflict": conflict, "values": {"minor": minor}}
        assert run(world, step, step).status == 200
    assert [change.after["minor"] for change in world.diff()] == [4]


def test_10_order_does_not_depend_on_history():
    worlds = [World.open([Lab], {"lab": {"articles": rows}}) for rows in (ARTICLES, ARTICLES[::-1])]
    first, second = ((one.fingerprint(), [*one.rows("lab.articles")], found(one, "alpha")) for one in worlds)
    assert first == second


def test_11_nothing_is_equal_to_nothing(world):
    assert len(world.call("lab_find", {"table": "accounts", "equal": {"owner": None}}).value) == 2


@pytest.mark.parametrize("end", ["with", "script", "commit"])
def test_12_a_handler_that_ends_the_transaction_is_a_fault(end):
    class Careless(Service):
        name = "careless"
        tables = (Account,)

        @tool(Effect.WRITE)
        def write(self) -> str:
            """Write, past the store."""
            self.store.insert(Account, account_id=5)
            if end == "with":
                with self.store.connection:
                    pass
            elif end == "script":
                self.store.connection.executescript("SELECT 1")
            else:
                self.store.connection.execute("COMMIT")
            return "done"

    careless = World.open([Careless])
    with pytest.raises(Fault, match="ended the transaction"):
        careless.call("careless_write", {})
    assert len(careless.ledger) == 0


def test_13_a_dropped_world_leaves_nothing(world):
    """Not even with SQLAlchemy's reference cycles and no garbage collection."""
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def one() -> sqlite3.Connection:
        [fork] = world.fork()
        fork.call("lab_read", {"table": "articles", "key": "A-1", "orm": True})
        large = {"do": "update", "table": "articles", "key": "A-1", "values": {"body": "z" * 200_000}}
        run(fork, {"do": "orm_add", "flush": True, **account(account_id=50)}, large)
        return fork._database.connection

    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            connection = one()
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
        before = resident()
        for _ in range(200):
            one()
        assert resident() - before < 200 * 50_000
    finally:
        gc.enable()


@pytest.mark.parametrize("bad", ["\ud800", "a\0b", "\udfff" * 3])
def test_14_what_is_no_text_stops_at_the_door(world, bad):
    before = world.fingerprint()
    for arguments in ({"table": "articles", "query": bad}, {"table": bad, "query": "a"}):
        outcome = world.call("lab_search", arguments)
        assert (outcome.status, outcome.sequence) == (422, None)
    assert world.call(bad, {}).status == 404 and world.call("lab_read", {"table": "articles", "key": "A-1", bad: 1}).status == 422
    assert (world.fingerprint(), len(world.ledger)) == (before, 0)


def test_15_fixtures_are_validated():
    for rows in ([{"account_id": "bogus"}], [{"account_id": 1, "minor": "bogus"}], [{"owner": "ann"}]):
        with pytest.raises(PackageError, match=r"world/lab.yaml: accounts\[0\]"):
            World.open([Lab], {"lab": {"accounts": rows}})


@pytest.mark.parametrize("query", ["", " ", '"', "*", "😀", "AND", "NEAR(a b)", "title:", "𞤀", "ⲁ", "a\u0301", "\u0301", "-", "^a", "､", "・", "{}"])
def test_no_query_is_syntax(world, query):
    assert world.call("lab_search", {"table": "articles", "query": query}).status == 200
