"""The random test: 10,000 steps by default, 30,000 more when asked for."""

import pytest
from state_walk import Walk


@pytest.mark.parametrize("seed", range(1, 6))
def test_worlds_do_what_plain_dicts_do(seed):
    walk = Walk(seed)
    walk.run(2000)
    assert min(walk.counts.values()) > 0 and len(walk.prints) > 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(11, 14))
def test_worlds_do_what_plain_dicts_do_for_long(seed):
    walk = Walk(seed)
    walk.run(10_000)
    assert min(walk.counts.values()) > 0
