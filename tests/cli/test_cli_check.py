"""`cowork check` and `cowork new`: what is in order, what falls short, what cannot be used, and scaffolds that pass at once."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cowork_gym.cli.main import main
from cowork_gym.envs.registration import CATALOG

Capture = pytest.CaptureFixture[str]
Edit = Callable[[Path], None]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return shutil.copytree(CATALOG / "M1100_at_risk_key_rotation", tmp_path / "M1100_copy")


@pytest.mark.parametrize("name", sorted(one.name for one in CATALOG.iterdir() if (one / "task.yaml").exists()))
def test_the_tasks_that_come_with_the_package_are_in_order(name: str, capsys: Capture) -> None:
    assert main(["check", str(CATALOG / name)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("all is in order")


def test_a_package_is_also_checked_by_its_id(capsys: Capture) -> None:
    assert main(["check", "cowork/M1003-v0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] is True
    assert {one["name"] for one in told["findings"]} >= {"reference step_by_step", "nothing"}


def test_what_falls_short_is_exit_code_one(package: Path, capsys: Capture) -> None:
    negatives = package / "private" / "negatives.yaml"
    negatives.write_text(negatives.read_text().replace("max_reward: 0.28", "max_reward: 0.27", 1))
    assert main(["check", str(package)]) == 1
    told = capsys.readouterr()
    assert "1 of" in told.out.splitlines()[-1]
    assert told.err == ""
    assert main(["check", str(package), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False


def _change(file: str, old: str, new: str) -> Edit:
    def edit(package: Path) -> None:
        text = (package / file).read_text(encoding="utf-8")
        assert old in text
        (package / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def _append(file: str, content: bytes) -> Edit:
    return lambda package: (package / file).write_bytes((package / file).read_bytes() + content) and None


def _make_huge(package: Path) -> None:
    with (package / "world" / "kb.yaml").open("ab") as file:
        file.truncate(50_000_000)


@pytest.mark.parametrize(("edit", "file", "text"), [
    (_change("task.yaml", "budgets:", "budget:"), "task.yaml", "did you mean 'budgets'?"),
    (_change("private/grading.yaml", "kind: audit_record", "kind: audit_recrd"), "private/grading.yaml", "did you mean 'audit_record'"),
    (_change("private/grading.yaml", "weight: 0.30", "weight: 0.29"), "private/grading.yaml", "the weights sum to 0.99, not 1"),
    (_change("private/grading.yaml", "key: TCK-5802\n    fields:", "key: TCK-5803\n    fields:"), "private/grading.yaml", "did you mean 'TCK-58"),
    (_change("world/crm.yaml", "customer_id: CUS-1007", "customer_id: CUS-1003"), "world/crm.yaml", "duplicate id 'CUS-1003'"),
    (_change("task.yaml", "- kb_search", "- kb_serch"), "task.yaml", "did you mean 'kb_search'?"),
    (_change("task.yaml", "title:", "title: ["), "task.yaml", "line "),
    (_append("task.yaml", b"\n# caf\xe9\n"), "task.yaml", "not UTF-8"),
    (_make_huge, "world/kb.yaml", "too large: 50.0 MB"),
])
def test_what_cannot_be_used_is_one_line_and_exit_code_two(package: Path, edit: Edit, file: str, text: str, capsys: Capture) -> None:
    edit(package)
    assert main(["check", str(package)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"cowork: {package / file}: ")
    assert text in told.err
    assert told.err.count("\n") == 1


def test_a_folder_without_a_package_or_a_service_is_told_so(tmp_path: Path, capsys: Capture) -> None:
    assert main(["check", str(tmp_path)]) == 2
    assert "no task.yaml" in capsys.readouterr().err
    (tmp_path / "plain.py").write_text("x = 1\n")
    assert main(["check", str(tmp_path)]) == 2
    assert "no subclass of Service" in capsys.readouterr().err
    (tmp_path / "plain.py").write_text("import no_such_module\n")
    assert main(["check", str(tmp_path / "plain.py")]) == 2
    assert "cannot be imported: ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Rooms", "M7_room_booking", "x"])
def test_a_new_task_passes_at_once(name: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["new", "task", name, "--into", str(tmp_path / "deep" / "folder")]) == 0
    folder = tmp_path / "deep" / "folder" / name
    assert f"cowork admit {folder}\n" in capsys.readouterr().out
    assert main(["check", str(folder)]) == 0
    assert main(["run", str(folder), "--agent", "reference", "--min-reward", "1"]) == 0
    assert main(["run", str(folder), "--agent", "read-everything", "--min-reward", "0.41"]) == 1


@pytest.mark.parametrize("name", ["bookings", "rooms", "class", "item_service", "none"])
def test_a_new_service_passes_at_once(name: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["new", "service", name, "--into", str(tmp_path)]) == 0
    assert main(["check", str(tmp_path / name)]) == 0
    assert f"service {name}" in capsys.readouterr().out
    assert main(["check", str(tmp_path / name / f"{name}_service.py")]) == 0


def test_the_test_of_a_new_service_passes(tmp_path: Path) -> None:
    main(["new", "service", "bookings", "--into", str(tmp_path)])
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pyproject.toml"], cwd=tmp_path / "bookings", capture_output=True,
        text=True, timeout=100, check=False, env={**os.environ, "PYTHONPATH": path},
    )
    assert "2 passed" in done.stdout, done.stdout


def test_a_service_that_breaks_a_promise_falls_short(tmp_path: Path, capsys: Capture) -> None:
    main(["new", "service", "bookings", "--into", str(tmp_path)])
    module = tmp_path / "bookings" / "bookings_service.py"
    module.write_text(module.read_text().replace("        self.audit(Item.shown(row))\n", ""))
    capsys.readouterr()
    assert main(["check", str(module)]) == 1
    assert "bookings_add_item" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["task", "service"])
def test_nothing_is_ever_overwritten(kind: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "task.yaml").write_text("mine")
    assert main(["new", kind, "mine", "--into", str(tmp_path)]) == 2
    assert "exists already; nothing was written" in capsys.readouterr().err
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["task.yaml"]
    (tmp_path / "other").symlink_to(tmp_path / "gone")
    assert main(["new", kind, "other", "--into", str(tmp_path)]) == 2


def test_a_scaffold_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def full(*arguments: object, **options: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        assert main(["new", "task", "Rooms", "--into", str(tmp_path)]) == 2
    assert "No space left on device; nothing was written" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(("kind", "name"), [
    ("task", "7up"), ("task", "a-b"), ("task", "../up"), ("task", ""), ("service", "Rooms"), ("service", "a__b"), ("service", "crm"),
])
def test_a_name_that_cannot_be_is_refused(kind: str, name: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["new", kind, name, "--into", str(tmp_path)]) == 2
    assert [*tmp_path.iterdir()] == []
