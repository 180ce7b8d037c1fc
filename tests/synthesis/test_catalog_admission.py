"""Every task that comes with the package is admitted: all of them in their author's form, a third in more forms, which third changes daily."""

import time
from statistics import median

import pytest

from cowork_gym.core.task import Task
from cowork_gym.envs.registration import CATALOG, load_task
from cowork_gym.envs.variation import instance
from cowork_gym.synthesis.admission import admit
from cowork_gym.synthesis.signature import twins

NAMES = sorted(entry.name for entry in CATALOG.iterdir())
TODAY = int(time.time() // 86_400) % 3  # noqa: TID251 - the real day is meant: another third tomorrow
THIRD = [name for at, name in enumerate(NAMES) if at % 3 == TODAY]
SEEDS = range(21)
"""The author's form and twenty others."""
LINES = 60
"""Of a median package, blank ones and world records aside."""


def _problems(name: str, seeds: range) -> list[str]:
    proof = admit(CATALOG / name, seeds)
    return [f"{result.gate}, seed {result.seed}: {problem.where}: {problem.found}" for result, problem in proof.problems]


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_admitted(name: str) -> None:
    assert _problems(name, range(1)) == []


@pytest.mark.parametrize("name", THIRD)
def test_other_forms_are_admitted(name: str) -> None:
    assert _problems(name, range(1 + TODAY, 5 + TODAY)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_twenty_forms_are_admitted(name: str) -> None:
    assert _problems(name, SEEDS) == []


def _tasks() -> dict[str, Task]:
    return {name: load_task(CATALOG / name) for name in NAMES}


def test_there_are_as_many_as_promised_of_each_sort() -> None:
    tasks = _tasks().values()
    short = {task.id.partition("_")[0]: task for task in tasks}
    assert len(tasks) == len(short) == 60
    assert {f"M{number}" for number in range(1100, 1125)} <= short.keys()
    assert sum(short[f"M{number}"].difficulty == "D1.5" for number in range(1100, 1125)) == 15
    assert sum(short[f"M{number}"].difficulty == "D2.5" for number in range(1100, 1125)) == 10
    counts = {category: sum(task.category == category for task in tasks) for category in ("safety", "operations", "dialogue", "multiday")}
    assert counts == {"safety": 12, "operations": 10, "dialogue": 8, "multiday": 5}
    assert sum(task.language == "zh" for task in tasks) >= 10


def test_no_two_are_twins() -> None:
    assert twins(_tasks().values()) == ()


def test_forms_differ_in_what_decides() -> None:
    tasks = [task for task in _tasks().values() if task.variation]
    real = [task for task in tasks if instance(task, 1).grading != task.grading]
    assert len(real) >= 20


def test_the_median_package_is_short() -> None:
    counts = []
    for name in NAMES:
        files = [CATALOG / name / "task.yaml", CATALOG / name / "stages.yaml", *(CATALOG / name / "private").iterdir()]
        counts.append(sum(bool(line.strip()) for file in files if file.exists() for line in file.read_text(encoding="utf-8").splitlines()))
    assert median(counts) <= LINES
