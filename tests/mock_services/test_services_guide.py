"""docs/services.md: its service is short, plays as shown, and its tables agree with the code."""

import contextlib
import importlib
import io
import re
import sys
from pathlib import Path

import pytest
from office import TOOLS, ask, refusal, world_of

from cowork_gym.core.errors import ErrorKind
from cowork_gym.mock_services.kit.records import Record
from cowork_gym.mock_services.kit.store import Store

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "services.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
(LISTING, PLAY), (PRINTED,) = ([text for language, text in BLOCKS if language == wanted] for wanted in ("python", "text"))
ROWS = {found[1]: line for line in GUIDE.splitlines() if (found := re.match(r"\| \*?`(\w+_\w+)\(", line))}


@pytest.fixture
def lending(tmp_path, monkeypatch):
    (tmp_path / "lending.py").write_text(LISTING, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("lending")
    del sys.modules["lending"]


def test_the_service_is_short():
    assert LISTING.startswith("# lending.py\n")
    assert len(LISTING.splitlines()) <= 61


def test_it_plays_as_shown(lending):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(PLAY, "services.md", "exec"), {})
    assert shown.getvalue() == PRINTED


def test_it_lends_once_and_refuses_the_past(lending):
    world = world_of(lending.Lending, items=[{"item_id": "I", "name": "Tent"}, {"item_id": "J", "name": "Drill", "kind": "tool"}])
    assert [one["item_id"] for one in ask(world, "lending_list_items")] == ["I", "J"]
    assert [one["item_id"] for one in ask(world, "lending_list_items", kind="TOOL")] == ["J"]
    past = refusal(world, "lending_lend_item", item_id="I", to="Ana", until="2026-03-09")
    assert past.status == ErrorKind.VALIDATION.status and "today is 2026-03-10" in past.text
    lent = ask(world, "lending_lend_item", item_id="I", to="Ana", until="2026-03-10")
    assert lent == {"item_id": "I", "name": "Tent", "kind": "other", "held_by": "Ana", "until": "2026-03-10"}
    assert world.ledger[-1].audit == "loans" and world.ledger[-1].record == {**lent, "timestamp": "2026-03-10T09:00:04Z"}
    taken = refusal(world, "lending_lend_item", item_id="I", to="Bo", until="2026-03-10")
    assert taken.value == {"error": "Tent is with Ana until 2026-03-10", "type": "conflict"}
    assert refusal(world, "lending_lend_item", item_id="K", to="Bo", until="2026-03-10").value["type"] == "not_found"
    assert [(change.table, change.key) for change in world.diff()] == [("lending.items", "I")]


def test_the_table_has_every_tool_as_it_is():
    assert sorted(ROWS) == sorted(TOOLS)
    for name, tool in TOOLS.items():
        signature, effect, audit = (cell.replace("`", "").replace("*", "").strip() for cell in ROWS[name].strip("|").split(" |")[:3])
        defaults = {one: form.get("default") for one, form in tool.parameters["properties"].items()}
        shown = [one if defaults[one] is None else f"{one}={defaults[one]!r}".replace("'", '"') for one in tool.arguments]
        assert signature == f"{name}({', '.join(shown)})"
        assert effect.split(",")[0] == tool.effect and all(mark in effect for mark in tool.marks)
        assert audit.split(",")[0] == (tool.audit or "")


def test_it_names_what_a_record_and_a_handler_have():
    declared = {name for name in vars(Record)["__annotations__"] if name != "extra"}
    assert [name for name in declared if f"`{name}`" not in GUIDE] == []
    verbs = {name for name in vars(Store) if not name.startswith("_")} - {"bypassed", "connection", "end", "flush", "moment", "session"}
    assert [name for name in verbs if f"`{name}`" not in GUIDE] == []
