"""The same seed and actions give the same ledger, fingerprint and grade: in any process, after whatever else was played there."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from cowork_gym.core.canonical import digest
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import make_agent, play

for name in sys.argv[1:]:
    env = CoworkEnv(name)
    for agent in ("reference", "random", "spray", "read-everything"):
        for seed in (0, 7):
            episode = play(env, make_agent(agent, env.task), seed=seed)
            print(name, agent, seed, episode.ledger.hash, episode.end, digest(episode.grade.to_dict()), len(episode.turns))
"""


def _lines(hash_seed: str, *names: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Asia/Tokyo" if hash_seed == "2" else "UTC"}
    done = subprocess.run([sys.executable, "-c", PROGRAM, *names], env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return sorted({*done.stdout.splitlines()})


@pytest.fixture(scope="module")
def here() -> list[str]:
    return _lines("1", "M1003", "M1100", "M133")


def test_another_process_with_another_hash_seed_and_time_zone_agrees(here: list[str]) -> None:
    assert len(here) == 3 * 4 * 2
    assert _lines("2", "M133", "M1003", "M1100") == here


def test_what_was_played_before_does_not_matter(here: list[str]) -> None:
    assert _lines("3", "M1100", "M133", "M1100") == [one for one in here if not one.startswith("M1003")]
