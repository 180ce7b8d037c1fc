from pathlib import Path

import pytest

from cowork_gym.benchmarks.conversion import convert, link_episodes, write_episodes
from cowork_gym.trainers.data import RolloutReader

pytest.importorskip("pyarrow")


def test_what_is_measured_is_converted_whole(tmp_path: Path) -> None:
    paths = write_episodes(tmp_path / "distinct", 8)
    link_episodes(paths, tmp_path / "linked", 20)
    found = convert(tmp_path / "linked")
    rollouts = list(RolloutReader([tmp_path / "linked"]))
    assert len(rollouts) == found.episodes == 20 and found.rows == sum(len(one.segments) for one in rollouts) > 20
    assert found.tokens == sum(300 * len(one.steps) for each in rollouts for one in each.segments)
    assert {one.reward < 1 for one in rollouts} == {True, False} and len({one.id for one in rollouts}) == 8
    assert found.peak >= found.before > 0 and found.seconds > 0
