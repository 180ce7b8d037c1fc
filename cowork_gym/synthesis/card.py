"""A task's card: what anyone may know of it before it is played. Nothing of its private half."""

from dataclasses import asdict
from typing import Any

from cowork_gym.core.task import Task

__all__ = ["card"]


def card(task: Task) -> dict[str, Any]:
    """The public half of a task as plain JSON values, its world excepted.

    What is planned for later (stages, faults) is for the agent to meet, and what its author notes is for authors.
    """
    declared = task.structure
    return {
        "id": task.id, "version": task.version, "release_id": task.release_id, "title": task.title, "category": task.category,
        "difficulty": task.difficulty, "language": task.language,
        "capabilities": {str(name): [*map(str, before)] for name, before in declared.capabilities.items()},
        "topology": str(declared.topology), "deliverables": [*map(str, declared.deliverables)], "hazards": [*map(str, declared.hazards)],
        "services": [*task.services], "mock_today": task.mock_today.isoformat(), "budgets": asdict(task.budgets), "request": task.request,
        "tools": [task.contracts[name] for name in task.tools],
    }
