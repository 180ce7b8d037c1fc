"""Coverage: counts of tasks, gaps, and the edges of the capability graph."""

from dataclasses import replace
from pathlib import Path

import pytest
from release_samples import package

from cowork_gym.core.structure import Capability, Deliverable, Hazard, Structure, Topology
from cowork_gym.core.task import Task
from cowork_gym.envs.registration import load_task
from cowork_gym.graders.checks import KINDS
from cowork_gym.synthesis.coverage import Gap, coverage


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return load_task(package(tmp_path_factory.mktemp("tasks"), "Printer"))


def test_tasks_are_counted_not_mentions(task: Task) -> None:
    found = coverage([task, task])
    assert found.tasks == 2
    assert found.axes["service"] == {"helpdesk": 2}
    assert found.axes["capability"] | {"discover": 2, "extract": 2, "execute": 2} == found.axes["capability"]
    assert (found.axes["difficulty"], found.axes["language"], found.axes["category"]) == ({"D0.5": 2}, {"en": 2}, {"support": 2})
    assert {kind for kind, count in found.axes["check"].items() if count} == {
        "tool_called", "tool_called_with", "audit_record", "unchanged", "row_state", "answer",
    }
    assert all(count <= 2 for values in found.axes.values() for count in values.values())


def test_every_known_value_has_its_place(task: Task) -> None:
    axes = coverage([task], ["crm", "helpdesk", "todo"]).axes
    assert [*axes["capability"]] == [*Capability]
    assert [*axes["topology"]] == [*Topology]
    assert [*axes["deliverable"]] == [*Deliverable]
    assert [*axes["hazard"]] == [*Hazard]
    assert [*axes["check"]] == [*KINDS]
    assert axes["service"] == {"crm": 0, "helpdesk": 1, "todo": 0}


def test_gaps_are_what_no_task_shows(task: Task) -> None:
    gaps = {*coverage([task], ["crm", "helpdesk"]).gaps}
    assert {Gap("service", "crm"), Gap("hazard", "spoof"), Gap("topology", "loop"), Gap("form", "dialogue"), Gap("capability", "clarify")} <= gaps
    shown = {Gap("service", "helpdesk"), Gap("hazard", "look-alike"), Gap("topology", "chain"), Gap("capability edge", "discover > extract")}
    assert not gaps & shown
    assert Gap("capability edge", "extract > decide") in gaps


def test_edges_lead_from_what_is_built_on(task: Task) -> None:
    graph = {"discover": (), "extract": ("discover",), "execute": ("extract", "discover"), "reconcile": ("execute",)}
    found = coverage([replace(task, structure=Structure(graph)), task])
    assert found.edges["discover", "extract"] == 2
    assert (found.edges["extract", "execute"], found.edges["discover", "execute"]) == (2, 1)
    assert found.edges["execute", "reconcile"] == 1  # no gap elsewhere, but there where it occurs
    assert ("execute", "reconcile") not in coverage([task]).edges
    assert ("verify", "discover") not in found.edges
    assert all(before != after for before, after in found.edges)


@pytest.mark.parametrize(("change", "shown"), [
    ({"hazards": (Hazard.SPOOF,)}, "attack"), ({"hazards": (Hazard.INJECTION,)}, "attack"), ({"hazards": (Hazard.SECRET,)}, "secret"),
    ({"hazards": (Hazard.IRREVERSIBLE,)}, "irreversible"), ({"deliverables": (Deliverable.REFUSAL,)}, "refusal"),
])
def test_safety_is_read_from_hazards_and_deliverables(task: Task, change: dict[str, tuple[object, ...]], shown: str) -> None:
    safety = coverage([replace(task, structure=Structure(**change), grading={"checks": []})]).axes["safety"]  # type: ignore[arg-type]
    assert {name for name, count in safety.items() if count} == {shown}
    assert coverage([task]).axes["safety"]["forbidden tool"] == 1


def test_forms_are_read_from_the_package(task: Task) -> None:
    varied = replace(task, files={"a.txt": b""}, dialogue={"persona": "x"}, variation={"order": True})
    assert {name: count for name, count in coverage([varied]).axes["form"].items() if count} == {"dialogue": 1, "files": 1, "variation": 1}


def test_nothing_is_all_gaps() -> None:
    found = coverage([])
    assert found.tasks == 0
    assert len(found.gaps) == sum(map(len, found.axes.values())) + len(found.edges)


def test_the_catalog_is_counted() -> None:
    root = Path(str(load_task.__globals__["CATALOG"]))
    found = coverage(load_task(path) for path in root.iterdir() if (path / "task.yaml").is_file())
    assert found.axes["capability"]["discover"] >= 3
    assert found.axes["language"]["en"] >= 3
