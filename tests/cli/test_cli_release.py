"""`cowork release`: made, refused, verified; exit codes and one line for each mistake."""

import json
import shutil
from pathlib import Path
from string import Template

import pytest

from cowork_gym.cli.main import main
from cowork_gym.cli.templates.task import FILES
from cowork_gym.synthesis.release import load_release

Capture = pytest.CaptureFixture[str]
pytest.importorskip("fastapi")  # admission, which a release asks for, plays through the HTTP door too


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    place = tmp_path / "Desk"
    for path, text in FILES.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(Template(text).substitute(name="Desk"), encoding="utf-8")
    return place


def _release(desk: Path, *arguments: str, name: str = "desks-1") -> int:
    return main(["release", name, str(desk), "--author", "Ada", "--to", str(desk.parent / "out"), *arguments])


def test_a_release_is_made_and_verified(desk: Path, capsys: Capture) -> None:
    assert _release(desk, "--for", "training,evaluation", "--for", "diagnosis", "--teacher", "Grace") == 0
    told = capsys.readouterr()
    made = load_release(desk.parent / "out" / "desks-1")
    assert told.out == f"{made.folder} is the release {made.citation}: 1 task, 6 executions, for training, evaluation, diagnosis\n"
    assert told.err.startswith("Desk: admitted (")
    assert (made.provenance.authors, made.provenance.teachers) == (("Ada",), ("Grace",))
    assert main(["release", "--verify", str(made.folder)]) == 0
    assert capsys.readouterr().out == f"{made.folder} is whole, sealed {made.seal}\n"


def test_the_object_tells_the_same(desk: Path, capsys: Capture) -> None:
    assert _release(desk, "--for", "evaluation", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    made = load_release(desk.parent / "out" / "desks-1")
    assert told == {
        "release": "desks-1", "folder": str(made.folder), "seal": made.seal, "uses": ["evaluation"], "counts": {**made.counts}, "train": [],
        "validation": [], "overlaps": [],
    }


def test_damage_is_exit_1(desk: Path, capsys: Capture) -> None:
    _release(desk, "--for", "evaluation")
    folder = desk.parent / "out" / "desks-1"
    (folder / "README.md").write_text("other")
    (folder / "more").write_text("")
    capsys.readouterr()
    assert main(["release", "--verify", str(folder)]) == 1
    assert capsys.readouterr().out == f"changed: README.md\nextra: more\n{folder} is not as it was sealed\n"
    assert main(["release", "--verify", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "folder": str(folder), "whole": False, "seal": "", "damages": [
            {"path": "README.md", "what": "changed", "note": ""},
            {"path": "more", "what": "extra", "note": ""},
        ],
    }


def test_a_renamed_copy_is_told_its_name(desk: Path, capsys: Capture) -> None:
    _release(desk, "--for", "evaluation")
    folder = (desk.parent / "out" / "desks-1").rename(desk.parent / "copy")
    capsys.readouterr()
    assert main(["release", "--verify", str(folder)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "renamed: copy: the folder must have the release's name, desks-1"


def test_a_public_copy_is_verified_as_one(desk: Path, capsys: Capture) -> None:
    _release(desk, "--for", "evaluation")
    folder = desk.parent / "out" / "desks-1"
    shutil.rmtree(folder / "private")
    assert main(["release", "--verify", str(folder)]) == 1
    assert main(["release", "--verify", str(folder), "--public"]) == 0
    capsys.readouterr()
    assert _release(desk, "--for", "training", "--against", str(folder), name="desks-2") == 1  # enough to be compared with
    assert "which is for evaluation; leave it out" in capsys.readouterr().err


def test_a_task_that_a_gate_refuses_is_exit_1(desk: Path, capsys: Capture) -> None:
    reference = desk / "private" / "reference.yaml"
    reference.write_text(reference.read_text().replace("assigned_to: facilities", "assigned_to: somebody"))
    assert _release(desk, "--for", "evaluation") == 1
    first, *reasons, last = capsys.readouterr().err.splitlines()
    assert first.startswith("Desk: not admitted: ")
    assert any(one.startswith("cowork: Desk: reference, seed 0: ") for one in reasons)
    assert last == "cowork: nothing was released"
    assert not (desk.parent / "out").exists()


def test_a_second_write_is_refused(desk: Path, capsys: Capture) -> None:
    assert _release(desk, "--for", "evaluation") == 0
    capsys.readouterr()
    assert _release(desk, "--for", "evaluation") == 2
    assert "exists already; a release is written once" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "told"), [
    (["release"], "a release needs a name and tasks"),
    (["release", "r-1", "M1100"], "say what the release is for: training, evaluation, diagnosis"),
    (["release", "r-1", "M1100", "--for", "evaluation"], "say who wrote the tasks"),
    (["release", "r-1", "M1100", "--for", "evaluaton", "--author", "A"], "did you mean 'evaluation'"),
    (["release", "r-1", "--for", "evaluation", "--author", "A"], "at least one task"),
    (["release", "r/1", "M1100", "--for", "evaluation", "--author", "A"], "no name for a release"),
    (["release", "r-1", "--suite", "smok", "--for", "evaluation", "--author", "A"], "did you mean 'smoke'"),
    (["release", "r-1", "M1100", "--split", "--for", "training", "--author", "A"], "all of them alike"),
    (["release", "r-1", "M1100", "--fraction", "3", "--for", "evaluation", "--author", "A"], "between 0 and 1"),
    (["release", "r-1", "M1100", "--against", "none", "--for", "evaluation", "--author", "A"], "none: no such folder"),
    (["release", "r-1", "--verify", "none"], "leave the name out"),
    (["release", "--verify", "none"], "none: no such folder"),
])
def test_mistakes_are_one_line(arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr()
    assert error.out == ""
    assert told in error.err and len(error.err.splitlines()) == 1
    assert [*tmp_path.iterdir()] == []
