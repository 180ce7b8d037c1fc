"""The README's examples, run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import cowork_gym
from cowork_gym.testing import check_task

ROOT = Path(cowork_gym.__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def _run(code: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _lay_out(folder: Path) -> None:
    """Write every block that begins with a file's name."""
    for _, text in BLOCKS:
        if named := re.match(r"# (\S+\.(?:py|yaml))\n", text):
            path = folder / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def test_first_example_earns_the_full_reward(tmp_path: Path) -> None:
    (code,) = [text for language, text in BLOCKS if language == "python" and "gym.make" in text and not text.startswith("# ")]
    printed = _run(code, tmp_path)
    assert "CheckResult" in printed
    assert printed.splitlines()[-1].startswith("1.0 ")


def test_own_task_plays_after_import(tmp_path: Path) -> None:
    _lay_out(tmp_path)
    play = """
import gymnasium as gym, rooms
env = gym.make("acme/Rooms-v0")
env.reset(seed=0)
for action in rooms.cowork_gym.reference("acme/Rooms-v0"):
    *_, info = env.step(action)
print(info["grade"].reward)
"""
    assert _run(play, tmp_path).strip() == "1.0"
    report = _run("import rooms; from cowork_gym.testing import check_task; print(check_task('acme/Rooms-v0').passed)", tmp_path)
    assert report.strip() == "True"
    assert callable(check_task)


def test_example_is_short() -> None:
    service = next(text for _, text in BLOCKS if text.startswith("# rooms.py"))
    assert len(service.splitlines()) <= 40
