"""Ctrl-C, full disks and files in the way: one line, an exit code, and nothing half written."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from cowork_gym.core.messages import final
from cowork_gym.envs.registration import load_task
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.rollout import Plan, RunFolder, Settings, rollout, stream

_CLI = [sys.executable, "-m", "cowork_gym.cli.main", "rollout"]
_LIMITED = """
import resource, sys
from cowork_gym.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
sys.exit(main(sys.argv[1:]))
"""
TASK = load_task("M1003")


def _run(command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("more", [(), ("--json",), ("--official",)])
def test_one_interrupt_ends_a_rollout_whose_server_hangs(tmp_path, more):
    pytest.importorskip("openai")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        agent, out = f"openai:m@http://127.0.0.1:{server.getsockname()[1]}/v1", tmp_path / "run"
        command = [*_CLI, "M1003", "M133", "--agent", agent, "--n", "2", "--concurrency", "3", "--out", str(out), *more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        hanging = [server.accept()[0] for _ in range(3)]
        begun = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        told, complained = process.communicate(timeout=30)
        took = time.monotonic() - begun
        for one in hanging:
            one.close()
    assert (process.returncode, told, complained) == (130, "", "cowork: interrupted\n")
    assert took < 5
    assert not [*(out / "episodes").iterdir(), *(out / "quarantine").iterdir()]
    assert not (out / "summary.json").exists()


def test_what_was_sealed_before_an_interrupt_stays_and_the_rest_is_played(tmp_path):
    out = tmp_path / "run"
    command = [*_CLI, "M1003", "--agent", "reference", "--n", "120", "--concurrency", "2", "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until = time.monotonic() + 60
    while len([*(out / "episodes").glob("*.jsonl")]) < 3 and time.monotonic() < until:
        time.sleep(0.005)  # noqa: TID251 - it waits for another process
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30)[1] == "cowork: interrupted\n"
    assert process.returncode == 130
    assert 3 <= len([*(out / "episodes").iterdir()]) < 120
    assert not [*out.rglob("*.tmp"), *(out / "quarantine").iterdir()]
    again = _run([*command, "--resume"])
    assert (again.returncode, again.stderr) == (0, "")
    assert "120 of 120 episodes sealed, 0 quarantined" in again.stdout


def test_whoever_stops_listening_gets_nothing_more_written(tmp_path):
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    class Slow(ScriptedPolicy):
        def act(self, history):
            begun.set()
            go_on.wait(30)
            ended.set()
            return super().act(history)

    made = []
    plan = Plan.of([TASK], seeds=(0,), n=3, agent="a")

    def make(form):
        made.append(form.id)
        return make_agent("reference", form) if len(made) == 1 else Slow("slow", [final("x")])

    episodes = stream([TASK], make, plan, Settings(concurrency=2), RunFolder(tmp_path, plan, resume=False))
    assert next(episodes).slot.trial == 0
    assert begun.wait(30)
    episodes.close()
    go_on.set()
    assert ended.wait(30)
    assert rollout([TASK], lambda form: make_agent("reference", form), plan=plan, out=tmp_path, resume=True).sealed == 3
    assert not [*(tmp_path / "quarantine").iterdir()]


def test_a_full_disk_is_told_with_the_file(tmp_path):
    done = _run([sys.executable, "-c", _LIMITED, "rollout", "M1003", "--agent", "reference", "--out", tmp_path / "run"])
    assert done.returncode == 2
    assert done.stderr == f"cowork: {tmp_path}/run/episodes/{TASK.id}-s0-t0.jsonl: File too large\n"
    assert [file.name for file in sorted((tmp_path / "run").rglob("*")) if file.is_file()] == ["rollout.json", "rollout.lock"]


@pytest.mark.parametrize("name", ["summary.json", f"episodes/{TASK.id}-s0-t0.jsonl"])
def test_a_directory_in_the_way_is_told_with_the_files_own_name(tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    done = _run([*_CLI, "M1003", "--agent", "reference", "--out", tmp_path])
    assert (done.returncode, done.stderr) == (2, f"cowork: {tmp_path}/{name}: Is a directory\n")
    assert not [*tmp_path.rglob("*.tmp")]
