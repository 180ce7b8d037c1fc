"""The directory of a rollout: what of it is taken for a slot's good episode, and what a killed process left in it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cowork_gym.core.episode import Episode
from cowork_gym.core.record import seal, write_episode
from cowork_gym.envs.registration import load_task
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.rollout import Plan, RunFolder, rollout

TASK = load_task("M1003")


def _folder(path: Path, *seeds: int) -> RunFolder:
    return RunFolder(path, Plan.of([TASK], seeds=seeds, n=1, agent="reference"), resume=True)


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return [*rollout([TASK], lambda form: make_agent("reference", form), seeds=(0, 5)).episodes]


def _without_policy_seed(episode: Episode) -> Episode:
    """As an older record has it, in which only the world's seed tells the form."""
    older = replace(episode, policy=replace(episode.policy, seed=None))
    return older.with_grade(replace(episode.grade, seal=seal(older)))


@pytest.mark.parametrize("how", [_without_policy_seed, lambda episode: episode])
def test_an_episode_of_another_form_is_not_taken_for_good(tmp_path: Path, episodes: list[Episode], how: Callable[[Episode], Episode]) -> None:
    folder, episodes = _folder(tmp_path, 0, 5), [how(one) for one in episodes]
    zero, five = Plan.of([TASK], seeds=(0, 5), n=1, agent="reference").slots
    with folder.locked():
        for slot, episode in ((zero, episodes[1]), (five, episodes[0])):
            assert folder.sealed(slot) is None
            write_episode(episode, tmp_path / "episodes", stem=slot.name)
            assert folder.sealed(slot) is None
        for slot, episode in zip((zero, five), episodes, strict=True):
            write_episode(episode, tmp_path / "episodes", stem=slot.name)
            assert folder.sealed(slot) == episode


def test_half_written_files_go_when_the_next_process_begins(tmp_path: Path, episodes: list[Episode]) -> None:
    folder = _folder(tmp_path, 0)
    (slot,) = Plan.of([TASK], seeds=(0,), n=1, agent="reference").slots
    with folder.locked():
        whole = folder.keep(slot, episodes[0])
    strays = [tmp_path / part / f"{slot.name}.jsonl.{number}.tmp" for part in ("episodes", "quarantine") for number in (1, 2)]
    for stray in strays:
        stray.write_bytes(whole.read_bytes()[:100])
    with _folder(tmp_path, 0).locked():
        assert not any(stray.exists() for stray in strays)
        assert folder.sealed(slot) == episodes[0] and folder.duplicates() == 0
