"""Records of tasks of several days: a part that was closed elsewhere than turns and ledger say is no record."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_stages import FILES, FIRST, SECOND

from cowork_gym.core.episode import Episode, StageEnd
from cowork_gym.core.errors import PackageError
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import grade_episode


@pytest.fixture
def env(tmp_path: Path) -> CoworkEnv:
    for name, text in FILES.items():
        path = tmp_path / "Two_days" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    env = CoworkEnv(tmp_path / "Two_days")
    env.reset(seed=0)
    for action in (*FIRST, *SECOND):
        env.step(action)
    return env


def _with(episode: Episode, *stages: StageEnd) -> Episode:
    return replace(episode, stages=stages, grade=None)


@pytest.mark.parametrize("fields", [
    {"turns": 0}, {"turns": -1}, {"turns": 1}, {"turns": 3}, {"turns": 99}, {"entries": -1}, {"entries": 0}, {"entries": 5}, {"entries": 99},
    {"answer": "Ticket: T-9"}, {"answer": None},
])
def test_a_part_that_was_closed_elsewhere_is_refused(env: CoworkEnv, tmp_path: Path, fields: dict[str, Any]) -> None:
    episode = env.episode()
    written = write_episode(_with(episode, replace(episode.stages[0], **fields)), tmp_path)
    with pytest.raises(PackageError, match="not an episode file of version 1: a part is closed"):
        read_episode(written)


def test_a_part_is_closed_once(env: CoworkEnv, tmp_path: Path) -> None:
    (stage,) = env.episode().stages
    written = write_episode(_with(env.episode(), stage, stage), tmp_path)
    with pytest.raises(PackageError, match="before the part that it follows"):
        read_episode(written)


def test_an_episode_of_other_parts_has_no_reward(env: CoworkEnv) -> None:
    episode = env.episode()
    for stages in ((), episode.stages * 2):
        grade = grade_episode(env.task, env.blueprint, _with(episode, *stages))
        assert grade.reward is None and grade.fault is not None and grade.fault.where == "parts"
