"""Admission asks every gate about every form, and whatever goes wrong becomes a failed gate with advice."""

import json
import pickle
from importlib.metadata import version
from pathlib import Path

import pytest
from overlays import SOUND, broken

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.envs.registration import load_task
from cowork_gym.graders import GRADER_VERSION
from cowork_gym.synthesis.admission import admit
from cowork_gym.synthesis.gates import variation
from cowork_gym.synthesis.gates.gate import Gate, Problem, Result
from cowork_gym.synthesis.gates.package import PACKAGE
from cowork_gym.synthesis.gates.reference import REFERENCE
from cowork_gym.synthesis.gates.registry import GATES
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.gates.weights import WEIGHTS
from cowork_gym.synthesis.proof import Proof, proof_html

Found = tuple[tuple[Problem, ...], tuple[str, ...]]


def _raise(subject: Subject) -> Found:
    raise KeyError("lost")


def _seed(subject: Subject) -> Found:
    return (), (f"seed {subject.seed}",)


def test_a_proof_names_release_grader_and_gates() -> None:
    task = load_task(SOUND)
    proof = admit(task, gates=[PACKAGE, WEIGHTS])
    assert (proof.task, proof.release_id, proof.grader_version) == (task.id, task.release_id, GRADER_VERSION)
    assert (proof.passed, proof.loaded, proof.failed, proof.seeds) == (True, True, (), (0,))
    assert [one.gate for one in proof.results] == ["package", "weights"]
    assert set(proof.seconds) == {"package", "weights"}
    assert all(seconds >= 0 for seconds in proof.seconds.values())


def test_an_id_a_folder_and_a_task_come_to_the_same() -> None:
    by_id = admit("cowork/M1003-v0", gates=[REFERENCE])
    assert by_id.passed
    assert [one.evidence for one in by_id.results] == [one.evidence for one in admit(load_task("M1003"), gates=[REFERENCE]).results]


def test_what_is_the_same_for_all_seeds_is_asked_of_the_authors_form_alone() -> None:
    gates = [Gate("each", "?", _seed), Gate("once", "?", _seed, once=True)]
    asked = [(one.gate, one.seed, one.evidence) for one in admit(SOUND, [2, 5], gates).results]
    assert asked == [("once", 0, ("seed 0",)), ("each", 2, ("seed 2",)), ("each", 5, ("seed 5",))]
    assert [one.seed for one in admit(SOUND, [2], gates[:1]).results] == [2]


def test_results_are_shown_as_they_come() -> None:
    seen = list[Result]()
    proof = admit(SOUND, range(2), [PACKAGE, WEIGHTS], seen.append)
    assert tuple(seen) == proof.results


def test_a_gate_that_raises_has_failed_and_the_others_are_asked() -> None:
    proof = admit(SOUND, gates=[Gate("careless", "?", _raise), WEIGHTS])
    assert proof.failed == ("careless",)
    [(_, problem)] = proof.problems
    assert problem.found == "KeyError: 'lost'"
    assert problem.advice


def test_a_package_that_cannot_be_loaded_fails_the_gate_package(tmp_path: Path) -> None:
    seen = list[Result]()
    proof = admit(broken("package__weights_short_of_one", tmp_path), watch=seen.append)
    assert (proof.failed, proof.loaded, proof.release_id) == (("package",), False, "")
    assert "the weights sum to 0.99, not 1" in proof.problems[0][1].found
    assert tuple(seen) == proof.results


def test_a_task_that_is_not_there_is_the_persons_mistake() -> None:
    with pytest.raises(UserError, match="unknown task 'M1999'"):
        admit("M1999")


def test_a_form_that_cannot_be_made_fails_the_gate_variation(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(task: object, seed: int) -> object:
        raise PackageError("private/variation.yaml", "ids", "there are too few")

    monkeypatch.setattr("cowork_gym.synthesis.gates.subject.instance", fail)
    proof = admit(SOUND, [4], [WEIGHTS])
    assert [(one.gate, one.seed) for one in proof.results] == [(variation.VARIATION.name, 4)]
    assert proof.problems[0][1].found == "private/variation.yaml: ids: there are too few"


def test_a_proof_is_json_a_page_and_a_value_for_another_process(tmp_path: Path) -> None:
    good, bad = admit(SOUND, gates=[WEIGHTS]), admit(broken("weights__one_read_for_most", tmp_path), gates=[WEIGHTS])
    told = json.loads(json.dumps(bad.to_dict()))
    assert (told["passed"], told["failed"], told["seeds"]) == (False, ["weights"], [0])
    assert told["results"][0]["problems"][0].keys() == {"where", "found", "advice"}
    assert pickle.loads(pickle.dumps(bad)) == bad
    page = proof_html(good, bad)
    assert page.startswith("<!doctype html>")
    assert "1 of 2 tasks admitted" in page
    assert "reading alone earns 0.55, at most 0.5 may be" in page
    assert "<table>" in good._repr_html_()
    assert all(f"<td style='text-align:left;vertical-align:top;white-space:pre-wrap'>{text}</td>" in page for text in (WEIGHTS.name, WEIGHTS.asks))
    assert f"cowork-gym {version('cowork-gym')}, grader {good.grader_version}" in page


def test_forms_are_grouped_by_gate() -> None:
    same, mended = Problem("checks", "found", "advice"), ("reads less",)
    results = (*(Result("weights", seed, (same,), ("reads",)) for seed in (0, 2, 3)), Result("weights", 1, (), mended), Result("leaks", 0, ()))
    page = proof_html(Proof("Desk", "Desk@0", "1", results))
    assert "<title>Desk: not admitted</title>" in page
    assert "3 of 4" not in page and page.count("1 of 4") == 1 and page.count("1 of 1") == 1
    assert "seeds 0, 2-3:\nreads\nseed 1:\nreads less" in page
    assert page.count(">found</td>") == 1 and ">0, 2-3</td>" in page


def test_a_page_shows_texts_as_texts() -> None:
    problem = Problem("<b>where</b>", "<script>", "&")
    page = proof_html(Proof("<i>", "", "1", (Result("package", 0, (problem,)),)))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<i>" not in page


def test_every_gate_is_explained() -> None:
    text = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
    assert [one.name for one in GATES if f"| `{one.name}` | " not in text] == []
    assert all(one.asks.endswith(".") for one in GATES)
