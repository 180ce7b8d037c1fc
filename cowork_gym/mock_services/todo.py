"""To-dos: a list of tasks with status, priority, due day, assignee and tags."""

from typing import Any, ClassVar, Literal

from typing_extensions import TypedDict

from cowork_gym.mock_services.kit import Caseless, Effect, Field, Labels, Record, Service, ToolError, View, given, tool
from cowork_gym.mock_services.kit.types import Day, Text, Time

__all__ = ["Priority", "Status", "Task", "TaskCreated", "TaskDeleted", "TaskList", "TaskUpdated", "Todo"]

Priority = Literal["low", "medium", "high"]
"""How much a task matters."""
Status = Literal["pending", "in_progress", "completed"]
"""How far a task is."""


class Task(Record, table=True):
    """Something to do."""

    stamps: ClassVar = frozenset({"updated_at"})
    task_id: str = Field(primary_key=True)
    title: str
    description: str | None = None
    status: str = Field(default="pending", sa_type=Caseless)
    priority: str = Field(default="medium", sa_type=Caseless)
    due_date: Time | None = None
    assignee: str | None = Field(default=None, sa_type=Caseless)
    tags: list[str] | None = Field(default=None, sa_type=Labels)
    created_at: str | None = None
    updated_at: str | None = None


class TaskList(TypedDict):
    """Whole tasks, ordered by id."""

    tasks: list[View]
    total: int


class TaskCreated(TypedDict):
    """A task that was added."""

    status: Literal["created"]
    task: View


class TaskUpdated(TypedDict):
    """A task after an update."""

    status: Literal["updated"]
    task: View


class TaskDeleted(TypedDict):
    """A task as it was before it was deleted."""

    status: Literal["deleted"]
    task: View


class Todo(Service):
    """To-do list: tasks with status, priority, due day, assignee and tags."""

    name = "todo"
    tables = (Task,)
    aliases: ClassVar = {"deleted": "deleted_tasks"}

    @tool(Effect.READ)
    def list_tasks(
        self, status: Literal["all", Status] = "all", priority: Priority | None = None, assignee: Text | None = None, tag: Text | None = None,
    ) -> TaskList:
        """List tasks with every field, ordered by id. Without filters all are listed; several filters must all hold.

        Args:
            status: Only tasks with this status; all for every status.
            priority: Only tasks of this priority.
            assignee: Only tasks of this person or team: the whole name, in any case.
            tag: Only tasks with this tag, in any case.
        """
        rows = self.store.find(Task, **given(status=None if status == "all" else status, priority=priority, assignee=assignee))
        found = [Task.shown(row) for row in rows if tag is None or _has(row, tag)]
        return {"tasks": found, "total": len(found)}

    @tool(Effect.READ)
    def get_task(self, task_id: str) -> View:
        """Get one task with every field on record.

        Args:
            task_id: The task's id, as todo_list_tasks gives it.
        """
        return Task.shown(self.store.get(Task, task_id))

    @tool(Effect.WRITE, audit="created_tasks")
    def create_task(
        self, title: Text, description: Text | None = None, priority: Priority = "medium", due_date: Day | None = None,
        assignee: Text | None = None, tags: list[Text] | None = None,
    ) -> TaskCreated:
        """Add a task; its status is pending. A task of the same title may exist already: it is not looked for.

        Args:
            title: What is to be done.
            description: Further details.
            priority: How much it matters; medium unless given.
            due_date: The day by which it is to be done.
            assignee: The person or team who is to do it.
            tags: Tags to file it under.
        """
        row = self.store.insert(
            Task, task_id=self.store.new_id("TSK"), title=title, description=description, status="pending", priority=priority, due_date=due_date,
            assignee=assignee, tags=tags, created_at=self.stamp,
        )
        self.audit(Task.shown(row))
        return {"status": "created", "task": Task.shown(row)}

    @tool(Effect.WRITE, audit="updated_tasks")
    def update_task(
        self, task_id: str, title: Text | None = None, description: Text | None = None, status: Status | None = None,
        priority: Priority | None = None, due_date: Day | None = None, assignee: Text | None = None, tags: list[Text] | None = None,
    ) -> TaskUpdated:
        """Change a task. What is not given stays as it is; at least one change must be given.

        Args:
            task_id: The task to change.
            title: The new title.
            description: The new description, in place of the present text.
            status: The new status. A completed task is taken up again by any other.
            priority: The new priority.
            due_date: The new day by which it is to be done.
            assignee: The person or team who takes it over.
            tags: The new tags, in place of all present ones; an empty list removes them.

        Raises:
            ToolError: There is no such task, or no change was given.
        """
        changes = given(
            title=title, description=description, status=status, priority=priority, due_date=due_date, assignee=assignee, tags=tags,
        )
        if not changes:
            raise ToolError("nothing to change: give at least one of title, description, status, priority, due_date, assignee, tags")
        task = Task.shown(self.store.update(Task, task_id, **changes, updated_at=self.stamp))
        self.audit(task)
        return {"status": "updated", "task": task}

    @tool(Effect.WRITE, audit="deleted_tasks")
    def delete_task(self, task_id: str) -> TaskDeleted:
        """Delete a task for good. todo_update_task keeps what is done, as completed.

        Args:
            task_id: The task to delete.
        """
        task = Task.shown(self.store.get(Task, task_id))
        self.store.delete(Task, task_id)
        self.audit({**task, "timestamp": self.stamp})
        return {"status": "deleted", "task": task}


def _has(row: Any, tag: str) -> bool:
    return tag.casefold() in {one.casefold() for one in row.tags or ()}
