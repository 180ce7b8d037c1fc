"""`cowork admit`: what is proved, what falls short, what cannot be used, and in which forms it is told."""

import json
import shutil
from pathlib import Path

import pytest

from cowork_gym.cli.main import main
from cowork_gym.envs.registration import CATALOG
from cowork_gym.synthesis.gates.registry import GATES

Capture = pytest.CaptureFixture[str]
STATIC = ["--gate", "weights", "--gate", "leaks"]
SOUND = Path(__file__).parents[1] / "synthesis" / "sound"


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    package = shutil.copytree(CATALOG / "M1100_at_risk_key_rotation", tmp_path / "M1100_copy")
    text = (package / "task.yaml").read_text(encoding="utf-8")
    (package / "task.yaml").write_text(text.replace("Please get that ticket ready", "Please get TCK-5802 ready"), encoding="utf-8")
    return package


def test_one_task_is_shown_with_a_line_for_each_gate(capsys: Capture) -> None:
    pytest.importorskip("fastapi")
    assert main(["admit", str(SOUND)]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0].startswith("Sound_ticket_routing@0:")
    assert {line.split()[0] for line in lines if " pass " in line} == {one.name for one in GATES}
    assert lines[-1] == "admitted"
    assert told.err == ""


def test_evidence_that_is_cut_says_where_the_whole_is(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.delenv("LINES", raising=False)
    for columns, cut in (("60", True), ("900", False)):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["admit", "M1003", *STATIC]) == 0
        assert ("--json and --html FILE have the whole evidence" in capsys.readouterr().out) == cut


def test_what_falls_short_is_told_with_what_to_change(leaky: Path, capsys: Capture) -> None:
    assert main(["admit", str(leaky), *STATIC, "--seeds", "2"]) == 1
    told = capsys.readouterr().out
    assert told.count("task.yaml: request: names TCK-5802, which is to be found out") == 1
    assert "or list TCK-5802 under `given`" in told
    assert "1 of 2 forms" not in told
    assert "0 of 2 forms" in told
    assert told.splitlines()[-1] == "not admitted: leaks"


def test_several_tasks_have_a_line_each(leaky: Path, capsys: Capture) -> None:
    assert main(["admit", "M1003", str(leaky), "M133", *STATIC]) == 1
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == "2 of 3 admitted"
    assert "M1100_at_risk_key_rotation: leaks: task.yaml: request" in told


def test_json_is_an_object_or_a_list(leaky: Path, capsys: Capture) -> None:
    assert main(["admit", "M1003", "--gate", "weights", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], [one["gate"] for one in told["results"]]) == (True, ["weights"])
    assert main(["admit", "M1003", str(leaky), *STATIC, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [(one["passed"], one["failed"]) for one in told] == [(True, []), (False, ["leaks"])]


def test_tasks_are_examined_in_processes_of_their_own_and_told_in_order(leaky: Path, capsys: Capture) -> None:
    assert main(["admit", "M1003", str(leaky), *STATIC, "--json", "--jobs", "2"]) == 1
    assert [one["task"] for one in json.loads(capsys.readouterr().out)] == ["M1003_ticket_kb_resolution", "M1100_at_risk_key_rotation"]


def test_a_page_is_written(leaky: Path, tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "proof.html"
    assert main(["admit", str(leaky), *STATIC, "--html", str(page)]) == 1
    assert "names TCK-5802, which is to be found out" in page.read_text(encoding="utf-8")
    assert main(["admit", "M1003", *STATIC, "--html", str(tmp_path / "gone" / "proof.html")]) == 2
    assert "the page cannot be written" in capsys.readouterr().err


def test_a_package_that_cannot_be_loaded_is_one_line_and_exit_code_two(leaky: Path, capsys: Capture) -> None:
    (leaky / "task.yaml").write_text((leaky / "task.yaml").read_text(encoding="utf-8").replace("budgets:", "budget:"), encoding="utf-8")
    assert main(["admit", str(leaky)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"cowork: {leaky / 'task.yaml'}: ")
    assert told.err.count("\n") == 1
    assert main(["admit", str(leaky), "M1003", "--gate", "weights", "--json"]) == 2
    told = capsys.readouterr()
    first, second = json.loads(told.out)
    assert (first["passed"], first["failed"], first["release_id"], second["passed"]) == (False, ["package"], "", True)
    assert "did you mean 'budgets'?" in first["results"][0]["problems"][0]["found"]


def test_all_tasks_of_a_suite_are_examined(capsys: Capture, tmp_path: Path) -> None:
    suite = tmp_path / "mine.yaml"
    suite.write_text("{schema_version: 1, name: mine, title: Mine, description: Two., tasks: [M133, M1003]}")
    assert main(["admit", "--suite", str(suite), *STATIC, "--json"]) == 0
    assert [one["task"] for one in json.loads(capsys.readouterr().out)] == ["M133_safety_payment_change_refusal", "M1003_ticket_kb_resolution"]


@pytest.mark.parametrize(("arguments", "text"), [
    ([], "name a task, a package's folder, or a --suite"), (["M1999"], "unknown task 'M1999'"),
    (["M1003", "--gate", "leak"], "did you mean 'leaks'?"), (["M1003", "--seeds", "0"], "--seeds"), (["--suite", "cor"], "unknown suite 'cor'"),
])
def test_a_mistake_is_one_line(arguments: list[str], text: str, capsys: Capture) -> None:
    assert main(["admit", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert text in told.err
    assert told.err.count("\n") == 1


def test_a_process_that_dies_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    (tmp_path / "deadly.py").write_text("import os\ndef check(evidence):\n    return not evidence.dispatches or os._exit(9)\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    package = shutil.copytree(SOUND, tmp_path / "Deadly")
    path = package / "private" / "grading.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("checks:\n", 'checks:\n  - {id: deadly, kind: python, entry: "deadly:check"}\n', 1), encoding="utf-8")
    assert main(["admit", str(package), str(SOUND), "--gate", "reference", "--jobs", "2"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("cowork: a process that examined a task was ended") and told.err.count("\n") == 1 and told.out == ""
