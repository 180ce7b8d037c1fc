"""`cowork coverage`: the same counts as a table, as JSON and as a picture."""

import json
import sys
from pathlib import Path

import pytest

from cowork_gym.cli.main import main
from cowork_gym.core.structure import Hazard
from cowork_gym.envs.registration import REGISTRY

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def suite(tmp_path: Path) -> str:
    path = tmp_path / "two.yaml"
    path.write_text("schema_version: 1\nname: two\ntitle: Two of them\ndescription: Two.\ntasks: [M1100, M133]\n")
    return str(path)


def test_the_object_has_counts_and_gaps(suite: str, capsys: Capture) -> None:
    assert main(["coverage", suite, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["suite"], told["tasks"]) == ("two", 2)
    assert {*told["axes"]["service"]} == {*REGISTRY.services()}
    assert told["axes"]["hazard"]["spoof"] == 1
    assert {"axis": "service", "value": "calendar"} in told["gaps"]
    assert {"from": "discover", "to": "extract", "tasks": 2} in told["edges"]


def test_the_table_has_every_value_and_lists_the_gaps(suite: str, capsys: Capture) -> None:
    assert main(["coverage", suite]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Two of them: 2 tasks\n")
    assert all(f" {one} " in told for one in Hazard)
    (gaps,) = [line for line in told.splitlines() if line.startswith(" topology ") and "," in line]
    assert "loop" in gaps and "branch" not in gaps
    assert "\x1b" not in told


def test_a_picture_is_written_beside(suite: str, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    assert main(["coverage", suite, "--json", "--png", str(tmp_path / "coverage.png")]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == 2
    assert (tmp_path / "coverage.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_one_line(suite: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for arguments, told in (
        (["multidy"], "did you mean 'multiday'"), ([suite, "--png", "picture"], "ends in .png, .svg or .pdf"),
        ([suite, "--png", str(tmp_path / "a.png")], "pip install 'cowork-gym[charts]'"), ([str(tmp_path / "none.yaml")], "no such file"),
    ):
        assert main(["coverage", *arguments]) == 2
        error = capsys.readouterr()
        assert error.out == ""
        assert told in error.err and len(error.err.splitlines()) == 1


def test_a_folder_that_is_not_there_is_one_line(suite: str, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    assert main(["coverage", suite, "--png", str(tmp_path / "none" / "a.png")]) == 2
    assert "No such file" in capsys.readouterr().err
