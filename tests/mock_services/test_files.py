from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from office import FILES, ask, office, refusal

from cowork_gym.core.errors import PackageError
from cowork_gym.envs.world import World
from cowork_gym.graders import Evidence
from cowork_gym.graders.checks.state import FileContent
from cowork_gym.graders.checks.unchanged import Unchanged
from cowork_gym.mock_services.files import MAX_CONTENT, Files
from cowork_gym.testing import check_service
from cowork_gym.testing.optional_arguments import check_optional_arguments

OUTSIDE = ["/etc/passwd", "..", "../x", "a/../../x", "a/..", "C:/x", "c:x", "//x"]
ODD = ["a\\b", "..\\x", "a\nb", "a\x7fb", " a", "a ", "a /b", "a/ b", "   "]


def workspace(**files):
    return World.open([Files], files={name.replace("__", "/"): text.encode() for name, text in files.items()}, start=date(2026, 3, 10))


def paths(world, **arguments):
    return [one["path"] for one in ask(world, "files_list", **arguments)["files"]]


def test_it_keeps_what_every_service_promises():
    check_service(Files)
    check_optional_arguments([World.open([Files], files=FILES)], Files)


def test_the_list_tells_text_from_binary():
    assert ask(office(), "files_list") == {"total": 4, "files": [
        {"path": "brief.md", "bytes": 15, "kind": "text"}, {"path": "empty.txt", "bytes": 0, "kind": "text"},
        {"path": "notes/2026/plan.md", "bytes": 17, "kind": "text"}, {"path": "notes/logo.png", "bytes": 256, "kind": "binary"},
    ]}


def test_a_folder_is_listed_with_the_folders_in_it():
    world = workspace(notes__a="1", notes__b__c="2", notes2__d="3", e="4")
    assert paths(world, folder="notes") == paths(world, folder="./notes/") == ["notes/a", "notes/b/c"]
    assert paths(world, folder="notes//b") == ["notes/b/c"]
    assert paths(world, folder=".") == paths(world) == ["e", "notes/a", "notes/b/c", "notes2/d"]
    for missing in ("note", "e", "notes/a"):
        assert refusal(world, "files_list", folder=missing).value == {"error": f"Folder {missing} not found", "type": "not_found"}
    assert paths(workspace(), folder=".") == []


def test_text_is_read_as_it_is():
    world = office()
    assert ask(world, "files_read", path="notes/2026/plan.md") == {"path": "notes/2026/plan.md", "content": "计划：Zürich\n"}
    assert ask(world, "files_read", path="./notes//2026/plan.md")["path"] == "notes/2026/plan.md"
    assert ask(world, "files_read", path="empty.txt")["content"] == ""
    assert refusal(world, "files_read", path="notes").value == {"error": "File notes not found", "type": "not_found"}
    assert world.diff() == ()


def test_what_is_no_text_or_too_large_is_not_read():
    outcome = refusal(office(), "files_read", path="notes/logo.png")
    assert (outcome.status, outcome.value["error"]) == (422, "File notes/logo.png is binary and cannot be read as text")
    world = workspace(long="ü" * (MAX_CONTENT + 1), full="ü" * MAX_CONTENT)
    assert "200001 characters, at most 200000" in refusal(world, "files_read", path="long").text
    assert len(ask(world, "files_read", path="full")["content"]) == MAX_CONTENT


def test_writing_creates_and_replaces():
    world = office()
    assert ask(world, "files_write", path="./out//Q1.md", content="Grüße\r\n") == {"status": "created", "path": "out/Q1.md", "bytes": 9}
    assert (world.ledger[-1].audit, world.ledger[-1].record) == (
        "written_files", {"path": "out/Q1.md", "content": "Grüße\r\n", "status": "created", "timestamp": "2026-03-10T09:00:01Z"},
    )
    assert ask(world, "files_write", path="brief.md", content="")["status"] == "replaced"
    assert ask(world, "files_write", path="notes/logo.png", content="text now")["status"] == "replaced"
    assert world.read_file("out/Q1.md") == "Grüße\r\n".encode() and world.read_file("brief.md") == b""
    made = {change.key: (change.table, change.before and change.before.get("content"), change.after["content"]) for change in world.diff()}
    assert made == {
        "out/Q1.md": ("workspace.files", None, "Grüße\r\n"), "brief.md": ("workspace.files", "Read me first.\n", ""),
        "notes/logo.png": ("workspace.files", None, "text now"),
    }


def test_writing_the_same_text_changes_nothing():
    world = office()
    ask(world, "files_write", path="brief.md", content="Read me first.\n")
    assert world.diff() == () and world.fingerprint() == office().fingerprint()


@pytest.mark.parametrize(("path", "text"), [("notes", "notes is a folder"), ("notes/2026", "is a folder"), ("brief.md/x/y", "brief.md is a file")])
def test_a_path_is_of_a_file_or_of_a_folder(path, text):
    outcome = refusal(office(), "files_write", path=path, content="x")
    assert outcome.status == 409 and text in outcome.text


def test_a_file_that_begins_like_another_is_no_folder():
    world = workspace(notes__a="1", report="2")
    for path in ("note", "notes.md", "reports", "report.md", "notes/a.md"):
        assert ask(world, "files_write", path=path, content="x")["status"] == "created"


def test_deleting_removes_the_file_once():
    world = office()
    assert ask(world, "files_delete", path="brief.md") == {"status": "deleted", "path": "brief.md"}
    deleted = {"path": "brief.md", "content": "Read me first.\n", "timestamp": "2026-03-10T09:00:01Z"}
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("deleted_files", deleted)
    assert world.read_file("brief.md") is None and [change.after for change in world.diff()] == [None]
    assert refusal(world, "files_delete", path="brief.md").value["type"] == "not_found"
    assert refusal(world, "files_delete", path="notes").value["type"] == "not_found"
    ask(world, "files_delete", path="notes/logo.png")
    assert world.ledger[-1].record["bytes"] == 256


@pytest.mark.parametrize("path", [*OUTSIDE, *ODD, "", ".", "a/", "a/.", "x" * 501])
@pytest.mark.parametrize(("tool", "others"), [("files_read", {}), ("files_write", {"content": "x"}), ("files_delete", {})])
def test_paths_that_are_none_are_refused_at_the_door(tool, others, path):
    world = office()
    assert refusal(world, tool, path=path, **others).status == 422
    assert len(world.ledger) == 0


@pytest.mark.parametrize("folder", [*OUTSIDE, *ODD, ""])
def test_folders_that_are_none_are_refused_at_the_door(folder):
    assert refusal(office(), "files_list", folder=folder).status == 422


def test_what_is_too_long_is_refused_at_the_door():
    assert refusal(office(), "files_write", path="a", content="x" * (MAX_CONTENT + 1)).status == 422


@settings(max_examples=60)
@given(path=st.text(st.sampled_from("ab./\\ :~\né\u3000"), max_size=8))
def test_whatever_is_written_lies_inside_under_one_name(path):
    world = workspace()
    outcome = world.call("files_write", {"path": path, "content": "x"})
    if outcome.status != 200:
        assert world.diff() == ()
        return
    [change] = world.diff()
    assert change.key == outcome.value["path"]
    assert not {"", ".", ".."} & {*change.key.split("/")} and "\\" not in change.key
    assert ask(world, "files_read", path=path) == ask(world, "files_read", path=change.key)
    assert paths(world) == [change.key]


def test_graders_see_what_was_written():
    world = office()
    ask(world, "files_write", path="out.md", content="42")
    evidence = Evidence(world.blueprint.start_rows, world.diff(), world.ledger)
    stray = Unchanged.model_validate({"id": "u", "kind": "unchanged", "weight": 1}).examine(evidence)
    assert not stray.passed and stray.evidence == ("file:out.md",)
    allow = [{"table": "workspace.files", "key": "out.md", "change": "created"}]
    assert Unchanged.model_validate({"id": "u", "kind": "unchanged", "weight": 1, "allow": allow}).examine(evidence).passed
    assert FileContent.model_validate({"id": "f", "kind": "file_content", "weight": 1, "path": "out.md", "content": "42"}).examine(evidence).passed
    assert [record["path"] for _, record in evidence.audited("files.written_files")] == ["out.md"]


def test_the_service_has_no_records_of_its_own():
    with pytest.raises(PackageError, match="files: unknown collection"):
        World.open([Files], {"files": {"files": [{"path": "a", "content": "b"}]}})
