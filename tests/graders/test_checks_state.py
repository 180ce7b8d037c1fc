from typing import Any

import pytest
from grading_samples import CLOSED, MAIL, OTHER, SOLVED, TICKET, check, evidence_of, verdict
from pydantic import ValidationError

from cowork_gym.core.errors import Blame, Fault
from cowork_gym.core.snapshot import Change
from cowork_gym.graders import Evidence

T1 = {"table": "helpdesk.tickets", "key": "T-1"}
GONE = Change("helpdesk.tickets", "T-2", OTHER, None)
MADE = Change("helpdesk.tickets", "T-3", None, {"ticket_id": "T-3"})
READ = Change("gmail.messages", "m1", MAIL, {**MAIL, "is_read": True})


def test_row_state() -> None:
    found = verdict(evidence_of(changes=(CLOSED,)), "row_state", **T1, fields={"status": "closed", "resolution": {"contains": "kb-7"}})
    reason = 'helpdesk.tickets/T-1 is as required: status is "closed", resolution is "Rotate the API key (KB-7)".'
    assert found == (True, reason, ("row:helpdesk.tickets/T-1",))


def test_row_state_names_each_field_that_differs() -> None:
    found = verdict(evidence_of(), "row_state", **T1, fields={"status": "closed", "tags": {"set": ["urgent", "auth"]}, "owner": {"present": True}})
    reason = 'helpdesk.tickets/T-1 is not as required: status: expected "closed", found "open"; owner: expected a value, found nothing.'
    assert found == (False, reason, ("row:helpdesk.tickets/T-1",))


@pytest.mark.parametrize(("key", "exists", "passed", "word"), [
    ("T-1", True, True, "exists"), ("T-1", False, False, "exists"), ("T-2", True, False, "does not exist"), ("T-2", False, True, "does not exist"),
])
def test_row_state_of_presence_alone(key: str, exists: bool, passed: bool, word: str) -> None:
    found = verdict(evidence_of(changes=(GONE,)), "row_state", table="helpdesk.tickets", key=key, exists=exists)
    assert found == (passed, f"helpdesk.tickets/{key} {word}.", (f"row:helpdesk.tickets/{key}",))


@pytest.mark.parametrize(("path", "passed", "reason"), [
    ("notes.md", True, 'The file notes.md is as required: something that contains "rotate".'),
    ("logo.png", False, "The file logo.png is not text."),
    ("out.csv", False, "The file out.csv does not exist."),
    ("a.md", False, 'The file a.md is not as required: expected something that contains "rotate", found "none".'),
])
def test_file_content(path: str, passed: bool, reason: str) -> None:
    made = Change("workspace.files", "a.md", None, {"path": "a.md", "content": "none"})
    assert verdict(evidence_of(changes=(made,)), "file_content", path=path, content={"contains": "rotate"}) == (passed, reason, (f"file:{path}",))


def test_answer() -> None:
    asked = {"matches": {"contains": "declined"}}
    expected = 'something that contains "declined"'
    assert verdict(evidence_of(answer="It is DECLINED."), "answer", **asked) == (True, f"The answer is as required: {expected}.", ("answer",))
    wrong = f'The answer is not as required: expected {expected}, found "Paid.".'
    assert verdict(evidence_of(answer="Paid."), "answer", **asked) == (False, wrong, ("answer",))
    assert verdict(evidence_of(), "answer", **asked) == (False, f"There is no final answer; expected {expected}.", ())


def test_an_answer_never_given_holds_what_asks_for_absence() -> None:
    assert verdict(evidence_of(), "answer", matches={"contains_none": ["IBAN 2"]}).passed
    assert not verdict(evidence_of(answer="IBAN 2"), "answer", matches={"contains_none": ["IBAN 2"]}).passed


def test_unchanged() -> None:
    assert verdict(evidence_of(), "unchanged") == (True, "Nothing changed.", ())
    assert verdict(evidence_of(changes=(READ,)), "unchanged") == (True, "Nothing changed that may not.", ())
    found = verdict(evidence_of(changes=(CLOSED, GONE, MADE, READ)), "unchanged")
    reason = "Changed without need: helpdesk.tickets/T-1 updated (resolution, status), helpdesk.tickets/T-2 deleted, helpdesk.tickets/T-3 created."
    assert found == (False, reason, ("row:helpdesk.tickets/T-1", "row:helpdesk.tickets/T-2", "row:helpdesk.tickets/T-3"))


TABLE = {"table": "helpdesk.tickets"}


@pytest.mark.parametrize(("allow", "changes", "passed"), [
    ([TABLE], (CLOSED, GONE, MADE), True),
    ([{**TABLE, "key": "T-1"}], (CLOSED,), True),
    ([{**TABLE, "key": "T-1"}], (CLOSED, GONE), False),
    ([{**TABLE, "fields": ["status", "resolution"]}], (CLOSED,), True),
    ([{**TABLE, "fields": ["status"]}], (CLOSED,), False),
    ([{**TABLE, "fields": ["status"]}, {**T1, "fields": ["resolution"]}], (CLOSED,), True),
    ([{**TABLE, "fields": ["ticket_id"]}], (MADE,), False),
    ([{**TABLE, "change": "created"}], (MADE,), True),
    ([{**TABLE, "change": "created"}], (CLOSED,), False),
    ([{**TABLE, "change": "updated"}], (GONE,), False),
    ([{**TABLE, "change": "deleted"}], (GONE,), True),
    ([{"table": "crm.customers"}], (CLOSED,), False),
])
def test_allowances(allow: list[dict[str, Any]], changes: tuple[Change, ...], passed: bool) -> None:
    assert verdict(evidence_of(changes=changes), "unchanged", allow=allow).passed is passed


def test_a_mark_excuses_nothing_else() -> None:
    rewritten = Change("gmail.messages", "m1", MAIL, {**MAIL, "is_read": True, "subject": "Changed"})
    assert verdict(evidence_of(changes=(rewritten,)), "unchanged").reason == "Changed without need: gmail.messages/m1 updated (subject)."
    assert not verdict(evidence_of(changes=(Change("gmail.messages", "m1", MAIL, None),)), "unchanged").passed
    assert not verdict(evidence_of(changes=(READ,), marks=frozenset({("gmail.drafts", "is_read")})), "unchanged").passed


def test_a_change_that_shows_in_no_field_is_a_change() -> None:
    picture = {"path": "logo.png", "bytes": 12}
    swapped = Change("workspace.files", "logo.png", picture, picture)
    assert verdict(evidence_of(changes=(swapped,)), "unchanged").evidence == ("file:logo.png",)
    assert not verdict(evidence_of(changes=(swapped,)), "unchanged", allow=[{"table": "workspace.files", "fields": ["content"]}]).passed
    assert verdict(evidence_of(changes=(swapped,)), "unchanged", allow=[{"table": "workspace.files"}]).passed


def test_many_changes_are_counted_not_listed() -> None:
    made = tuple(Change("gmail.drafts", f"d{number}", None, {"id": number}) for number in range(8))
    assert verdict(evidence_of(changes=made[:5]), "unchanged").reason.endswith("gmail.drafts/d4 created.")
    found = verdict(evidence_of(changes=made), "unchanged")
    assert found.reason.endswith("gmail.drafts/d4 created and 3 more.")
    assert len(found.evidence) == 8


def closed_politely(evidence: Evidence) -> tuple[bool, str]:
    row = evidence.row("helpdesk.tickets", "T-1")
    return row is not None and row["status"] == "closed", "asked the row"


def says(value: Any) -> str:
    globals()["spoken"] = lambda evidence: value
    return f"{__name__}:spoken"


def test_python() -> None:
    asked = {"entry": f"{__name__}:closed_politely"}
    assert verdict(evidence_of(changes=(CLOSED,)), "python", **asked) == (True, "asked the row", ())
    assert verdict(evidence_of(), "python", **asked) == (False, "asked the row", ())
    assert verdict(evidence_of(), "python", entry=says(True)) == (True, f"{__name__}:spoken says yes.", ())
    assert verdict(evidence_of(), "python", entry=says(False)) == (False, f"{__name__}:spoken says no.", ())


@pytest.mark.parametrize("value", [None, float("nan"), 1.2, 1, 0, "1", (1, "x"), (True, None), (True,), [True, "x", 1]])
def test_a_python_check_says_yes_or_no_and_nothing_else(value: Any) -> None:
    with pytest.raises(Fault) as caught:
        verdict(evidence_of(), "python", entry=says(value))
    assert caught.value.record.blame is Blame.GRADER
    assert caught.value.record.where == "it"


def leaves(evidence: object) -> bool:
    raise SystemExit(3)


def test_a_python_check_that_is_not_there_or_exits_is_the_graders_fault() -> None:
    for entry in ("no_such_module:f", f"{__name__}:no_such_function", f"{__name__}:leaves"):
        with pytest.raises(Fault, match="grader: it: "):
            verdict(evidence_of(), "python", entry=entry)


@pytest.mark.parametrize(("kind", "fields"), [
    ("row_state", {**T1, "exists": False, "fields": {"status": "open"}}), ("row_state", {"table": "tickets", "key": "T-1"}),
    ("row_state", {**T1, "key": 1}), ("row_state", {**T1, "exists": "yes"}), ("file_content", {"path": "", "content": "x"}),
    ("unchanged", {"allow": [{**TABLE, "fields": []}]}), ("unchanged", {"allow": [{**TABLE, "change": "created", "fields": ["status"]}]}),
    ("unchanged", {"allow": [{**TABLE, "change": "moved"}]}), ("python", {"entry": "module"}), ("python", {"entry": "m:f()"}),
])
def test_impossible_checks_are_refused(kind: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        check(kind, **fields)


def test_samples_are_what_the_tests_think() -> None:
    assert {**TICKET, "status": "closed", "resolution": SOLVED["resolution"]} == SOLVED
