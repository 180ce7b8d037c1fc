"""--json leaves standard output to the document, whatever a service prints; and mistakes in names and numbers are told in one line."""

import json
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from cowork_gym.cli.document import print_document
from cowork_gym.cli.main import main

LOUD = '''
from cowork_gym.mock_services.kit import Effect, Field, Record, Service, tool

print("imported")

class Item(Record, table=True):
    order_no: str = Field(primary_key=True)

class Loud(Service):
    """Prints."""

    name = "loud"
    tables = [Item]

    @tool(Effect.READ)
    def look(self) -> list[str]:
        """Look."""
        print("called")
        return []
'''


def test_what_a_handler_prints_is_no_part_of_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "my-loud rooms.py"
    module.write_text(LOUD)
    assert main(["check", str(module), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["passed"] is True
    assert "imported" in told.err and "called" in told.err


@pytest.mark.parametrize(("encoding", "plain"), [("utf-8", True), ("ascii", False), ("latin-1", False), ("gbk", True)])
def test_letters_are_written_as_the_output_can_show_them(encoding: str, plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    written = TextIOWrapper(BytesIO(), encoding)
    monkeypatch.setattr("sys.stdout", written)
    print_document({"工单": "证书\x9b\u202e\n"})
    written.flush()
    text = written.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert json.loads(text) == {"工单": "证书\x9b\u202e\n"}
    assert ("工单" in text) == plain
    assert "\x9b" not in text and "\u202e" not in text


def test_a_half_of_a_pair_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_document("证\ud83d")
    assert capsys.readouterr().out == '"证\\ud83d"\n'


def test_a_class_that_is_no_service_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "rooms.py"
    module.write_text(LOUD.replace("tables = [Item]", "tables = Item"))
    assert main(["check", str(module)]) == 2
    assert capsys.readouterr().err == f"cowork: {module}: Loud.tables: should be a list of record classes, not Item\n"


@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_is_no_folder(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('it was run')")
    monkeypatch.chdir(tmp_path)
    assert main(["check", path]) == 2
    assert "PATH is empty" in capsys.readouterr().err


@pytest.mark.parametrize("least", ["nan", "-0.1", "1.5", "inf"])
def test_a_least_reward_is_between_0_and_1(least: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "M1100", "--agent", "noop", f"--min-reward={least}"]) == 2
    assert "from 0 to 1" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [
    ["service", "test"], ["service", "test_rooms"], ["service", "conftest"], ["task", "M" * 81],
])
def test_a_name_that_check_would_not_find_is_refused(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", *arguments, "--into", str(tmp_path)]) == 2
    assert not [*tmp_path.iterdir()]
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_longest_task_name_can_be_checked(tmp_path: Path) -> None:
    assert main(["new", "task", "M" * 80, "--into", str(tmp_path)]) == 0
    assert main(["check", str(tmp_path / ("M" * 80))]) == 0
