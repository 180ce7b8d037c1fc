"""What must hold of every world: forks are apart, restores exact, and equal seeds and actions give equal hashes anywhere."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from state_model import Draft, State
from state_service import Account, Lab
from state_steps import make_step

from cowork_gym.core.errors import Fault, UserError
from cowork_gym.core.ids import generator
from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Effect, Service, tool

FIXTURES = {"lab": {"articles": [{"article_id": "A-1", "title": "alpha"}], "accounts": [{"account_id": 1, "owner": "ann"}]}}
SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import test_state_world as other
other.play(5, 3)
print(*other.play({seed}, 40))
"""


def rename(world, title):
    return world.call("lab_run", {"steps": [{"do": "update", "table": "articles", "key": "A-1", "values": {"title": title}}]})


def play(seed, calls):
    """The ledger's hash, the fingerprint and the ids after some calls."""
    world, state, rng = World.open([Lab], seed=seed), State(seed=seed), generator(seed, "play")
    for _ in range(calls):
        draft = Draft(state)
        step = make_step(rng, draft, last=True)
        draft.apply(step)
        assert world.call("lab_run", {"steps": [step]}).status == 200
        state = draft.state
    world.write_file("notes.txt", b"done")
    return world.ledger.hash, world.fingerprint(), *sorted(world.rows("lab.mails"))


def test_forks_diverge_without_touching_each_other_or_the_parent():
    parent = World.open([Lab], FIXTURES, {"a.txt": b"a"})
    rename(parent, "parent")
    before, ledger = parent.fingerprint(), parent.ledger
    left, right = parent.fork(2)
    rename(left, "left")
    right.write_file("a.txt", b"b")
    assert len({parent.fingerprint(), left.fingerprint(), right.fingerprint()}) == 3
    assert (parent.fingerprint(), parent.ledger, right.ledger) == (before, ledger, ledger)
    assert [world.rows("lab.articles")["A-1"]["title"] for world in (parent, left, right)] == ["parent", "left", "parent"]
    assert [world.read_file("a.txt") for world in (parent, left, right)] == [b"a", b"a", b"b"]
    rename(parent, "later")
    assert left.rows("lab.articles")["A-1"]["title"] == "left"
    assert len(left.ledger) == len(parent.ledger) == 2 and left.ledger[0] == parent.ledger[0] and left.ledger != parent.ledger


def test_a_restore_gives_back_fingerprint_ledger_time_and_ids():
    world = World.open([Lab], FIXTURES, seed=3)
    new = {"steps": [{"do": "new", "prefix": "K", "values": {"subject": "s"}}]}
    world.call("lab_run", new)
    here, then, now, ledger = world.snapshot(), world.fingerprint(), world.now, world.ledger
    first = world.call("lab_run", new, "mine")
    rename(world, "gamma")
    world.restore(here)
    assert (world.fingerprint(), world.now, world.ledger.hash) == (then, now, ledger.hash)
    again = world.call("lab_run", new, "mine")
    assert again.value == first.value and not again.replayed and again.sequence == first.sequence


def test_reading_changes_no_fingerprint_and_marking_as_read_does():
    world = World.open([Lab], {"lab": {"mails": [{"mail_id": "m", "from": "a@x"}]}})
    before = world.fingerprint()
    world.call("lab_find", {"table": "mails", "equal": {}})
    world.call("lab_read", {"table": "mails", "key": "m"})
    assert world.fingerprint() == before and len(world.ledger) == 2
    world.call("lab_open_mail", {"mail_id": "m"})
    assert [(change.table, change.fields()) for change in world.diff()] == [("lab.mails", {"is_read"})]
    assert world.blueprint.marks == {("lab.mails", "is_read")}


def test_a_snapshot_that_nothing_followed_is_the_same_object():
    world = World.open([Lab], FIXTURES)
    first = world.snapshot()
    world.fingerprint()
    assert world.snapshot() is first is world.blueprint.start
    world.call("lab_find", {"table": "mails", "equal": {}})
    second = world.snapshot()
    assert second is not first and second.image is first.image
    assert world.snapshot() is second


def test_a_repeated_dispatch_executes_nothing():
    world = World.open([Lab], FIXTURES)
    new = {"steps": [{"do": "new", "prefix": "K", "values": {}}]}
    first = world.call("lab_run", new, "d")
    again = world.call("lab_run", new, "d")
    assert again.replayed and again[:4] == first[:4]
    assert (len(world.ledger), len(world.rows("lab.mails"))) == (1, 1)
    assert world.call("lab_run", {"steps": []}, "d").status == 409


def test_equal_rows_have_equal_fingerprints_whatever_their_spelling():
    worlds = [World.open([Lab], {"lab": {"accounts": [{"account_id": 1, "balance": one, "note": {"a": one, "b": 2}}]}}) for one in (33, 33.0)]
    assert worlds[0].fingerprint() == worlds[1].fingerprint()
    assert len({World.open([Lab], {"lab": {"accounts": [{"account_id": 1, "balance": one}]}}).fingerprint() for one in (33, 33.5, "33", 34)}) == 3


def test_what_a_test_asks_wrongly_is_told():
    world = World.open([Lab], FIXTURES)
    with pytest.raises(KeyError, match=r"did you mean 'lab\.articles'"):
        world.rows("lab.article")


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_equal_seed_and_actions_give_equal_hashes_in_another_process(hash_seed):
    code = SCRIPT.format(folder=str(Path(__file__).parent), seed=7)
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": root}
    there = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert tuple(there.stdout.split()) == play(7, 40)
    assert play(8, 40)[1] != play(7, 40)[1]


@pytest.mark.parametrize("bad", [{"a": object()}, {"a": float("nan")}, {"a": "\ud800"}, {1j: 1}])
@pytest.mark.parametrize("where", ["result", "record"])
def test_what_cannot_be_recorded_is_not_done(where, bad):
    class Odd(Service):
        name = "odd"
        tables = (Account,)

        @tool(Effect.WRITE, audit="odd")
        def write(self) -> dict[str, Any]:
            """Write, and answer with what is no JSON."""
            self.store.insert(Account, account_id=1)
            self.audit(bad if where == "record" else {})
            return bad if where == "result" else {}

    world = World.open([Odd])
    before = world.fingerprint()
    with pytest.raises(Fault):
        world.call("odd_write", {})
    assert (world.fingerprint(), len(world.ledger)) == (before, 0)


def test_a_fork_has_its_parents_seed_and_a_snapshot_brings_its_own():
    parent = World.open([Lab], FIXTURES, seed=3)
    new = {"steps": [{"do": "new", "prefix": "K", "values": {}}]}
    here = parent.snapshot()
    [fork] = parent.fork()
    other = World(parent.blueprint, seed=4)
    assert parent.call("lab_run", new).value == fork.call("lab_run", new).value != other.call("lab_run", new).value
    other.restore(here)
    assert other.call("lab_run", new).value == fork.ledger[0].outcome


def test_a_snapshot_of_another_blueprint_is_refused():
    world, other = World.open([Lab], FIXTURES), World.open([Lab])
    rename(world, "beta")
    before = world.fingerprint()
    with pytest.raises(UserError):
        world.restore(other.snapshot())
    with pytest.raises(UserError):
        World(other.blueprint, snapshot=world.snapshot())
    assert world.fingerprint() == before and len(world.ledger) == 1


def test_a_closed_world_goes_on_from_where_it_was():
    world = World.open([Lab], FIXTURES)
    rename(world, "beta")
    before = world.fingerprint()
    world.close()
    world.close()
    assert (world.fingerprint(), len(world.ledger)) == (before, 1)
