"""`cowork list` and `cowork show`: what there is, and of a task only its public half."""

import json
import shutil
from pathlib import Path

import pytest

from cowork_gym.cli.main import main
from cowork_gym.envs.registration import CATALOG, REGISTRY, load_task

Capture = pytest.CaptureFixture[str]
PUBLIC = {
    "id", "version", "release_id", "title", "category", "difficulty", "language", "capabilities", "topology", "deliverables", "hazards", "services",
    "mock_today", "budgets", "request", "tools",
}


def _told(capsys: Capture, *arguments: str) -> str:
    assert main([*arguments]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    return told.out


def test_the_list_has_every_task_with_its_services(capsys: Capture) -> None:
    listed = json.loads(_told(capsys, "list", "--json"))
    assert [one["id"] for one in listed] == [*REGISTRY.tasks()]
    assert {"cowork/M1003-v0", "cowork/M1100-v0", "cowork/M133-v0"} <= {one["id"] for one in listed}
    assert all([*one] == ["id", "title", "services", "difficulty", "category", "language"] for one in listed)
    (key_rotation,) = [one for one in listed if one["id"] == "cowork/M1100-v0"]
    assert key_rotation["services"] == ["crm", "helpdesk", "kb"]


def test_a_suite_has_its_tasks_only(tmp_path: Path, capsys: Capture) -> None:
    listed = json.loads(_told(capsys, "list", "--suite", "safety", "--json"))
    assert "cowork/M133-v0" in {one["id"] for one in listed} < {*REGISTRY.tasks()}
    assert all(load_task(one["id"]).category == "safety" for one in listed)
    (tmp_path / "mine.yaml").write_text("schema_version: 1\nname: mine\ntitle: Mine\ndescription: Mine.\ntasks: [M133, M1100]\n")
    told = _told(capsys, "list", "--suite", str(tmp_path / "mine.yaml"))
    assert [line.split()[0] for line in told.splitlines() if line.startswith(" cowork/")] == ["cowork/M133-v0", "cowork/M1100-v0"]


def test_an_unknown_suite_is_one_line_with_the_nearest(capsys: Capture) -> None:
    assert main(["list", "--suite", "dialog", "--json"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("cowork: unknown suite 'dialog'") and "did you mean 'dialogue'" in told.err


def test_the_table_has_the_same(capsys: Capture) -> None:
    told = _told(capsys, "list")
    assert [line.split()[0] for line in told.splitlines() if line.startswith(" cowork/")] == [*REGISTRY.tasks()]
    assert "\x1b" not in told
    (line,) = [line.split() for line in told.splitlines() if line.startswith(" cowork/M1008-v0 ")]
    assert line[1:4] == ["operations", "zh", "D2"]


def test_where_a_table_would_be_too_narrow_each_task_has_two_lines(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("LINES", raising=False)
    lines, task = _told(capsys, "list", "--suite", "zh").splitlines(), load_task("M1008")
    at = lines.index(f"cowork/M1008-v0  {task.title}")
    assert lines[at + 1] == "  operations, zh, D2; helpdesk, contacts, kb"


def test_letters_are_written_as_they_are(capsys: Capture) -> None:
    assert load_task("M1008").title in _told(capsys, "list", "--suite", "zh", "--json")
    assert load_task("M1008").request.splitlines()[0] in _told(capsys, "show", "M1008", "--json")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_package_that_cannot_be_used_does_not_hide_the_others(
    form: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = _told(capsys, "list", *form)
    broken, gone = shutil.copytree(CATALOG / "M1003_ticket_kb_resolution", tmp_path / "broken"), tmp_path / "gone"
    (broken / "task.yaml").write_text("id: [\n")
    tasks = {"acme/Broken-v0": broken, "acme/Gone-v0": gone, **REGISTRY.tasks()}
    monkeypatch.setattr(type(REGISTRY), "tasks", lambda registry: tasks)
    assert main(["list", *form]) == 2
    told = capsys.readouterr()
    assert told.out == whole
    first, second = told.err.splitlines()
    assert first.startswith(f"cowork: acme/Broken-v0: {broken / 'task.yaml'}: line ")
    assert second.startswith("cowork: acme/Gone-v0: ")


@pytest.mark.parametrize("name", ["M1100", "cowork/M1100-v0", "M1100-v0"])
def test_a_task_is_shown_with_request_tools_and_budgets(name: str, capsys: Capture) -> None:
    told, task = _told(capsys, "show", name), load_task("M1100")
    assert task.request.strip() in told
    assert all(tool in told for tool in task.tools)
    assert task.release_id in told
    assert "30 turns, 60 calls" in told
    assert "discover, extract < discover, reconcile < extract" in told
    assert "look-alike, stale, conflict" in told


def test_the_object_is_the_public_half_and_no_more(capsys: Capture) -> None:
    shown, task = json.loads(_told(capsys, "show", "M1100", "--json")), load_task("M1100")
    assert {*shown} == PUBLIC
    assert (shown["request"], shown["release_id"]) == (task.request, task.release_id)
    assert [one["function"]["name"] for one in shown["tools"]] == [*task.tools]
    assert shown["capabilities"]["build"] == ["reconcile"]
    assert (shown["topology"], shown["deliverables"]) == ("join", ["record", "answer"])
    assert shown["budgets"] == {"turns": 30, "calls": 60, "tokens": None, "seconds": None}


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("name", ["M1003", "M1100", "M133"])
def test_nothing_of_the_private_half_is_shown(name: str, form: list[str], capsys: Capture) -> None:
    told, task = _told(capsys, "show", name, *form), load_task(name)
    secrets = {one["id"] for part in ("checks", "outcomes") for one in task.grading[part]} | {one.name for one in task.negatives}
    secrets |= {f"{one['weight']}" for one in task.grading["checks"] if one.get("weight")} | {line for line in task.notes.splitlines() if line}
    assert not [one for one in secrets if one in told]
