import pytest
from office import RECORDS, ask, office, refusal, world_of

from cowork_gym.mock_services.todo import Task, Todo
from cowork_gym.testing import check_service


def _ids(answer):
    return [one["task_id"] for one in answer["tasks"]]


def test_it_keeps_what_every_service_promises():
    check_service(Todo, RECORDS["todo"])


def test_the_list_shows_whole_tasks():
    answer = ask(office(), "todo_list_tasks")
    assert (_ids(answer), answer["total"]) == (["D-1", "D-2", "D-3"], 3)
    assert answer["tasks"][0] == {**RECORDS["todo"]["tasks"][0], "tags": ["Q1", "报告"]}


@pytest.mark.parametrize(("filters", "found"), [
    ({"status": "all"}, ["D-1", "D-2", "D-3"]), ({"status": "in_progress"}, ["D-2"]), ({"status": "completed", "assignee": "李华"}, []),
    ({"assignee": "ann"}, ["D-1", "D-3"]), ({"assignee": "An"}, []), ({"priority": "high", "status": "pending"}, ["D-1"]), ({"tag": "q1"}, ["D-1"]),
    ({"tag": "报告"}, ["D-1"]), ({"tag": "q"}, []),
])
def test_filters(filters, found):
    assert _ids(ask(office(), "todo_list_tasks", **filters)) == found


def test_filters_find_a_status_in_any_case():
    world = world_of(Todo, tasks=[{"task_id": "T", "title": "t", "status": "Pending", "priority": "HIGH"}])
    assert _ids(ask(world, "todo_list_tasks", status="pending", priority="high")) == ["T"]


def test_a_new_task_is_pending_and_audited():
    world = office()
    task = ask(world, "todo_create_task", title="Chairs", description="six", due_date="2026-03-31", assignee="Ann", tags=["b", "a", "b"])["task"]
    assert task == {
        "task_id": task["task_id"], "title": "Chairs", "description": "six", "status": "pending", "priority": "medium", "due_date": "2026-03-31",
        "assignee": "Ann", "tags": ["a", "b"], "created_at": "2026-03-10T09:00:01Z",
    }
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("created_tasks", task)
    [change] = world.diff()
    assert (change.table, change.key, change.before, change.after) == ("todo.tasks", task["task_id"], None, task)
    assert ask(world, "todo_get_task", task_id=task["task_id"]) == task


def test_an_audit_record_stays_as_it_was_written():
    world = office()
    task = ask(world, "todo_create_task", title="Chairs")["task"]
    ask(world, "todo_update_task", task_id=task["task_id"], title="Tables")
    assert [entry.record["title"] for entry in world.ledger] == ["Chairs", "Tables"]


def test_an_update_sets_every_field_and_leaves_the_others():
    world = office()
    before = ask(world, "todo_get_task", task_id="D-1")
    changes = {"title": "T", "description": "D", "status": "completed", "priority": "low", "due_date": "2026-04-01", "assignee": "Bo", "tags": ["z"]}
    task = ask(world, "todo_update_task", task_id="D-1", **changes)["task"]
    assert task == {**before, **changes, "updated_at": "2026-03-10T09:00:02Z"}
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("updated_tasks", task)
    [change] = world.diff()
    assert change.fields() == {*changes, "updated_at"} and Task.stamps == {"updated_at"}


@pytest.mark.parametrize("change", [
    {}, {"status": None}, {"status": "done"}, {"status": "all"}, {"priority": "urgent"}, {"due_date": "tomorrow"}, {"tags": "a"}, {"note": "x"},
])
def test_updates_that_make_no_sense_are_refused(change):
    assert refusal(office(), "todo_update_task", task_id="D-1", **change).status == 422


@pytest.mark.parametrize("arguments", [{"title": ""}, {"title": "t", "priority": "critical"}, {"title": "t", "due_date": "2026-02-30"}])
def test_a_task_that_cannot_be_is_not_created(arguments):
    world = office()
    assert refusal(world, "todo_create_task", **arguments).status == 422
    assert len(world.ledger) == 0


def test_deleting_removes_the_task_once():
    world = office()
    task = ask(world, "todo_get_task", task_id="D-2")
    assert ask(world, "todo_delete_task", task_id="D-2") == {"status": "deleted", "task": task}
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("deleted_tasks", {**task, "timestamp": "2026-03-10T09:00:02Z"})
    assert Todo.aliases["deleted"] == "deleted_tasks"
    assert [(change.key, change.after) for change in world.diff()] == [("D-2", None)]
    assert refusal(world, "todo_delete_task", task_id="D-2").value["type"] == "not_found"
    assert _ids(ask(world, "todo_list_tasks")) == ["D-1", "D-3"]
