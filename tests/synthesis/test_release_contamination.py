"""Contamination: parts are compared one by one, and what one release trains on, another one may not hold out."""

from dataclasses import replace
from pathlib import Path

import pytest
from release_samples import REQUESTS, admits, package, plan, some

from cowork_gym.core.task import Task
from cowork_gym.envs.registration import load_task
from cowork_gym.synthesis.release import Refusal, Release, Use, make_release
from cowork_gym.synthesis.release.identity import Profile, identify, in_common, shingles


def _profile(task: Task) -> Profile:
    return Profile(task.id, identify(task, ""), shingles(task.request))


def _parts(one: Task, other: Task) -> set[str]:
    return {part for part, _ in in_common(_profile(one), _profile(other))}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return load_task(package(tmp_path, "Printer"))


def test_each_part_is_compared_by_itself(task: Task) -> None:
    world = {"helpdesk": {"tickets": [{"ticket_id": "T"}]}}
    other = replace(task, request="Quite another thing is wanted here.", world=world, contracts={"x": {}}, grading={"x": 1})
    assert _parts(task, other) == set()
    assert _parts(task, replace(other, request=task.request)) == {"request"}
    assert _parts(task, replace(other, world=task.world)) == {"world"}
    assert _parts(task, replace(other, contracts=task.contracts)) == {"tools"}
    assert _parts(task, replace(other, grading=task.grading)) == {"grader"}


def test_order_case_and_blanks_do_not_hide_equality(task: Task) -> None:
    records = [*reversed(task.world["helpdesk"]["tickets"])]
    assert "world" in _parts(task, replace(task, world={"helpdesk": {"tickets": records}}))
    assert "request" in _parts(task, replace(task, request=f"  {task.request.upper()}\n".replace(" ", "  ")))


def test_empty_worlds_are_not_the_same_world(task: Task) -> None:
    bare = replace(task, world={})
    assert "world" not in _parts(bare, bare)
    assert "world" in _parts(replace(bare, files={"a.txt": b"x"}), replace(bare, files={"a.txt": b"x"}))


def test_requests_that_are_nearly_equal_are_found(task: Task) -> None:
    near = replace(task, request=task.request.replace("second floor", "fifth floor").replace('"facilities"', '"the porter"'))
    assert _parts(task, near) >= {"near-request"}
    assert "near-request" in _parts(task, replace(task, request=f"Good morning! {task.request} Thank you very much, and have a nice week."))
    assert "near-request" not in _parts(task, replace(task, request=REQUESTS["Lift"]))


def test_chinese_requests_are_compared_letter_by_letter(task: Task) -> None:
    one = replace(task, request="请在工单系统中找到二楼打印机卡纸的工单,并将其分配给后勤组,然后告诉我工单编号。")
    near = replace(task, request="请在工单系统中找到五楼打印机卡纸的工单,并将其分配给后勤组,然后告诉我工单编号。")
    far = replace(task, request="今天下午三点之前,把客户投诉的处理结果写成邮件发给张经理。")
    assert "near-request" in _parts(one, near)
    assert "near-request" not in _parts(one, far)


def _release(tmp_path: Path, name: str, sources: list[Path], *uses: Use, against: tuple[Release, ...] = ()) -> Release:
    return make_release(plan(name, uses, against=against), sources, tmp_path / "out", admits)


def test_what_is_evaluated_elsewhere_is_not_trained_on(tmp_path: Path) -> None:
    held = _release(tmp_path, "held-1", some(tmp_path / "a"), Use.EVALUATION)
    copied = package(tmp_path / "b", "Stairs", request=REQUESTS["Lift"], world="Stairs", step=True)
    with pytest.raises(Refusal) as refused:
        _release(tmp_path, "train-1", [copied], Use.TRAINING, against=(held,))
    assert refused.value.reasons == (
        f"Stairs has its request in common with Lift of {held.citation}, which is for evaluation; leave it out, or release it without training",
    )
    assert not (tmp_path / "out" / "train-1").exists()


def test_each_task_has_one_line_with_all_that_is_the_same(tmp_path: Path) -> None:
    held = _release(tmp_path, "held-1", [package(tmp_path / "a", "Printer")], Use.EVALUATION)
    with pytest.raises(Refusal) as refused:
        _release(tmp_path, "train-1", [package(tmp_path / "b", "Printer")], Use.TRAINING, against=(held,))
    (reason,) = refused.value.reasons
    assert reason.startswith(f"Printer has its request, world and grader in common with Printer of {held.citation}, which is for evaluation; ")


def test_what_is_trained_on_elsewhere_is_not_evaluated(tmp_path: Path) -> None:
    trained = _release(tmp_path, "train-1", some(tmp_path / "a")[:1], Use.TRAINING)
    near = package(tmp_path / "b", "Stairs", world="Stairs")
    with pytest.raises(Refusal, match="release it without evaluation"):
        _release(tmp_path, "held-1", [near], Use.EVALUATION, against=(trained,))


def test_an_overlap_between_releases_for_one_use_is_recorded(tmp_path: Path) -> None:
    first = _release(tmp_path, "eval-1", some(tmp_path / "a")[:1], Use.EVALUATION)
    second = _release(tmp_path, "eval-2", some(tmp_path / "b")[:2], Use.EVALUATION, against=(first,))
    assert second.compared == (first.citation,)
    assert {(one.task, one.part) for one in second.overlaps} == {
        *(("Printer", part) for part in ("request", "world", "tools", "grader", "structure")),
        *(("Beamer", part) for part in ("tools", "grader", "structure")),
    }
    assert f"| `Printer` | `Printer` | {first.citation} | world | 1 |" in (second.folder / "README.md").read_text(encoding="utf-8")


def test_equal_tools_and_structure_are_no_contamination(tmp_path: Path) -> None:
    held = _release(tmp_path, "held-1", [package(tmp_path / "a", "Printer")], Use.EVALUATION)
    other = package(tmp_path / "b", "Lift", request=REQUESTS["Lift"], world="Lift")
    grading = other / "private" / "grading.yaml"
    grading.write_text(grading.read_text().replace("ticket_named", "ticket_told"))
    made = _release(tmp_path, "train-1", [other], Use.TRAINING, against=(held,))
    assert {one.part for one in made.overlaps} == {"tools", "structure"}
