"""Workspace files: a table like any other, so that one snapshot is the whole world."""

from collections.abc import Mapping
from typing import Any, ClassVar

from cowork_gym.mock_services.kit.columns import Blob
from cowork_gym.mock_services.kit.records import Field, Record

__all__ = ["File"]


class File(Record, table=True):
    """One file of the workspace."""

    collection: ClassVar[str] = "files"
    path: str = Field(primary_key=True)
    content: bytes = Field(sa_type=Blob)

    @classmethod
    def shown(cls, row: Any) -> dict[str, Any]:
        """Text as text; what is not UTF-8 by its size alone."""
        try:
            return {"path": row.path, "content": row.content.decode()}
        except UnicodeDecodeError:
            return {"path": row.path, "bytes": len(row.content)}

    @classmethod
    def from_fixture(cls, fixture: Mapping[str, Any]) -> dict[str, Any]:
        """Path and bytes, as they are."""
        return dict(fixture)
