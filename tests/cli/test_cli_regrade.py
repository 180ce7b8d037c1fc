"""`cowork regrade`: a directory with a file that is none of ours is graded all the same, and the exit code says so."""

import json
from pathlib import Path

import pytest

from cowork_gym.cli.main import main


@pytest.fixture
def episodes(tmp_path: Path) -> Path:
    assert main(["run", "M1003", "--agent", "reference", "--out", str(tmp_path / "episodes")]) == 0
    return tmp_path / "episodes"


def test_a_directory_is_graded_and_what_is_no_episode_is_told(episodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regrade", str(episodes)]) == 0
    assert "1, as before" in capsys.readouterr().out
    (episodes / "a.jsonl").write_text("{}\n")
    assert main(["regrade", str(episodes), "--json", "--reward", "claw-v1"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["appended"] == 1
    assert "a.jsonl: line 1: not an episode file" in shown.err


def test_one_file_that_is_no_episode_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regrade", str(tmp_path)]) == 2
    assert main(["regrade", str(tmp_path / "none.jsonl")]) == 2
    assert main(["regrade", str(tmp_path), "--reward", "claw"]) == 2
    assert capsys.readouterr().err.count("cowork: ") == 3
