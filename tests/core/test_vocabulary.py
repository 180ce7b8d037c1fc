"""The small words: time, ids, errors, tasks, changes and grades."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from cowork_gym.core.clock import Clock, parse_time
from cowork_gym.core.errors import Blame, ErrorKind, Fault, FaultRecord, MissingExtra, PackageError, ToolError, UserError, nearest
from cowork_gym.core.grade import PASS, CheckResult, Grade, Part
from cowork_gym.core.ids import generator, seeded_id
from cowork_gym.core.snapshot import Change
from cowork_gym.core.structure import Capability, Structure
from cowork_gym.core.task import Budgets, Execution, Task

TASK = Task(
    "M1", 1, "A title", "Do it.", date(2026, 3, 2), ("crm", "kb"), ("crm_get", "kb_search"), world={"crm": {"customers": [{"id": "C-1", "n": 1}]}},
    files={"a.txt": b"a"}, contracts={"crm_get": {"type": "object"}}, grading={"checks": [{"weight": Decimal("0.5")}]}, grader_version="1",
)
GRADE = Grade("M1", "M1@1:a", "1", "cowork-v1", 0.75, 1.0, 1.0, 1.0, 1.0, checks=(CheckResult("<c>", "answer", Part.OUTCOME, False, 0.0, "5 < 6"),))


def test_time_is_a_function_of_the_ledger():
    clock = Clock.on(date(2026, 3, 2))
    assert clock.at(0) == datetime(2026, 3, 2, 9, tzinfo=UTC) and clock.stamp(0) == "2026-03-02T09:00:00Z"
    assert clock.stamp(61) == "2026-03-02T09:01:01Z" and clock.at(5) == clock.at(5)
    assert replace(clock, tick=timedelta(minutes=30)).stamp(31) == "2026-03-03T00:30:00Z"


@pytest.mark.parametrize(("text", "moment"), [
    ("2026-03-02", datetime(2026, 3, 2, tzinfo=UTC)), ("2026-03-02T09:00:00", datetime(2026, 3, 2, 9, tzinfo=UTC)),
    ("2026-03-02T09:00:00Z", datetime(2026, 3, 2, 9, tzinfo=UTC)), ("2026-03-02T09:00:00+02:00", datetime(2026, 3, 2, 7, tzinfo=UTC)),
    ("2026-03-02 09:00", datetime(2026, 3, 2, 9, tzinfo=UTC)),
])
def test_records_tell_time_in_many_ways(text, moment):
    assert parse_time(text) == moment and parse_time(text).tzinfo is UTC


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "02.03.2026"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError):
        parse_time(text)


def test_ids_follow_from_the_seed_and_are_all_different():
    ids = {seeded_id(seed, prefix, number) for seed in range(5) for prefix in ("T-", "M-") for number in range(100)}
    assert len(ids) == 1000
    assert seeded_id(1, "T-", 7) == seeded_id(1, "T-", 7) and seeded_id(1, "T-", 7).startswith("T-007-")


def test_each_purpose_has_numbers_of_its_own():
    assert generator(1, "a").random() == generator(1, "a").random()
    assert len({generator(*names).random() for names in ((1,), (2,), (1, "a"), (1, "b"), (1, "a", 1), ("1a",))}) == 6


@pytest.mark.parametrize(("word", "choices", "hint"), [
    ("ticket", ["tickets", "mails"], "did you mean 'tickets'?"), ("tikcets", ["tickets", "mails"], "did you mean 'tickets'?"),
    ("zzz", ["b", "a"], "choose from a, b"), ("zzz", [], "there is none to choose from"), ("", ["a"], "choose from a"),
    ("zzz", [str(n) for n in range(20)], "choose from 0, 1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, …"),
])
def test_the_nearest_choice(word, choices, hint):
    assert nearest(word, choices) == nearest(word, choices[::-1]) == hint


def test_errors_say_who_reads_them():
    error = ToolError("no", ErrorKind.CONFLICT)
    assert error.outcome() == {"error": "no", "type": "conflict"} and error.kind.status == 409
    assert ErrorKind.NOT_FOUND.status == 200 and all(kind.status >= 400 for kind in ErrorKind if kind is not ErrorKind.NOT_FOUND)
    assert str(PackageError("task.yaml", "", "empty")) == "task.yaml: empty" and str(PackageError("a", "b", "c")) == "a: b: c"
    assert isinstance(MissingExtra("x", "pip install x"), UserError)
    assert Fault(Blame.GRADER, "check", "broke").record == FaultRecord(Blame.GRADER, "check", "broke")


@pytest.mark.parametrize(("field", "value"), [
    ("id", "M2"), ("version", 2), ("request", "Do it!"), ("mock_today", date(2026, 3, 3)), ("services", ("kb", "crm")), ("tools", ("crm_get",)),
    ("budgets", Budgets(turns=41)), ("budgets", Budgets(calls=1)), ("budgets", Budgets(tokens=1)), ("budgets", Budgets(seconds=1.5)),
    ("world", {"crm": {"customers": [{"id": "C-1", "n": 2}]}}), ("world", {"crm": {"customers": [{"id": "C-1", "n": "1"}]}}),
    ("files", {"a.txt": b"b"}),
    ("files", {"b.txt": b"a"}), ("contracts", {"crm_get": {"type": "object", "required": ["id"]}}),
    ("grading", {"checks": [{"weight": Decimal("0.6")}]}),
    ("grader_version", "2"),
])
def test_what_decides_the_outcome_is_in_the_release_id(field, value):
    assert replace(TASK, **{field: value}).release_id != TASK.release_id


@pytest.mark.parametrize(("field", "value"), [
    ("title", "x"), ("notes", "x"), ("category", "x"), ("difficulty", "hard"), ("language", "de"),
    ("structure", Structure({Capability.DISCOVER: ()})), ("given", ("x",)),
    ("references", (Execution("r", ()),)), ("negatives", (Execution("n", (), 0.4),)), ("world", {"crm": {"customers": ({"n": 1.0, "id": "C-1"},)}}),
    ("grading", {"checks": [{"weight": 0.5}]}),
])
def test_what_decides_nothing_is_not(field, value):
    assert replace(TASK, **{field: value}).release_id == TASK.release_id
    assert TASK.release_id.startswith("M1@1:")


def test_a_change_names_the_fields_that_differ():
    assert Change("t", "k", {"a": 1, "b": 2}, {"a": 1.0, "b": 3, "c": None}).fields() == {"b"}
    assert Change("t", "k", None, {"a": 1}).fields() == {"a"} == Change("t", "k", {"a": 1}, None).fields()


def test_a_grade_passes_from_its_threshold_on():
    assert GRADE.passed and not replace(GRADE, reward=PASS - 0.001).passed and not replace(GRADE, reward=None).passed
    assert GRADE.to_dict()["passed"] is True and GRADE.to_dict()["checks"][0]["part"] == "outcome"


def test_a_grade_is_shown_without_letting_texts_in_as_html():
    shown = replace(GRADE, fault=FaultRecord(Blame.GRADER, "x", "<b>"))._repr_html_()
    assert "&lt;c&gt;" in shown and "5 &lt; 6" in shown and "&lt;b&gt;" in shown and "<c>" not in shown
