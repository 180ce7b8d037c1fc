"""Replay of tasks of several parts: how things stood when a part was closed is held against the record as well."""

from dataclasses import replace

import pytest
from recorded import recorded

from cowork_gym.core.canonical import canonical
from cowork_gym.core.snapshot import Change
from cowork_gym.harness.mismatch import Mismatch
from cowork_gym.harness.replay import replay


def _closed_in(*changes: Change) -> None:
    episode = recorded("M1301")
    first, *rest = episode.stages
    with replay(replace(episode, stages=(replace(first, changes=changes), *rest))):
        pass


def test_a_part_that_was_closed_in_another_state_is_told() -> None:
    first = recorded("M1301").stages[0].changes
    changed = next(one for one in first if one.after is not None)
    other = replace(changed, after={**changed.after, "of_nobody": 1})
    for changes in ((), first[1:], (*(other if one is changed else one for one in first),)):
        with pytest.raises(Mismatch, match=r"^a part of the task was closed in another state than recorded$") as caught:
            _closed_in(*changes)
        assert (caught.value.what, caught.value.turn) == ("end", None)


def test_a_part_that_was_closed_in_the_same_state_is_none() -> None:
    changes = recorded("M1301").stages[0].changes
    again = tuple(replace(one) for one in reversed(changes))
    assert canonical([one.key for one in changes]) != canonical([one.key for one in again])
    _closed_in(*again)
