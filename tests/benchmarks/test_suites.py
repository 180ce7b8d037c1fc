"""Suites: by list and by rule, built in and by file, and what is told of one that cannot be used."""

from pathlib import Path

import gymnasium
import pytest

from cowork_gym.benchmarks.suite import SUITES, load_suite, suite_names
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.envs.registration import CATALOG, REGISTRY, load_task

HEAD = "schema_version: 1\nname: mine\ntitle: Mine\ndescription: My own.\n"


def _suite(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def test_the_built_in_suites_are_there() -> None:
    assert suite_names() == ("core", "dialogue", "micro", "micro-long", "multiday", "safety", "smoke", "zh")
    assert all(load_suite(name).name == name and load_suite(name).title for name in suite_names())


def test_the_core_is_the_whole_catalog() -> None:
    core = load_suite("core").load()
    assert {*core} == {id for id, path in REGISTRY.tasks().items() if path.parent == CATALOG}
    assert all(id in gymnasium.registry for id in core)


@pytest.mark.parametrize(("name", "field"), [("safety", "category"), ("dialogue", "category"), ("multiday", "category"), ("zh", "language")])
def test_a_rule_takes_every_task_that_it_fits_and_no_other(name: str, field: str) -> None:
    core = load_suite("core").load()
    assert {*load_suite(name).load()} == {id for id, task in core.items() if getattr(task, field) == name}


def test_safety_has_the_refusal() -> None:
    assert "cowork/M133-v0" in load_suite("safety").load()
    assert "cowork/M1100-v0" not in load_suite("safety").load()


def test_smoke_is_a_few_of_the_core_in_its_own_order() -> None:
    suite = load_suite("smoke")
    assert [id.partition("/")[2].rpartition("-v")[0] for id in suite.load()] == [*suite.listed]
    assert len(suite.listed) == 5


def test_a_suite_of_ones_own_is_named_by_its_file(tmp_path: Path) -> None:
    own = tmp_path / "packages" / "Own"
    own.parent.mkdir()
    own.symlink_to(CATALOG / "M1003_ticket_kb_resolution")
    copied = tmp_path / "packages" / "Copied"
    copied.mkdir()
    for path in (CATALOG / "M133_safety_payment_change_refusal").iterdir():
        (copied / path.name).symlink_to(path) if path.is_file() else (copied / path.name).mkdir()
    suite = load_suite(_suite(tmp_path, "tasks: [cowork/M1100-v0, M133, ./packages/Own, packages/Copied]\n"))
    assert suite.candidates() == {
        "cowork/M1100-v0": CATALOG / "M1100_at_risk_key_rotation", "cowork/M133-v0": CATALOG / "M133_safety_payment_change_refusal",
        "cowork/M1003-v0": CATALOG / "M1003_ticket_kb_resolution", str(copied): copied,
    }


def test_words_of_one_field_are_alternatives_and_fields_add_up(tmp_path: Path) -> None:
    suite = load_suite(_suite(tmp_path, "where: {difficulty: [D1, D1.5], category: support, namespace: cowork}\n"))
    taken = suite.load()
    assert "cowork/M1100-v0" in taken and "cowork/M133-v0" not in taken
    assert all(task.category == "support" and task.difficulty in {"D1", "D1.5"} for task in taken.values())


def test_a_namespace_leaves_other_packages_tasks_out(monkeypatch: pytest.MonkeyPatch) -> None:
    registered = {**REGISTRY.tasks(), "acme/Own-v0": CATALOG / "M133_safety_payment_change_refusal"}
    monkeypatch.setattr(type(REGISTRY), "tasks", lambda registry: registered)
    assert "acme/Own-v0" not in load_suite("safety").candidates()


@pytest.mark.parametrize(("name", "nearest"), [("safty", "did you mean 'safety'"), ("CORE", "choose from core, dialogue"), ("", "choose from")])
def test_an_unknown_suite_is_told_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(UserError, match=nearest) as told:
        load_suite(name)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(("text", "told"), [
    ("", "a suite has either tasks or where"),
    ("tasks: [M133]\nwhere: {category: safety}\n", "a suite has either tasks or where"),
    ("tasks: []\n", "needs 1 or more"),
    ("where: {}\n", "where names no field"),
    ("where: {catgory: safety}\n", "did you mean 'category'"),
    ("where: {category: 3}\n", "where.category"),
    ("task: [M133]\n", "did you mean 'tasks'"),
])
def test_a_file_that_is_not_of_the_form_is_told(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=told) as found:
        load_suite(_suite(tmp_path, text))
    assert str(found.value).startswith(str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize(("tasks", "told"), [
    ("[M133, cowork/M133-v0]", "the suite mine lists cowork/M133-v0 twice"), ("[M13]", "the suite mine: unknown task 'M13'"),
    ("[./nowhere]", r"the suite mine: \./nowhere: not a task package"),
])
def test_listed_tasks_are_there_and_only_once(tasks: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=told):
        load_suite(_suite(tmp_path, f"tasks: {tasks}\n")).candidates()


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="no such file"):
        load_suite(tmp_path / "mine.yaml")


def test_every_file_of_a_suite_has_its_name() -> None:
    assert sorted(path.stem for path in SUITES.iterdir()) == [*suite_names()]
    assert all(load_task(path).id for path in load_suite("smoke").candidates().values())
