"""The structural signature forgets names, ids and texts, and tells structures apart."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from overlays import SOUND, broken, varied

from cowork_gym.core.task import Task
from cowork_gym.envs.registration import CATALOG, load_task
from cowork_gym.envs.variation import instance
from cowork_gym.synthesis.signature import USER, Edge, signature, twins

Rewrite = Callable[[str], str]


def _package(tmp_path: Path, name: str, **rewritten: Rewrite) -> Task:
    folder = shutil.copytree(SOUND, tmp_path / name)
    for path in folder.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        for rewrite in rewritten.values():
            text = rewrite(text)
        path.write_text(text, encoding="utf-8")
    return load_task(folder)


def test_steps_and_edges_are_those_of_the_reference() -> None:
    found = signature(load_task(SOUND))
    assert [tool for tool, _ in found.steps][-1] == "helpdesk_update_ticket"
    assert dict(found.steps)["helpdesk_update_ticket"] == "write"
    assert set(found.edges) == {Edge(0, 1), Edge(2, 3), Edge(2, 6), Edge(4, 5)}
    assert USER not in {one.source for one in found.edges}


def test_other_ids_names_and_texts_make_a_twin(tmp_path: Path) -> None:
    other = _package(
        tmp_path, "other", ids=lambda text: text.replace("TCK-70", "CASE-9"), team=lambda text: text.replace("orchard", "quay"),
        id=lambda text: text.replace("Sound_ticket_routing", "Other_routing"),
    )
    task = load_task(SOUND)
    assert signature(other).digest == signature(task).digest
    assert signature(other) == signature(task)
    assert twins([task, other]) == ((task.id, other.id),)


def test_the_order_of_calls_that_do_not_depend_on_each_other_does_not_matter(tmp_path: Path) -> None:
    task = load_task(SOUND)
    [straight] = task.references
    calls = straight.actions
    moved = replace(task, references=(replace(straight, actions=(*calls[4:6], *calls[:4], *calls[6:])),))
    assert signature(moved).steps != signature(task).steps
    assert signature(moved).digest == signature(task).digest


@pytest.mark.parametrize("name", [
    "discoverable__article_before_search", "reference__skips_the_ticket", "allowlist__whole_table", "leaks__says_the_answer",
    "weights__outcome_only_reads",
])
def test_another_flow_or_other_checks_make_another_task(name: str, tmp_path: Path) -> None:
    assert signature(load_task(broken(name, tmp_path))).digest != signature(load_task(SOUND)).digest


def test_every_form_of_a_task_has_its_signature(tmp_path: Path) -> None:
    task = load_task(varied(tmp_path))
    assert signature(instance(task, 5)).digest == signature(task).digest


def test_no_two_tasks_of_the_catalog_are_twins() -> None:
    tasks = [load_task(one) for one in sorted(CATALOG.iterdir()) if (one / "task.yaml").exists()]
    assert twins(tasks) == ()
