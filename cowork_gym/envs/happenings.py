"""What happens in a world without the agent's doing: the changes between two parts of a task."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from cowork_gym.core.errors import Blame, Fault, ToolError, UserError, nearest
from cowork_gym.core.task import WorldChange
from cowork_gym.mock_services.kit.files import File
from cowork_gym.mock_services.kit.records import Record, View
from cowork_gym.mock_services.kit.store import Store
from cowork_gym.mock_services.kit.tables import Table

__all__ = ["happen", "table_of"]


def table_of(tables: Mapping[type[Record], Table], name: str) -> tuple[type[Record], Table]:
    """The table of this public name, with its record class.

    Raises:
        UserError: There is no such table.
    """
    for model, table in tables.items():
        if table.public == name:
            return model, table
    raise UserError(f"no table {name!r}, {nearest(name, (one.public for one in tables.values()))}")


def happen(store: Store, model: type[Record], change: WorldChange, *, foreseen: bool = False) -> View | None:
    """Bring one change about.

    What the agent has deleted cannot change or go any more, and a record that is there already is not made once more: the change
    then does nothing.

    Args:
        store: The state.
        model: The table's record class.
        change: What happens.
        foreseen: Whether it fits the world as it would be had nobody done anything. Where it does not fit, the agent has then made it
            impossible, and it does nothing either.

    Returns:
        The record as it is now; None when it is not there.

    Raises:
        Fault: The record does not fit its table.
    """
    row = store.peek(model, change.key)
    try:
        if change.op == "insert" and row is None:
            row = store.insert(model, **_columns(model, change.fields))
        elif change.op == "update" and row is not None:
            row = store.update(model, change.key, **_columns(model, {**_written(model, row), **change.fields}))
        elif change.op == "delete" and row is not None:
            store.delete(model, change.key)
            return None
    except (ToolError, ValueError, TypeError) as error:
        if not foreseen:
            raise Fault(Blame.ENVIRONMENT, f"{change.op} {change.table}/{change.key}", _told(error)) from error
    return None if row is None else model.shown(row)


def _written(model: type[Record], row: Any) -> View:
    """A row as an author writes it; files are written with their content."""
    return {"path": row.path, "content": row.content} if model is File else model.shown(row)


def _columns(model: type[Record], fields: Mapping[str, Any]) -> dict[str, Any]:
    if model is File and isinstance(fields.get("content"), str):
        fields = {**fields, "content": fields["content"].encode()}
    record = model.model_validate(model.from_fixture(fields))
    return {name: getattr(record, name) for name in model.model_fields}


def _told(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
