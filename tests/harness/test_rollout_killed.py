"""A rollout whose process is killed: resuming gives every episode once, whole, and the same as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cowork_gym.core.ledger import AGENT
from cowork_gym.core.record import read_episode
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.rollout import Plan, Settings, rollout


def _command(out: Path, n: int, *more: str) -> list[str]:
    tasks = ["M1003", "M1100", "M133", "M1301"]
    return [
        sys.executable, "-m", "cowork_gym.cli.main", "rollout", *tasks, "--agent", "reference", "--n", str(n), "--seeds", "5", "--concurrency", "4",
        "--harness", "react", "--out", str(out), "--json", *more,
    ]


def _kill_and_resume(tmp_path: Path, n: int, kills: int) -> None:
    out, chance = tmp_path / "run", random.Random(11)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    hit = 0
    for attempt in range(kills):
        resume = ["--resume"] if (out / "rollout.json").exists() else []
        process = subprocess.Popen(_command(out, n, *resume), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        if attempt % 2:  # in mid-run: as soon as some more episodes stand there
            have = len([*(out / "episodes").glob("*.jsonl")]) if out.exists() else 0
            until = time.monotonic() + 30
            while process.poll() is None and time.monotonic() < until and len([*(out / "episodes").glob("*.jsonl")]) <= have:
                time.sleep(0.002)  # noqa: TID251 - it waits for another process
        time.sleep(chance.uniform(0, 0.25))  # noqa: TID251 - it waits for another process
        hit += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert hit > kills // 2
    resume = ["--resume"] if (out / "rollout.json").exists() else []
    done = subprocess.run(_command(out, n, *resume), capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    planned = 4 * 5 * n
    assert {name: told[name] for name in ("planned", "sealed", "quarantined", "duplicates")} == {
        "planned": planned, "sealed": planned, "quarantined": 0, "duplicates": 0,
    }
    files = sorted((out / "episodes").iterdir())
    assert len(files) == planned
    for file in files:  # each verifies its seal; its ledger, its dispatches and its rows were held against each other when it was graded
        episode = read_episode(file)
        assert episode.grade is not None
        assert episode.grade.reward == 1.0
        own = [one.sequence for one in episode.ledger.entries if one.actor == AGENT]
        assert [one.sequence for one in episode.dispatches] == own
    assert not [*(out / "quarantine").iterdir()]
    _same_as_undisturbed(tmp_path / "whole", files, n)


def _same_as_undisturbed(out: Path, files: list[Path], n: int) -> None:
    from cowork_gym.envs.registration import load_task

    tasks = [load_task(one) for one in ("M1003", "M1100", "M133", "M1301")]
    plan = Plan.of(tasks, seeds=range(5), n=n, agent="reference")
    rollout(tasks, lambda form: make_agent("reference", form), plan=plan, settings=Settings(concurrency=2), out=out)
    assert {file.name: file.read_bytes() for file in sorted((out / "episodes").iterdir())} == {file.name: file.read_bytes() for file in files}


def test_a_killed_rollout_loses_nothing(tmp_path):
    _kill_and_resume(tmp_path, n=3, kills=5)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_rollout_that_is_killed_thirty_times_loses_nothing(tmp_path):
    _kill_and_resume(tmp_path, n=10, kills=30)
