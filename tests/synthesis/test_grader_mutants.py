"""Bugs made by hand in the grading of tasks: each is found by a gate. The data says which bug, and which gate."""

import shutil
from pathlib import Path

import pytest
import yaml

from cowork_gym.envs.registration import CATALOG
from cowork_gym.synthesis.admission import admit
from cowork_gym.synthesis.gates.registry import GATES

MUTANTS = yaml.safe_load((Path(__file__).parent / "grader_mutants.yaml").read_text(encoding="utf-8"))
FOLDERS = {entry.name.partition("_")[0]: entry for entry in CATALOG.iterdir()}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{one['task']}: {one['what']}")
def test_a_grader_mutant_is_killed(mutant: dict, tmp_path: Path) -> None:
    package = shutil.copytree(FOLDERS[mutant["task"]], tmp_path / FOLDERS[mutant["task"]].name)
    grading = package / "private" / "grading.yaml"
    text = grading.read_text(encoding="utf-8")
    for edit in mutant["edits"]:
        assert text.count(edit["old"]) == 1, f"{edit['old']!r} stands in {grading.name} {text.count(edit['old'])} times"
        text = text.replace(edit["old"], edit["new"])
    grading.write_text(text, encoding="utf-8")
    proof = admit(package, gates=[gate for gate in GATES if gate.name in mutant["gates"]])
    assert proof.loaded
    assert set(mutant["gates"]) <= set(proof.failed)


def test_there_are_at_least_twenty_of_as_many_tasks() -> None:
    assert len({one["task"] for one in MUTANTS}) >= 20
