"""How full rows become with demonstrations of the catalog."""

import sys

import pytest

from cowork_gym.benchmarks import packing
from cowork_gym.benchmarks.packing import Filling, demonstrations, lengths_of, measure_packing
from cowork_gym.benchmarks.suite import load_suite
from cowork_gym.envs.registration import load_task
from cowork_gym.harness.policies.local import smollm2_folder


@pytest.fixture(scope="module")
def format():
    pytest.importorskip("transformers")
    from cowork_gym.core.errors import MissingExtra
    from cowork_gym.trainers.data.views.source import load_format

    try:
        smollm2_folder()
    except MissingExtra as missing:
        pytest.skip(str(missing))
    return load_format("smollm2")


@pytest.mark.slow
@pytest.mark.smol
def test_demonstrations_of_all_tasks_fill_rows_to_95_percent(format):
    found = demonstrations([*load_suite("core").load().values()], forms=2)
    lengths, dropped = lengths_of(found, format)
    assert not dropped and len(lengths) == len(found) >= 120
    filled = measure_packing(lengths, 32_768)
    assert filled.efficiency >= 0.95 and filled.dropped == 0
    assert filled.rows == -(-sum(lengths) // 32_768)  # no packing needs fewer


def test_each_reference_of_each_form_is_a_demonstration():
    task = load_task("M1003")
    found = demonstrations([task], forms=2)
    assert [one.source.seed for one in found] == sorted([0, 1] * len(task.references))
    assert all(one.reward == 1.0 and one.supervised and one.tools for one in found)


def test_the_numbers_are_those_of_packing():
    assert measure_packing([50, 40, 30, 30, 20, 90, 130], 100) == Filling(100, 6, 3, 1, 260 / 300, 260 / 540)
    assert measure_packing([], 100) == Filling(100, 0, 0, 0, 0.0, 0.0)


@pytest.mark.smol
def test_the_command_prints_a_table(format, capsys, monkeypatch, tmp_path):
    suite = tmp_path / "one.yaml"
    suite.write_text("schema_version: 1\nname: one\ntitle: One\ndescription: One.\ntasks: [M1003]\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["packing", "--suite", str(suite), "--forms", "1"])
    packing.main()
    told = capsys.readouterr().out
    assert "demonstrations" in told and "32,768" in told and "filled without packing" in told
