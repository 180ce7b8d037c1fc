"""The parts of a task that vary with the seed. What names tools, tables, kinds and checks is the same in every form."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cowork_gym.core.messages import Message
from cowork_gym.core.task import Execution, Stage, Task, WorldChange

__all__ = ["Change", "changed", "changed_parts"]

Change = Callable[[Any], Any]
"""What becomes of a text or a number. It is asked about the keys of mappings, too."""

_FIXED = frozenset({
    "after", "at_least", "before", "change", "collection", "entry", "exists", "fact", "field", "id", "kind", "max", "min", "min_calls", "of",
    "patience", "per_reply", "replies", "reward", "schema_version", "stage", "table", "tool", "votes", "weight", "when",
})
"""What a check or a fact is told by, and what it is counted by."""
_CLAUSES = frozenset({"allow", "checks", "corrections", "events", "facts", "outcomes", "subject"})
"""Where such things stand, and others inside them."""


def changed(value: Any, change: Change) -> Any:
    """A value with every text and number in it changed; a file's content, if it is text, too."""
    if isinstance(value, Mapping):
        return {change(key): changed(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([changed(item, change) for item in value])
    if isinstance(value, bytes):
        return _file(value, change)
    return change(value)


def changed_parts(task: Task, at: Callable[[str], Change]) -> Task:
    """A task with every text and number changed that varies; its days are not.

    Args:
        task: The task.
        at: Gives the change for a place, such as `world/kb.yaml`.
    """
    head, grading, dialogue = at("task.yaml"), at("private/grading.yaml"), at("private/dialogue.yaml")
    later, reference, negatives = at("stages.yaml"), at("private/reference.yaml"), at("private/negatives.yaml")
    return replace(
        task, title=head(task.title), request=head(task.request), notes=at("")(task.notes), given=tuple(map(head, task.given)),
        world={name: _world(records, at(f"world/{name}.yaml")) for name, records in task.world.items()},
        files={at("world/files")(path): _file(content, at(f"world/files/{path}")) for path, content in task.files.items()},
        stages=tuple(_stage(one, later) for one in task.stages),
        grading=_contract(task.grading, grading), dialogue=_contract(task.dialogue, dialogue),
        references=tuple(_execution(one, reference) for one in task.references),
        negatives=tuple(_execution(one, negatives) for one in task.negatives),
    )


def _world(records: Mapping[str, Any], change: Change) -> dict[str, Any]:
    return {collection: [changed(one, change) for one in ones] for collection, ones in records.items()}


def _file(content: bytes, change: Change) -> bytes:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content
    new: str = change(text)
    return content if new == text else new.encode()


def _contract(value: Any, change: Change) -> Any:
    """A grading contract or a dialogue: what is fixed stays, at its outer levels only, since a record may have a field of that name."""
    if isinstance(value, Mapping):
        return {key: one if key in _FIXED else _contract(one, change) if key in _CLAUSES else changed(one, change) for key, one in value.items()}
    return [_contract(one, change) for one in value] if isinstance(value, list | tuple) else value


def _stage(stage: Stage, change: Change) -> Stage:
    return replace(stage, request=change(stage.request), changes=tuple(_moved(one, change) for one in stage.changes))


def _moved(one: WorldChange, change: Change) -> WorldChange:
    return replace(one, key=change(one.key), fields=changed(one.fields, change))


def _execution(one: Execution, change: Change) -> Execution:
    return replace(one, why=change(one.why), actions=tuple(_message(action, change) for action in one.actions))


def _message(said: Message, change: Change) -> Message:
    calls = tuple(replace(call, arguments=changed(call.arguments, change)) for call in said.tool_calls)
    return replace(said, content=change(said.content), tool_calls=calls)
