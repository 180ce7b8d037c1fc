"""Environments of one task in several threads: each plays on its own, and all read the same first state."""

from concurrent.futures import ThreadPoolExecutor

import cowork_gym
from cowork_gym.envs.env import CoworkEnv


def _play(_: int) -> tuple[float | None, str]:
    env = CoworkEnv("M1100")
    env.reset(seed=0)
    for action in cowork_gym.reference("M1100"):
        env.step(action)
    grade = env.episode().grade
    env.close()
    assert grade is not None
    return grade.reward, "" if grade.fault is None else grade.fault.message


def test_eight_threads_play_one_task() -> None:
    with ThreadPoolExecutor(8) as threads:
        assert {*threads.map(_play, range(80))} == {(1.0, "")}
