"""The verb `branch`: the harness of the continuations, by a sampler's file or by the advice that is given without one."""

import json
import re

import pytest

from cowork_gym.cli.main import main
from cowork_gym.core.record import read_episode
from cowork_gym.core.trajectory import Composition
from cowork_gym.harness import compose
from cowork_gym.harness.recorded_harness import name_of, spec_of
from cowork_gym.harness.spec import make_harness

SAMPLER = """
schema_version: 1
seed: 7
base: react+window:size=4,stride=2+retry
options:
  middleware.0: ["window:size=3,stride=1", "slide:size=2", null]
  prompt: [null, words.txt]
"""


@pytest.fixture
def sampled(tmp_path, capsys):
    (tmp_path / "words.txt").write_text("Be careful.")
    file = tmp_path / "harnesses.yaml"
    file.write_text(SAMPLER)
    words = ["rollout", "M1003", "--agent", "random", "--n", "5", "--harness", f"@{file}", "--out", str(tmp_path / "run")]
    main(words)
    capsys.readouterr()
    return file, sorted((tmp_path / "run" / "episodes").iterdir())


def _branch(file, out, *more):
    return main(["branch", str(file), "--turn", "0", "--agent", "random", "--out", str(out), *map(str, more)])


def test_a_sampler_gives_the_harness_that_it_drew_for_the_record(tmp_path, sampled, capsys):
    sampler, files = sampled
    assert len({read_episode(one).composition.sha256 for one in files}) > 1
    for file in files:
        assert _branch(file, tmp_path / "out", "--harness", f"@{sampler}", "--json") == 0
        (made,) = json.loads(capsys.readouterr().out)["branches"]
        assert read_episode(made["episode"]).composition.sha256 == read_episode(file).composition.sha256


def test_a_sampler_without_the_records_harness_is_told_with_what_to_write(tmp_path, sampled, capsys):
    sampler, _ = sampled
    assert main(["run", "M1003", "--agent", "noop", "--harness", "react+normalise:most=70", "--out", str(tmp_path / "other")]) == 0
    (file,) = (tmp_path / "other").iterdir()
    capsys.readouterr()
    assert _branch(file, tmp_path / "out", "--harness", f"@{sampler}") == 2
    name, spec = "react+normalise", "--harness react+normalise:most=70"
    assert capsys.readouterr().err == f"cowork: {sampler}: draws no harness that is the record's, {name}: name it by its parts, {spec}\n"


@pytest.fixture
def windowed(tmp_path, capsys):
    words = ["run", "M1003", "--agent", "reference", "--harness", "react+window:size=3,stride=1", "--out", str(tmp_path / "record")]
    assert main(words) == 0
    (file,) = (tmp_path / "record").iterdir()
    capsys.readouterr()
    return file


def test_without_a_harness_the_records_is_told_as_one_writes_it(tmp_path, windowed, capsys):
    assert _branch(windowed, tmp_path / "out") == 2
    told = capsys.readouterr().err
    assert "a harness of its own, react+window: name the one for its continuations, --harness react+window:size=3,stride=1\n" in told
    spec = re.search(r"--harness (\S+)", told)[1]
    assert _branch(windowed, tmp_path / "out", "--harness", spec) == 0


@pytest.mark.parametrize(("more", "told"), [
    (("--agent", "nope"), "unknown agent 'nope'"), (("--user", "nope"), "unknown user 'nope'"), (("--n", 0), "--n"),
    (("--n", 10**6), "at most 100,000"),
])
def test_another_mistake_is_told_before_the_harness_that_is_missing(tmp_path, windowed, capsys, more, told):
    assert _branch(windowed, tmp_path / "out", *more) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("spec", [
    "react", "plan-act:every=5", "react+summary:at=2000,keep=2+retry:tries=5,wait=0.5", "react+only:crm_list_customers,crm_get_customer",
    "react+delegate:turns=5,tools=crm_get_customer/kb_search", "react+budget:turns=3,cost=0.5,input_price=1+window",
])
def test_a_harness_of_texts_is_written_so_that_it_is_read_back(spec):
    composition = Composition(json.loads(json.dumps(make_harness(spec).composition.manifest)))
    assert make_harness(spec_of(composition)).composition.sha256 == composition.sha256
    assert name_of(composition) == make_harness(spec).name


def test_what_no_text_has_is_named_and_not_written():
    composition = compose(prompt="Be careful.").composition
    assert (spec_of(composition), name_of(composition)) == (None, "react+prompt")
