"""Forms that a function of their author's writes: for what no rewriting of texts can vary, such as which record is right, and why."""

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from random import Random
from typing import TypeAlias, cast

from cowork_gym.core.errors import PackageError, told
from cowork_gym.core.ids import generator
from cowork_gym.core.task import Task

__all__ = ["FREE", "Maker", "made_form"]

Maker: TypeAlias = Callable[[Task, Random], Task]
"""From the task, as its author wrote it, and where chance comes from, to a form of it."""

FREE = frozenset({
    "dialogue", "faults", "files", "given", "grading", "mock_today", "negatives", "notes", "references", "request", "stages", "title", "world",
})
"""What a form may have of its own."""
_FIXED = tuple(one.name for one in fields(Task) if one.name not in FREE)


def made_form(task: Task, maker: str, seed: int, path: str) -> Task:
    """The form that a function writes for a seed.

    Args:
        task: The task, as its author wrote it.
        maker: `module:function`, a `Maker`.
        seed: The seed.
        path: The file that names the function, for errors.

    Raises:
        PackageError: There is no such function, it fails, or it changes what is the same in all forms.
    """
    module, _, name = maker.partition(":")
    try:
        form = cast(Maker, getattr(import_module(module), name))(task, generator(seed, task.id, "form"))
    except Exception as error:
        raise PackageError(path, "maker", f"{maker} gives no form for seed {seed}: {told(error)}") from error
    if not isinstance(form, Task):
        raise PackageError(path, "maker", f"{maker} returned a {type(form).__name__}, not a task")
    changed = next((one for one in _FIXED if getattr(form, one) is not getattr(task, one) and getattr(form, one) != getattr(task, one)), None)
    if changed is not None:
        raise PackageError(path, "maker", f"{maker} changes {changed}, which is the same in all forms")
    return form
