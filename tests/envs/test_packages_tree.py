"""Packages on the disk: what is no file or folder of the package's own is refused, and so is what the system refuses, in one line."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cowork_gym.core.errors import PackageError
from cowork_gym.envs.executions import read_script
from cowork_gym.envs.package_tree import MAX_BYTES, list_folder, read_bytes, read_tree
from cowork_gym.envs.packages import load_task
from cowork_gym.envs.registration import CATALOG, REGISTRY

LONG = "M" * 300


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return shutil.copytree(CATALOG / "M1100_at_risk_key_rotation", tmp_path / "M1100")


def _refusal(call: Callable[[], object]) -> str:
    with pytest.raises(PackageError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def _load(package: Path) -> object:
    return load_task(package, REGISTRY.services())


def test_what_is_no_folder_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    for name, problem in (("file", "a task package is a folder"), ("nowhere", "no such folder"), (LONG, "File name too long")):
        assert _refusal(lambda name=name: _load(tmp_path / name)) == f"{tmp_path / name}: {problem}"


def test_a_package_may_be_reached_by_a_link(package: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(package)
    assert _load(tmp_path / "link").release_id == _load(package).release_id  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["world", "world/files", "private"])
def test_a_folder_of_a_package_is_not_elsewhere(package: Path, tmp_path: Path, name: str) -> None:
    (package / "world" / "files").mkdir()
    shutil.move(package / name, tmp_path / "elsewhere")
    (package / name).symlink_to(tmp_path / "elsewhere")
    assert _refusal(lambda: _load(package)) == f"{package / name}: a link, which is not followed"


@pytest.mark.parametrize("name", ["world", "world/files", "private"])
def test_a_folder_of_a_package_is_no_file(package: Path, name: str) -> None:
    shutil.rmtree(package / name, ignore_errors=True)
    (package / name).write_text("a: 1")
    assert _refusal(lambda: _load(package)) == f"{package / name}: not a folder"


@pytest.mark.parametrize("name", ["task.yaml", "world/crm.yaml", "private/grading.yaml", "world/files/note.txt", "world/files/notes"])
def test_a_link_in_a_package_is_not_followed(package: Path, tmp_path: Path, name: str) -> None:
    (package / "world" / "files").mkdir()
    target = tmp_path / "target"
    target.mkdir() if name.endswith("notes") else target.write_text("a: 1")
    (package / name).unlink(missing_ok=True)
    (package / name).symlink_to(target)
    assert _refusal(lambda: _load(package)) == f"{package / name}: not a regular file"


def test_a_pipe_in_a_package_is_not_waited_for(package: Path) -> None:
    (package / "world" / "files").mkdir()
    os.mkfifo(package / "world" / "files" / "pipe")
    assert _refusal(lambda: _load(package)).endswith("files/pipe: not a regular file")


@pytest.mark.parametrize(("name", "told"), [
    (b"a\xff.txt", r"the name 'a\udcff.txt' is not UTF-8"), (b"a\nb", r"the name 'a\nb' holds a control character"),
    (b".\xff", r"the name '.\udcff' is not UTF-8"),
])
def test_a_name_that_no_tool_could_say_is_refused(package: Path, name: bytes, told: str) -> None:
    folder = package / "world" / "files" / "notes"
    folder.mkdir(parents=True)
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x")
    assert _refusal(lambda: _load(package)) == f"{folder}: {told}"


@pytest.mark.parametrize("name", ["", "private", "world", "world/files", "world/files/inner"])
def test_a_folder_that_the_system_refuses_is_told(package: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (package / "world" / "files" / "inner").mkdir(parents=True)
    closed, listed = package / name, Path.iterdir

    def iterdir(path: Path) -> object:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert _refusal(lambda: _load(package)) == f"{closed}: Permission denied"


@pytest.mark.parametrize("name", ["task.yaml", "world/crm.yaml", "private/reference.yaml", "world/files/note.txt"])
@pytest.mark.parametrize("step", ["lstat", "stat", "read_bytes"])
def test_a_file_that_the_system_refuses_is_told(package: Path, monkeypatch: pytest.MonkeyPatch, name: str, step: str) -> None:
    (package / "world" / "files").mkdir()
    (package / "world" / "files" / "note.txt").write_text("x")
    closed, real = package / name, getattr(Path, step)

    def refuse(path: Path, *args: object, **options: object) -> object:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *args, **options)

    monkeypatch.setattr(Path, step, refuse)
    assert _refusal(lambda: _load(package)) == f"{closed}: Permission denied"


def test_a_script_with_a_name_that_cannot_be_is_told(tmp_path: Path) -> None:
    assert _refusal(lambda: read_script(tmp_path / LONG)).endswith(": File name too long")
    assert _refusal(lambda: read_script("a\0b")).endswith(": no such file")
    assert _refusal(lambda: read_script("\ud800")).endswith(": no such file")


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    assert _refusal(lambda: read_bytes(path)) == f"{path}: too large: 50.0 MB, at most {MAX_BYTES / 1e6:g} MB are read"


def test_links_and_folders_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a: 1")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for name, problem in (("link", "not a regular file"), (".", "not a regular file"), ("none", "no such file"), ("a/b", "no such file")):
        assert _refusal(lambda name=name: read_bytes(tmp_path / name)).endswith(f": {problem}")


def test_files_are_read_however_deep_they_are(tmp_path: Path) -> None:
    deep = tmp_path / "/".join(["d"] * 200)
    deep.mkdir(parents=True)
    (deep / ".hidden").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    assert read_tree(tmp_path) == {f"{deep.relative_to(tmp_path)}/.hidden": b"x"}
    assert [entry.name for entry in list_folder(tmp_path)] == ["d", "empty"]
    assert list_folder(tmp_path / "none") == [] and read_tree(tmp_path / "none") == {}
