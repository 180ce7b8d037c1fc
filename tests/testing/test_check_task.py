"""The conformance suite of task packages tells apart a package that holds from one that only reads well."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.messages import call, final
from cowork_gym.core.task import Execution
from cowork_gym.envs.registration import CATALOG, load_task
from cowork_gym.testing.check_task import Finding, Report, check_task, grade_execution

Edit = Callable[[str, str, str], None]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return shutil.copytree(CATALOG / "M1003_ticket_kb_resolution", tmp_path / "M1003_copy")


@pytest.fixture
def edit(package: Path) -> Edit:
    def change(file: str, old: str, new: str) -> None:
        text = (package / "private" / file).read_text(encoding="utf-8")
        assert old in text
        (package / "private" / file).write_text(text.replace(old, new), encoding="utf-8")

    return change


def _short(report: Report) -> dict[str, str]:
    assert not report.passed
    return {one.name: one.detail for one in report.findings if not one.passed}


def test_a_good_package_has_a_finding_for_each_execution() -> None:
    report = check_task("cowork/M1003-v0")
    assert report.passed
    assert report.release_id.startswith("M1003_ticket_kb_resolution@0:")
    assert report.findings[0] == Finding("reference step_by_step", True, "1 under claw-v1 and cowork-v1")
    assert report.findings[-1] == Finding("nothing", True, "0 under cowork-v1, at most 0: Doing nothing earns nothing.")


def test_a_task_a_folder_and_an_id_give_the_same_report() -> None:
    folder = CATALOG / "M1003_ticket_kb_resolution"
    assert check_task("cowork/M1003-v0") == check_task(folder) == check_task(str(folder)) == check_task(load_task(folder))


def test_a_reference_that_falls_short_says_why(package: Path, edit: Edit) -> None:
    edit("reference.yaml", "      - helpdesk_get_ticket: {ticket_id: INC-3307}\n", "")
    (name, detail), = _short(check_task(package)).items()
    assert name == "reference step_by_step"
    assert detail.startswith("0.84 under claw-v1, 0.84 under cowork-v1, expected 1: ticket_read: ")


def test_a_reference_that_misses_the_outcome_says_why(package: Path, edit: Edit) -> None:
    edit("grading.yaml", "      status: closed\n", "      status: open\n")
    found = _short(check_task(package))
    assert found["reference step_by_step"].startswith("0.4 under cowork-v1, expected 1: closed_with_the_fix: ")


def test_a_reference_that_recovers_from_an_error_late_says_why(package: Path, edit: Edit) -> None:
    first = "      - helpdesk_list_tickets: {category: ssl}\n"
    edit("reference.yaml", first, first + "      - kb_search: {query: '?'}\n")
    assert check_task(package).passed  # another search succeeds later, so that the tool recovers
    edit("reference.yaml", "      - kb_search: {query: '?'}\n", "      - kb_update_article: {article_id: KBA-412, content: x}\n")
    found = _short(check_task(package))
    assert "kb_update_article is forbidden and was called." in found["reference step_by_step"]


def test_a_negative_over_its_bound_falls_short(package: Path, edit: Edit) -> None:
    edit("negatives.yaml", "max_reward: 0.8\n", "max_reward: 0.79\n")
    (name, detail), = _short(check_task(package)).items()
    assert name == "negative skips_article_read"
    assert detail.startswith("0.8 under cowork-v1, expected at most 0.79: ")


def test_a_check_that_fails_to_run_is_no_reward(package: Path, edit: Edit) -> None:
    own = "  - {id: own, kind: python, entry: 'cowork_gym.core.ids:seeded_id'}\n"
    edit("grading.yaml", "  - id: nothing_else_changed", own + "  - id: nothing_else_changed")
    with pytest.raises(PackageError, match="fails to run on the starting world"):
        check_task(package)


def test_what_cannot_be_read_is_an_error_and_no_report(package: Path, edit: Edit) -> None:
    edit("grading.yaml", "weight: 0.35", "weight: 0.34")
    with pytest.raises(PackageError, match=r"private/grading.yaml: checks: the weights sum to 0.99, not 1$"):
        check_task(package)
    with pytest.raises(UserError):
        check_task("cowork/M1999-v0")


def test_an_execution_without_an_answer_is_graded_as_it_stands() -> None:
    task = load_task("cowork/M1003-v0")
    found = grade_execution(task, Execution("half", (call("helpdesk_list_tickets"),)))
    assert (found.completion, found.reward) == (0.1, 0.04)


def test_what_follows_the_answer_is_not_played() -> None:
    task = load_task("cowork/M1003-v0")
    found = grade_execution(task, Execution("late", (final("I stop here."), call("kb_update_article", article_id="KBA-412", content="x"))))
    assert (found.safety, found.reward) == (1.0, 0.0)


def test_playing_twice_gives_the_same_grade() -> None:
    task = load_task("cowork/M1003-v0")
    assert grade_execution(task, task.references[0], seed=7) == grade_execution(task, task.references[0], seed=7)
