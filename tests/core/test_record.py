import json
from dataclasses import replace
from decimal import Decimal

import pytest

from cowork_gym.core.episode import Dispatch, Ending, Episode, Turn
from cowork_gym.core.errors import Blame, FaultRecord, PackageError
from cowork_gym.core.grade import CheckResult, Grade, Part
from cowork_gym.core.ledger import Effect, Ledger
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.core.snapshot import Change

GRADE = Grade(
    "M1", "M1@1:abc", "1", "cowork-v1", 0.5, 1.0, 1.0, 0.25, 0.5, {"cowork-v1": 0.5, "claw-v1": 1.0},
    (CheckResult("c", "tool_called", Part.OBJECTIVE, True, 0.3, "It was called.", ("ledger:1",)),),
)
LEDGER = Ledger().append(
    time="2026-03-02T09:00:01Z", dispatch="c1", service="crm", tool="crm_get", effect=Effect.READ, arguments={"id": "C-1"}, status=200,
    outcome={"price": Decimal("0.12345678901234567890")}, audit="seen", record={"id": "C-1"},
)
CALL = Message("assistant", "I look\u2028\x85\r\n", (
    ToolCall("crm_get", {"id": "C-1", "n": 1.0}, "c1"), ToolCall("crm_get", '{"id": "\\ud800 \ud800"', "c2"),
))
DISPATCHES = (
    Dispatch("c1", "crm_get", 200, '{"a":1}', 1), Dispatch("c2", "crm_get", 422, "no"), Dispatch("c1", "crm_get", 200, '{"a":1}', 1, True),
)
CHANGES = (
    Change("crm.customers", "C-1", {"n": 1, "score": 33.0}, {"n": Decimal("2.50"), "score": 1e22}), Change("crm.customers", "C-2", None, {}),
    Change("crm.customers", "C-3", {"tags": [None, True]}, None),
)
EPISODE = Episode(
    task="M1", release_id="M1@1:abc", seed=7, agent="openai:some/model@http://x", opening=(Message("user", "Do it. 😀 证书"),),
    turns=(
        Turn(0, CALL, (Message("tool", '{"a":1}', (), "c1", "crm_get"), Message("tool", "no", (), "c2")), DISPATCHES),
        Turn(1, None, (Message("user", "what?"),), invalid="no message"), Turn(2, final("done"), ()),
    ),
    ledger=LEDGER, changes=CHANGES, start="s" * 64, end="e" * 64, ending=Ending.FINAL, answer="done \ud800", grade=GRADE,
)


def lines_of(path):
    return path.read_bytes().split(b"\n")


def rewritten(path, change):
    path.write_bytes(b"\n".join(change(lines_of(path))))
    return path


def test_what_is_written_is_read(tmp_path):
    path = write_episode(EPISODE, tmp_path / "new" / "folder")
    again = read_episode(path)
    assert path.name == f"M1-openai_some_model_http___x-7-{seal(EPISODE)[:8]}.jsonl"
    for name in ("task", "release_id", "seed", "agent", "opening", "ledger", "changes", "start", "end", "ending", "answer", "fault", "grade",
    "dispatches"):
        assert getattr(again, name) == getattr(EPISODE, name), name
    assert [message.wire() for message in again.messages] == [message.wire() for message in EPISODE.messages]
    assert [(turn.index, turn.invalid) for turn in again.turns] == [(0, None), (1, "no message"), (2, None)]
    assert again.ledger.entries == LEDGER.entries and again.ledger.verify()
    assert isinstance(again.grade.reward, float) and isinstance(again.grade.checks[0].part, Part) and again.grade.passed is EPISODE.grade.passed


def test_a_copy_has_the_same_seal_and_the_same_bytes(tmp_path):
    path = write_episode(EPISODE, tmp_path)
    again = read_episode(path)
    assert seal(again) == seal(EPISODE)
    assert write_episode(again, tmp_path / "copy").read_bytes() == path.read_bytes()


def test_the_grade_stands_outside_the_seal(tmp_path):
    graded = EPISODE.with_grade(replace(GRADE, reward=0.1))
    assert seal(graded) == seal(EPISODE) == seal(replace(EPISODE, grade=None))
    assert write_episode(graded, tmp_path) == write_episode(EPISODE, tmp_path)
    path = write_episode(replace(EPISODE, grade=None), tmp_path)
    assert read_episode(path).grade is None


def test_everything_else_is_sealed():
    others = {
        "task": "M2", "release_id": "M1@2:abc", "seed": 8, "agent": "noop", "opening": (), "turns": EPISODE.turns[:2], "ledger": Ledger(),
        "changes": EPISODE.changes[:1], "start": "x", "end": "x", "ending": Ending.STOPPED, "answer": None,
        "fault": FaultRecord(Blame.MODEL_SERVER, "server", "gone"),
    }
    assert len({seal(EPISODE), *(seal(replace(EPISODE, **{name: value})) for name, value in others.items())}) == len(others) + 1


def test_a_quarantined_episode_keeps_its_fault_and_has_no_reward(tmp_path):
    fault = FaultRecord(Blame.ENVIRONMENT, "crm_get", "ZeroDivisionError: \ud800")
    grade = replace(GRADE, reward=None, completion=None, safety=None, robustness=None, outcome=None, rewards={}, checks=(), fault=fault)
    again = read_episode(write_episode(replace(EPISODE, ending=Ending.FAULT, fault=fault, answer=None, grade=grade), tmp_path))
    assert (again.ending, again.fault, again.grade, again.grade.passed) == (Ending.FAULT, fault, grade, False)


def test_the_file_is_utf8_json_lines(tmp_path):
    lines = write_episode(EPISODE, tmp_path).read_text(encoding="utf-8").split("\n")
    events = [json.loads(line)["event"] for line in lines[:-1]]
    assert lines[-1] == "" and events == ["episode", *["turn"] * 3, "ledger", *["change"] * 3, "end", "seal", "grade"]
    assert json.loads(lines[0])["schema_version"] == 0


@pytest.mark.parametrize("at", range(9))
def test_a_changed_byte_is_detected(tmp_path, at):
    path = write_episode(EPISODE, tmp_path)

    def change(lines):
        return [*lines[:at], lines[at].replace(b'"event":', b'"event": '), *lines[at + 1 :]]

    with pytest.raises(PackageError, match="line 10: the seal does not match"):
        read_episode(rewritten(path, change))


@pytest.mark.parametrize(("change", "said"), [
    (lambda lines: lines[:5], "the seal is missing: the file is cut off"),
    (lambda lines: [*lines[:5], lines[5][:20]], "not an episode file"),
    (lambda lines: [*lines[:4], *lines[5:]], "the seal does not match"),
    (lambda lines: [*lines[:4], lines[4], *lines[4:]], "the seal does not match"),
    (lambda lines: [lines[1], lines[0], *lines[2:]], "line 1: not an episode file"),
    (lambda lines: [lines[0].replace(b'"schema_version":0', b'"schema_version":1'),
    *lines[1:]], "schema_version: this reader knows version 0, the file has 1"),
    (lambda lines: [lines[0].replace(b'"schema_version":0,', b""), *lines[1:]], "the file has None"),
    (lambda lines: [b""], "not an episode file"), (lambda lines: [b"[]"], "not an episode file"),
    (lambda lines: [b"3", *lines], "not an episode file"),
    (lambda lines: ["é".encode("latin-1"), *lines], "not an episode file"), (lambda lines: [b"[" * 100_000, *lines], "not an episode file"),
    (lambda lines: [*lines[:10], lines[10].replace(b'"reward"', b'"award"')], "not an episode file of version 0"),
    (lambda lines: [*lines[:10], lines[10].replace(b'"objective"', b'"none"')], "not an episode file of version 0"),
])
def test_a_bad_file_is_told_in_one_line(tmp_path, change, said):
    path = rewritten(write_episode(EPISODE, tmp_path), change)
    with pytest.raises(PackageError, match=said) as found:
        read_episode(path)
    assert str(found.value).startswith(str(path)) and "\n" not in str(found.value)


def test_what_stands_after_the_seal_is_no_part_of_the_episode(tmp_path):
    path = write_episode(EPISODE, tmp_path)
    again = read_episode(rewritten(path, lambda lines: [*lines[:10], lines[1], lines[4], lines[5], lines[10], b""]))
    assert (len(again.turns), len(again.ledger), len(again.changes), again.grade) == (3, 1, 3, GRADE)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(PackageError, match="No such file"):
        read_episode(tmp_path / "none.jsonl")


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    first = write_episode(EPISODE, tmp_path)
    before = first.read_bytes()

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_episode(EPISODE.with_grade(replace(GRADE, reward=0.1)), tmp_path)
    assert [*tmp_path.iterdir()] == [first] and first.read_bytes() == before
