"""Broken packages are rejected by the gate that is meant for them, and by no unrelated one; sound ones are admitted."""

from pathlib import Path

import pytest
from odd_services import Desks
from overlays import BROKEN, SOUND, broken, varied

from cowork_gym.envs.registration import REGISTRY
from cowork_gym.synthesis.admission import admit
from cowork_gym.synthesis.gates.registry import GATES

RELATED = {
    "copycat__made_twice": {"values"},
    "copycat__whichever_ticket": {"values"},
    "drop_one__idle_write": {"values"},
    "faults__repeated_blindly": {"values"},
    "reference__skips_the_ticket": {"completeness"},
    "reference__ends_on_an_error": {"completeness"},
    "weights__forbids_what_is_not_there": {"mutation"},
    "weights__outcome_only_reads": {"degenerate", "values"},
}
"""Gates that cannot but see the same flaw: a reference that falls short is no complete record, and a ban of nothing bans nothing."""


@pytest.fixture(autouse=True)
def _odd_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY._services, Desks.name, Desks)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_package_is_rejected_by_its_gate_and_no_other(name: str, tmp_path: Path) -> None:
    proof, gate = admit(broken(name, tmp_path)), name.partition("__")[0]
    assert gate in proof.failed
    assert set(proof.failed) <= {gate} | RELATED.get(name, set()), [problem for _, problem in proof.problems]
    assert all(problem.found and problem.advice and problem.where for _, problem in proof.problems)


def test_the_sound_package_is_admitted() -> None:
    proof = admit(SOUND, seeds=(0, 3))
    assert proof.passed, proof.problems
    assert [one.gate for one in proof.results if one.seed == 0] == [one.name for one in GATES]
    assert [one.gate for one in proof.results if one.seed == 3] == [one.name for one in GATES if not one.once]


def test_a_package_that_varies_is_admitted_in_its_forms(tmp_path: Path) -> None:
    proof = admit(varied(tmp_path), seeds=range(3))
    assert proof.passed, proof.problems
    [result] = [one for one in proof.results if one.gate == "variation"]
    assert "passes on 0 of 20 seeds" in result.evidence[1]


def test_at_least_one_package_is_broken_for_each_gate() -> None:
    gates = {one.name for one in GATES}
    assert {name.partition("__")[0] for name in BROKEN} <= gates
    assert gates - {name.partition("__")[0] for name in BROKEN} <= {"ledger"}  # no package can break what services and doors record
