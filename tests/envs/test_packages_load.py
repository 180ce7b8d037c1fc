"""From a folder to a task: what is read, what is filled in, and what moves the release id."""

import shutil
from datetime import date
from pathlib import Path

import pytest

from cowork_gym.core.task import Budgets, Task
from cowork_gym.envs.packages import blueprint_of, load_task
from cowork_gym.envs.registration import CATALOG, REGISTRY
from cowork_gym.envs.world import World
from cowork_gym.graders import GRADER_VERSION
from cowork_gym.mock_services.kit import Effect, Record, Service, tool
from cowork_gym.mock_services.kit.records import Field

M1100 = CATALOG / "M1100_at_risk_key_rotation"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return shutil.copytree(M1100, tmp_path / "package")


def _load(package: Path) -> Task:
    return load_task(package, REGISTRY.services())


def _edit(package: Path, file: str, old: str, new: str) -> None:
    text = (package / file).read_text(encoding="utf-8")
    assert old in text
    (package / file).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_package_is_read_as_it_was_written() -> None:
    task = _load(M1100)
    assert (task.id, task.version, task.mock_today) == ("M1100_at_risk_key_rotation", 0, date(2026, 3, 10))
    assert task.services == ("crm", "helpdesk", "kb")
    assert task.budgets == Budgets(turns=30, calls=60)
    assert [*task.contracts] == [*task.tools]
    assert all(schema["function"]["name"] == name for name, schema in task.contracts.items())
    assert task.grader_version == GRADER_VERSION
    assert {one.name for one in task.references} == {"step_by_step", "in_few_messages"}
    assert all(one.max_reward is not None and one.why for one in task.negatives)
    assert len(task.world["crm"]["customers"]) == 16


def test_what_is_left_out_has_a_default(package: Path) -> None:
    for old in ("budgets: {turns: 30, calls: 60}\n", "category: support\n", "difficulty: D1.5\n", "language: en\n"):
        _edit(package, "task.yaml", old, "")
    task = _load(package)
    assert task.budgets == Budgets()
    assert (task.category, task.difficulty, task.language) == ("general", "", "en")


def test_budgets_of_tokens_and_seconds_are_read(package: Path) -> None:
    _edit(package, "task.yaml", "{turns: 30, calls: 60}", "{tokens: 5000, seconds: 1.5}")
    assert _load(package).budgets == Budgets(tokens=5000, seconds=1.5)


def test_loading_is_deterministic_and_the_place_does_not_matter(package: Path) -> None:
    assert _load(package).release_id == _load(M1100).release_id == _load(M1100).release_id


@pytest.mark.parametrize(("file", "old", "new"), [
    ("task.yaml", "version: 0\n", "version: 1\n"), ("task.yaml", "Please get", "Kindly get"), ("task.yaml", "turns: 30", "turns: 31"),
    ("task.yaml", "2026-03-10", "2026-03-11"), ("task.yaml", "  - kb_get_article\n", "  - kb_get_article\n  - kb_update_article\n"),
    ("world/crm.yaml", "annual_revenue: 184000", "annual_revenue: 184001"), ("private/grading.yaml", "duration: 36 hours", "duration: 37 hours"),
    ("private/grading.yaml", "id: customers_listed", "id: customers_seen"),
])
def test_what_decides_the_outcome_moves_the_release_id(package: Path, file: str, old: str, new: str) -> None:
    before = _load(package).release_id
    _edit(package, file, old, new)
    assert _load(package).release_id != before


@pytest.mark.parametrize(("file", "old", "new"), [
    ("task.yaml", "title: Key", "title: The key"), ("task.yaml", "notes: |\n", "notes: |\n  More.\n"),
    ("private/reference.yaml", "Nothing else was changed", "No more was changed"), ("private/negatives.yaml", "is no work.", "is nothing."),
    ("private/grading.yaml", "weight: 0.20", "weight: 0.2"),
])
def test_what_does_not_decide_it_leaves_the_release_id(package: Path, file: str, old: str, new: str) -> None:
    before = _load(package).release_id
    _edit(package, file, old, new)
    assert _load(package).release_id == before


def test_records_may_be_json(package: Path) -> None:
    (package / "world" / "crm.yaml").unlink()
    (package / "private" / "variation.yaml").unlink()
    text = '{"customers": [{"customer_id": "CUS-1012", "name": "Brightwater Logistics", "annual_revenue": 1.10, "note": "kept"}]}'
    (package / "world" / "crm.json").write_text(text, encoding="utf-8")
    task = _load(package)
    world = World(blueprint_of(task, REGISTRY.services()))
    assert world.call("crm_get_customer", {"customer_id": "CUS-1012"}).value["note"] == "kept"


def test_workspace_files_are_read_byte_by_byte(package: Path) -> None:
    files = package / "world" / "files"
    (files / "notes" / "zürich").mkdir(parents=True)
    (files / "notes" / "zürich" / "plan.md").write_bytes("Übergabe\r\n".encode())
    (files / "logo.bin").write_bytes(bytes(range(256)))
    task = _load(package)
    assert task.files == {"notes/zürich/plan.md": "Übergabe\r\n".encode(), "logo.bin": bytes(range(256))}
    assert World(blueprint_of(task, REGISTRY.services())).read_file("logo.bin") == bytes(range(256))


def test_hidden_files_and_a_readme_are_no_part_of_a_package(package: Path) -> None:
    before = _load(package).release_id
    for name in (".DS_Store", "README.md", "world/.crm.yaml.swp", "private/.notes"):
        (package / name).write_bytes(b"\xff")
    assert _load(package).release_id == before


def test_a_package_may_need_no_world(package: Path) -> None:
    shutil.rmtree(package / "world")
    (package / "private" / "variation.yaml").unlink()
    checks = "schema_version: 1\nchecks: [{id: a, kind: tool_called, tool: kb_search, weight: 1}]\n"
    (package / "private" / "grading.yaml").write_text(checks + "outcomes: [{id: b, kind: answer, matches: {contains: none}}]")
    assert _load(package).world == {}


def test_a_blueprint_is_built_once_for_each_release(package: Path) -> None:
    services = REGISTRY.services()
    assert blueprint_of(_load(M1100), services) is blueprint_of(_load(package), services)
    _edit(package, "task.yaml", "turns: 30", "turns: 29")
    assert blueprint_of(_load(M1100), services) is not blueprint_of(_load(package), services)


def test_a_service_of_ones_own_can_be_used(tmp_path: Path) -> None:
    class Room(Record, table=True):
        room_id: str = Field(primary_key=True)
        booked_by: str | None = None

    class Rooms(Service):
        name = "rooms"
        tables = (Room,)

        @tool(Effect.WRITE, audit="bookings")
        def book(self, room_id: str, by: str) -> dict[str, object]:
            """Book a room."""
            self.audit(Room.shown(self.store.update(Room, room_id, booked_by=by)))
            return {"status": "booked"}

    files = {
        "task.yaml": "{schema_version: 1, id: Rooms, version: 3, title: t, request: r, mock_today: 2026-01-01, "
                     "services: [rooms], tools: [rooms_book]}",
        "world/rooms.yaml": "rooms: [{room_id: R-1}]",
        "private/grading.yaml": "{schema_version: 1, checks: [{id: a, kind: audit_record, collection: rooms.bookings, weight: 1}], "
                                "outcomes: [{id: b, kind: row_state, table: rooms.rooms, key: R-1, fields: {booked_by: Ada}}]}",
        "private/reference.yaml": "executions: [{name: a, turns: [rooms_book: {room_id: R-1, by: Ada}]}]",
        "private/negatives.yaml": "executions: [{name: a, turns: [rooms_book: {room_id: R-1, by: Bob}], max_reward: 0.4, why: w}]",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    task = load_task(tmp_path, {"rooms": Rooms})
    assert task.version == 3
    assert World(blueprint_of(task, {"rooms": Rooms})).call("rooms_book", {"room_id": "R-1", "by": "Ada"}).status == 200
