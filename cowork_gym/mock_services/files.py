"""Files: the workspace of the episode, as its tools show it. The table is the world's own, so this service brings none."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator
from pydantic import Field as Bounds
from typing_extensions import TypedDict

from cowork_gym.mock_services.kit import Effect, ErrorKind, Service, ToolError, tool
from cowork_gym.mock_services.kit.files import File

__all__ = ["MAX_CONTENT", "Content", "FileDeleted", "FileList", "FilePath", "FileRead", "FileSummary", "FileWritten", "Files", "Folder"]

MAX_CONTENT = 200_000
"""Characters of a file that is read or written; what an agent may send in one call is not much more."""
_ABSOLUTE = re.compile(r"/|[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _folder(text: str) -> str:
    """A path without `.` and doubled slashes; the workspace itself is `.`.

    Raises:
        ValueError: It may lead out of the workspace, or has a part that no file should be called.
    """
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if _ABSOLUTE.match(text) or ".." in parts:
        raise ValueError(f"should be a path inside the workspace such as notes/plan.md, not {text[:60]!r}")
    if "\\" in text or _CONTROL.search(text) or any(part != part.strip() for part in parts):
        raise ValueError(f"should have / between its parts and no other separators, control characters or spaces around them, not {text[:60]!r}")
    return "/".join(parts) or "."


def _path(text: str) -> str:
    """A path that can be that of a file.

    Raises:
        ValueError: It is that of a folder, or `_folder` refuses it.
    """
    path = _folder(text)
    if path == "." or text.endswith(("/", "/.")):
        raise ValueError(f"should name a file, not the folder {text[:60]!r}")
    return path


_Written = Annotated[str, Bounds(min_length=1, max_length=500)]
FilePath = Annotated[_Written, AfterValidator(_path), Bounds(examples=["report.md", "notes/plan.md"])]
"""Where a file is, from the workspace."""
Folder = Annotated[_Written, AfterValidator(_folder), Bounds(examples=["notes"])]
"""Where a folder is, from the workspace."""
Content = Annotated[str, Bounds(max_length=MAX_CONTENT)]
"""The text of a file."""


class FileSummary(TypedDict):
    """What the list shows of a file."""

    path: str
    bytes: int
    kind: Literal["text", "binary"]


class FileList(TypedDict):
    """Files, ordered by path."""

    files: list[FileSummary]
    total: int


class FileRead(TypedDict):
    """A file with its text."""

    path: str
    content: str


class FileWritten(TypedDict):
    """A file that was written, and whether it is new."""

    status: Literal["created", "replaced"]
    path: str
    bytes: int


class FileDeleted(TypedDict):
    """A file that is gone."""

    status: Literal["deleted"]
    path: str


class Files(Service):
    """Workspace: text files in folders, to list, read, write and delete."""

    name = "files"

    @tool(Effect.READ)
    def list(self, folder: Folder | None = None) -> FileList:
        """List the files of the workspace with their sizes, ordered by path, those in folders included.

        Args:
            folder: Only files in this folder and the folders in it, such as notes. A folder is there as long as a file is in it.

        Raises:
            ToolError: There is no such folder.
        """
        inside = "" if folder in (None, ".") else f"{folder}/"
        rows = [row for row in self.store.find(File) if row.path.startswith(inside)]
        if inside and not rows:
            raise ToolError(f"Folder {folder} not found", ErrorKind.NOT_FOUND)
        found = [FileSummary(path=row.path, bytes=len(row.content), kind="text" if "content" in File.shown(row) else "binary") for row in rows]
        return {"files": found, "total": len(found)}

    @tool(Effect.READ)
    def read(self, path: FilePath) -> FileRead:
        """Read a text file. files_list says which files there are, and which of them are text.

        Args:
            path: The file, from the workspace, such as notes/plan.md.

        Raises:
            ToolError: There is no such file, it is not text, or it is too large.
        """
        text = File.shown(self.store.get(File, path)).get("content")
        if text is None:
            raise ToolError(f"File {path} is binary and cannot be read as text")
        if len(text) > MAX_CONTENT:
            raise ToolError(f"File {path} is too large to be read: {len(text)} characters, at most {MAX_CONTENT}")
        return {"path": path, "content": text}

    @tool(Effect.WRITE, audit="written_files")
    def write(self, path: FilePath, content: Content) -> FileWritten:
        """Write a text file: a new one, or the whole of one in place of what it held. Folders that are missing come with it.

        Args:
            path: The file, from the workspace, such as notes/plan.md.
            content: The whole text.

        Raises:
            ToolError: The path is that of a folder, or leads through a file.
        """
        stored = content.encode()
        if self.store.peek(File, path) is not None:
            self.store.update(File, path, content=stored)
            status: Literal["created", "replaced"] = "replaced"
        else:
            self._check_free(path)
            self.store.insert(File, path=path, content=stored)
            status = "created"
        self.audit({"path": path, "content": content, "status": status, "timestamp": self.stamp})
        return {"status": status, "path": path, "bytes": len(stored)}

    @tool(Effect.WRITE, audit="deleted_files")
    def delete(self, path: FilePath) -> FileDeleted:
        """Delete a file for good.

        Args:
            path: The file, from the workspace, such as notes/plan.md.
        """
        row = self.store.get(File, path)
        self.store.delete(File, path)
        self.audit({**File.shown(row), "timestamp": self.stamp})
        return {"status": "deleted", "path": path}

    def _check_free(self, path: str) -> None:
        """See that a path could be that of a new file on a disk.

        Raises:
            ToolError: It could not.
        """
        for above in PurePosixPath(path).parents:
            if self.store.peek(File, str(above)) is not None:
                raise ToolError(f"{above} is a file, so that there can be no {path}", ErrorKind.CONFLICT)
        if any(row.path.startswith(f"{path}/") for row in self.store.find(File)):
            raise ToolError(f"{path} is a folder", ErrorKind.CONFLICT)
