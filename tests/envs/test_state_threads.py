"""Threads: the calls of one world take turns, worlds do not know each other, a handler does not re-enter its own."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from state_service import Account, Lab

from cowork_gym.core.errors import Fault
from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Effect, Service, tool

THREADS, CALLS = 8, 100
FIXTURES = {"lab": {"accounts": [{"account_id": n} for n in range(THREADS)]}}


def work(world, thread):
    """Calls of one thread, with everything else that a world can do in between."""
    step = {"do": "bulk", "table": "accounts", "by": 1, "below": 2**40}
    for n in range(CALLS):
        assert world.call("lab_run", {"steps": [step]}, f"{thread}:{n}").status == 200
        if n % 10 == 0:
            world.fingerprint()
            assert len(world.diff()) == THREADS
        if n % 20 == 0:
            [fork] = world.fork()
            fork.call("lab_run", {"steps": [step]})
            fork.close()


def test_eight_threads_on_one_world():
    world = World.open([Lab], FIXTURES)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, [world] * THREADS, range(THREADS)))
    assert len(world.ledger) == THREADS * CALLS and world.ledger.verify()
    assert {row["minor"] for row in world.rows("lab.accounts").values()} == {THREADS * CALLS}
    assert len({entry.dispatch for entry in world.ledger}) == THREADS * CALLS


def test_eight_threads_on_eight_worlds():
    worlds = World.open([Lab], FIXTURES).fork(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, worlds, [0] * THREADS))
    assert len({(world.ledger.hash, world.fingerprint()) for world in worlds}) == 1
    assert len(worlds[0].ledger) == CALLS


@pytest.mark.parametrize("act", ["call", "snapshot", "restore", "fork", "fingerprint", "diff"])
def test_a_handler_may_not_use_its_own_world(act):
    class Nosy(Service):
        name = "nosy"
        tables = (Account,)

        @tool(Effect.WRITE)
        def act(self) -> str:
            """Turn to the world from inside a call."""
            self.store.insert(Account, account_id=1)
            arguments = {"call": ("nosy_act", {}), "restore": (start,)}.get(act, ())
            getattr(world, act)(*arguments)
            return "done"

    world = World.open([Nosy])
    start = world.snapshot()
    before = world.fingerprint()
    with pytest.raises(Fault, match="may not call its own world"):
        world.call("nosy_act", {})
    assert world.fingerprint() == before and len(world.ledger) == 0
