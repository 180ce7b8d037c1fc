"""What is given to options: nonsense that their types alone would let through is told in one line, and leaves nothing behind."""

import subprocess
import sys

import pytest

from cowork_gym.cli.main import main
from cowork_gym.harness.rollout import Plan

ROLLOUT = ("rollout", "M1003", "--agent", "noop")
RUN = ("run", "M1003", "--agent", "noop")


def _refused(capsys, *words):
    assert main([*map(str, words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("cowork: ")


@pytest.fixture
def episode(tmp_path, capsys):
    assert main([*RUN, "--out", str(tmp_path / "record")]) == 0
    capsys.readouterr()
    (file,) = (tmp_path / "record").iterdir()
    return file


@pytest.mark.parametrize("words", [ROLLOUT, RUN])
@pytest.mark.parametrize("out", ["", " "])
def test_an_empty_folder_is_not_the_one_in_which_one_stands(tmp_path, monkeypatch, capsys, words, out):
    monkeypatch.chdir(tmp_path)
    assert _refused(capsys, *words, "--out", out) == "--out is empty: name a folder"
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(("more", "told"), [
    (("--out", ""), "--out is empty: name a folder"), (("--temperature", "inf"), "--temperature is a number from 0, not inf"),
    (("--temperature", "nan"), "--temperature is a number from 0, not nan"), (("--temperature=-1",), "--temperature is a number from 0, not -1"),
    (("--seed", 10**23), f"a seed is a whole number from 0 to 2^63 - 1, not {10**23}"),
    (("--n", 10**14), f"at most 100,000 continuations are played, not {10**14}"),
])
def test_branch_refuses_what_cannot_be(tmp_path, monkeypatch, capsys, episode, more, told):
    monkeypatch.chdir(tmp_path)
    assert _refused(capsys, "branch", episode, "--turn", 0, "--agent", "noop", "--out", tmp_path / "out", *more) == told
    assert not [*tmp_path.glob("*.jsonl")]


@pytest.mark.parametrize(("more", "told"), [
    (("--n", 99999999999999), "n is a whole number from 1 to 100,000, not 99999999999999"),
    (("--seeds", 10**26), "a rollout has at most 100,000 seeds"), (("--temperature", "inf"), "--temperature is a number from 0, not inf"),
    (("--n", 2000, "--seeds", 2000), "a rollout has at most 1,000,000 episodes: 1 x 2000 x 2000 are 4,000,000"),
    (("--seed", 10**23), f"a seed in seeds is a whole number from 0 to 2^63 - 1, not {10**23}"),
    (("--suite", ""), "--suite is empty: name a suite, or leave it out"),
    (("--harness", "@"), "harness: a file's name is missing behind @: write @FILE, the file of a sampler"),
    (("--harness", f"summary:at={10**23}"), f"harness: summary: at is a whole number between -10^18 and 10^18, not '{10**23}'"),
    (("--harness", "summary:at=x"), "harness: summary: at is a whole number, not 'x'"),
    (("--harness", f"budget:turns={10**19}"), f"harness: budget: turns is a whole number between -10^18 and 10^18 or none, not '{10**19}'"),
])
def test_rollout_refuses_what_cannot_be(tmp_path, capsys, more, told):
    assert _refused(capsys, *ROLLOUT, "--out", tmp_path / "out", *more) == told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [("admit", "M1003"), ("list",), ("release", "x-1", "M1003")])
def test_an_empty_suite_is_refused_by_every_verb(capsys, words):
    assert _refused(capsys, *words, "--suite", "") == "--suite is empty: name a suite, or leave it out"


def test_a_plan_counts_its_slots_without_making_them():
    plan = Plan({"a": "a@1", "b": "b@1"}, (0, 5, 7), 4, "noop")
    assert plan.size == len(plan.slots) == 24


_FEW = """
import sys, threading
from cowork_gym.cli.main import main
start, begun = threading.Thread.start, []
def few(self):
    if self.name.startswith("rollout-"):
        begun.append(self)
        if len(begun) > 3:
            raise RuntimeError("can't start new thread")
    start(self)
threading.Thread.start = few
sys.exit(main(sys.argv[1:]))
"""


def test_threads_that_the_system_refuses_are_told_before_anything_is_played(tmp_path):
    words = [*ROLLOUT, "--n", "9", "--concurrency", "9", "--out", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", _FEW, *words], capture_output=True, text=True, timeout=60, check=False)
    told = "cowork: concurrency 9 is too much: the system gives this process 3 threads more; choose less\n"
    assert (done.returncode, done.stderr) == (2, told)
    assert not (tmp_path / "out").exists()
