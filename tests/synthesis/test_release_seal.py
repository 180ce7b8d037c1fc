"""The seal: every byte counts, a name is written once, and what was interrupted is no release."""

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from release_samples import admits, package, plan

from cowork_gym.core.errors import UserError
from cowork_gym.synthesis.release import Damage, Release, load_release, make_release, verify_release
from cowork_gym.synthesis.release.seal import damages, drafting, publish


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sealed")
    return make_release(plan(), [package(place, "Printer")], place / "out", admits).folder


@pytest.fixture
def copy(sealed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sealed, tmp_path / sealed.name)


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_whole_release_is_whole(sealed: Path) -> None:
    assert verify_release(sealed) == ()
    assert load_release(sealed).folder == sealed


def test_one_changed_bit_of_any_file_is_found(copy: Path) -> None:
    for name in _files(copy):
        content = (copy / name).read_bytes()
        for at in {0, len(content) // 2, len(content) - 1}:
            (copy / name).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            assert verify_release(copy), f"{name}, byte {at}"
            with pytest.raises(UserError):
                load_release(copy)
        (copy / name).write_bytes(content)
    assert verify_release(copy) == ()


def test_one_added_byte_and_one_cut_off_are_found(copy: Path) -> None:
    for name in _files(copy):
        content = (copy / name).read_bytes()
        for other in (content + b"\n", content[:-1]):
            (copy / name).write_bytes(other)
            assert verify_release(copy), name
        (copy / name).write_bytes(content)


def test_a_missing_file_is_found(copy: Path) -> None:
    for name in _files(copy):
        content = (copy / name).read_bytes()
        (copy / name).unlink()
        assert verify_release(copy), name
        (copy / name).write_bytes(content)
    shutil.rmtree(copy / "private")
    assert {one.what for one in verify_release(copy)} == {"missing"}
    assert verify_release(copy, public=True) == ()
    assert load_release(copy, public=True).name == "desks-1"


def test_what_is_extra_is_found(copy: Path) -> None:
    (copy / "public" / "note.txt").write_text("")
    (copy / "private" / ".hidden").write_text("x")
    (copy / "empty").mkdir()
    (copy / "link").symlink_to("README.md")
    expected = [Damage(path, "extra") for path in ("empty", "link", "private/.hidden", "public/note.txt")]
    assert [*verify_release(copy)] == expected
    with pytest.raises(UserError, match="not as it was sealed: empty is extra, and 3 more"):
        load_release(copy)


def test_a_link_in_place_of_a_file_is_found(copy: Path) -> None:
    (copy / "README.md").rename(copy.parent / "README.md")
    (copy / "README.md").symlink_to(copy.parent / "README.md")
    assert verify_release(copy) == (Damage("README.md", "changed"),)


def test_a_release_under_another_name_is_none(copy: Path) -> None:
    other = copy.rename(copy.parent / "desks-2")
    assert verify_release(other) == (Damage("desks-2", "renamed", "the folder must have the release's name, desks-1"),)
    with pytest.raises(UserError, match="desks-2 is renamed: the folder must have the release's name, desks-1"):
        load_release(other)


def test_the_manifest_is_that_of_sha256sum(sealed: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("there is no sha256sum")
    done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "MANIFEST"], cwd=sealed, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    covered = {line.partition("  ")[2] for line in (sealed / "MANIFEST").read_text(encoding="utf-8").splitlines()}
    assert covered == {*_files(sealed)} - {"MANIFEST", "COMPLETE"}


def test_a_name_is_written_once(sealed: Path, tmp_path: Path) -> None:
    before = {name: (sealed / name).read_bytes() for name in _files(sealed)}
    with pytest.raises(UserError, match="exists already; a release is written once"):
        make_release(plan(), [package(tmp_path, "Printer")], sealed.parent, admits)
    assert {name: (sealed / name).read_bytes() for name in _files(sealed)} == before
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match="exists already"):
        make_release(plan("taken"), [tmp_path / "Printer"], tmp_path, admits)


@pytest.mark.parametrize("moment", ["write_bytes", "rename", "chmod"])
def test_an_interruption_leaves_nothing(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = package(tmp_path, "Printer"), tmp_path / "out"

    def stop(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, moment, stop)
        with pytest.raises(KeyboardInterrupt):
            make_release(plan(), [source], out, admits)
    assert [*out.iterdir()] == []
    assert make_release(plan(), [source], out, admits).name == "desks-1"


KILLED = """
import os, signal, sys
from pathlib import Path
from cowork_gym.synthesis.release import seal
moment, place = sys.argv[1], Path(sys.argv[2])
def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(seal if moment.startswith("_") else Path, moment, die)
with seal.drafting(place / "desks-1") as draft:
    (draft / "release.json").write_text("{}")
    seal.publish(draft, place / "desks-1")
"""


@pytest.mark.parametrize("moment", ["_hash", "_flush", "rename"])
def test_a_killed_writer_leaves_no_release(moment: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, moment, str(tmp_path)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".desks-1-")
    with pytest.raises(UserError):
        load_release(left)
    with drafting(tmp_path / "desks-1") as draft:  # the name is still free
        (draft / "file").write_text("x")
        publish(draft, tmp_path / "desks-1")
    assert damages(tmp_path / "desks-1") == ()


def test_of_several_writers_one_wins(tmp_path: Path) -> None:
    ready, outcomes = threading.Barrier(8), list[str]()

    def write(number: int) -> None:
        try:
            with drafting(tmp_path / "desks-1") as draft:
                (draft / "file").write_text(str(number))
                ready.wait()
                publish(draft, tmp_path / "desks-1")
            outcomes.append("won")
        except UserError as error:
            outcomes.append(str(error))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert outcomes.count("won") == 1
    assert all("exists already" in one for one in outcomes if one != "won")
    assert [one.name for one in tmp_path.iterdir()] == ["desks-1"]
    assert damages(tmp_path / "desks-1") == ()


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="nothing was written"):
        make_release(plan(), [package(tmp_path, "Printer")], tmp_path / "file" / "out", admits)


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_no_release(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="no such folder"):
        verify_release(tmp_path / name)


def test_a_forged_record_is_refused(copy: Path) -> None:
    """A manifest and a marker that agree with each other do not make a record that is of the form."""
    loaded: Release = load_release(copy)
    (copy / "COMPLETE").unlink()
    (copy / "MANIFEST").unlink()
    (copy / "release.json").write_text('{"schema_version": 1, "name": "desks-1"}')
    forged = copy.parent / "forged"
    forged.mkdir()
    publish(copy, forged / "desks-1")
    with pytest.raises(UserError, match=r"release\.json: "):
        load_release(forged / "desks-1")
    assert loaded.seal != (forged / "desks-1" / "COMPLETE").read_text().strip()
