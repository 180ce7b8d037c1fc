"""The sampler: what it draws, that it draws it again, and what stands in the manifest."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from child_runs import ANSWER, TASK, Lines

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import PLAIN, Harness, compose, play
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.loops import PlanAct, React
from cowork_gym.harness.middleware import Retry, Window
from cowork_gym.harness.prompt import Prompt
from cowork_gym.harness.sampler import Sampler, read_sampler
from cowork_gym.harness.skills import Skill
from cowork_gym.harness.spec import make_harness, make_harness_source

SKILLS = (Skill("card", "How it is done.", "Like this."),)
BASE = make_harness("react+retry:tries=5+window")
PLACES: Mapping[str, Sequence[Any]] = {
    "loop": ["react", "plan-act:every=5"], "middleware.0": ["retry:tries=2", None, "normalise"], "middleware.1": [None, "window:size=40"],
}


def _drawn(sampler: Sampler, n: int = 60) -> list[Harness]:
    return [sampler.draw("M1100", trial) for trial in range(n)]


def test_draws_follow_from_seed_task_and_trial_alone() -> None:
    first, again, other = (_drawn(Sampler(PLACES, seed, base=BASE)) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    sampler = Sampler(PLACES, 3, base=BASE)
    assert sampler.draw("M1100", 7) == first[7]  # whatever was drawn before
    assert [sampler.draw("M1101", trial) for trial in range(60)] != first


def test_one_component_more_shifts_no_other() -> None:
    more = {**PLACES, "tools": ["delegate", None]}
    for few, many in zip(_drawn(Sampler(PLACES, 3, base=BASE)), _drawn(Sampler(more, 3, base=BASE)), strict=True):
        assert (few.loop, few.middleware) == (many.loop, many.middleware)


def test_components_are_drawn_independently_and_every_option_comes() -> None:
    chains = Counter((one.loop.name, "+".join(part.name for part in one.middleware)) for one in _drawn(Sampler(PLACES, 1, base=BASE), 200))
    assert {*chains} == {*product(("react", "plan-act"), ("retry", "retry+window", "", "window", "normalise", "normalise+window"))}
    assert min(chains.values()) >= 5


def test_the_manifest_says_how_it_was_chosen_and_the_hash_what_it_is() -> None:
    for one in _drawn(Sampler(PLACES, 3, base=BASE)):
        told = one.composition.manifest["sampled"]
        assert told["seed"] == 3 and {*told["choice"]} == {*PLACES}
        chain = [told["choice"][f"middleware.{at}"] for at in (0, 1)]
        plain = make_harness("+".join([told["choice"]["loop"], *filter(None, chain)]))
        assert one.composition.sha256 == plain.composition.sha256
        assert one.composition.manifest == {**plain.composition.manifest, "sampled": told}
    hashes = {one.composition.sha256 for one in _drawn(Sampler(PLACES, 3, base=BASE))}
    assert len(hashes) == 12


@pytest.mark.parametrize("seed", range(3))
def test_one_at_a_time_differs_from_the_base_in_exactly_one_component(seed: int) -> None:
    seen = Counter[str]()
    for one in _drawn(Sampler({**PLACES, "prompt": [Prompt("Be careful."), Prompt()]}, seed, base=BASE, one_at_a_time=True)):
        told, base = one.composition.manifest, BASE.composition.manifest
        (changed,) = told["sampled"]["choice"]
        assert [part for part in base if told[part] != base[part]] == [changed.partition(".")[0]]
        seen[changed] += 1
    assert {*seen} == {*PLACES, "prompt"}


def test_whole_compositions_are_drawn() -> None:
    whole = Sampler({"harness": ["plan-act+retry", compose(React(), middleware=[Window()]), None]}, 0)
    assert {one.name for one in _drawn(whole)} == {"plan-act+retry", "react+window", "react"}
    labels = {one.composition.manifest["sampled"]["choice"]["harness"] for one in _drawn(whole)}
    assert labels == {"plan-act+retry", compose(middleware=[Window()]).composition.sha256, None}


def test_options_may_be_the_components_themselves() -> None:
    options = {
        "loop": [PlanAct(3)], "prompt": [Prompt("Be careful.")], "only": [("kb_search",)], "tools": [(Delegate(turns=2),)], "skills": [SKILLS],
        "middleware": [(Retry(), Window())],
    }
    drawn = Sampler(options, 0).draw("M1100", 0)
    expected = compose(PlanAct(3), prompt="Be careful.", only=["kb_search"], tools=[Delegate(turns=2)], skills=SKILLS, middleware=[Retry(), Window()])
    assert drawn.composition.sha256 == expected.composition.sha256
    assert drawn.composition.manifest["sampled"]["choice"] == {name: expected.composition.manifest[name] for name in options}
    placed = Sampler({"middleware.0": [Window(40)]}, 0, base=BASE).draw("M1100", 0)
    assert placed.middleware == (Window(40), BASE.middleware[1])


@pytest.mark.parametrize(("options", "told"), [
    ({}, "nothing to draw from"), ({"lop": ["react"]}, "there is no component 'lop', did you mean 'loop'?"),
    ({"loop": []}, "loop has no list of options"), ({"loop": "react"}, "loop has no list of options"),
    ({"middleware.2": [None]}, "there is no component 'middleware.2'"),
    ({"harness": ["react"], "loop": ["react"]}, "whole compositions"), ({"middleware": ["retry"], "middleware.0": [None]}, "whole chain"),
    ({"loop": ["retry"]}, "'retry' is no option of loop"), ({"middleware.0": ["retry+window"]}, "no option of middleware.0"),
    ({"middleware": ["delegate"]}, "no option of middleware"), ({"tools": ["plan-act"]}, "no option of tools"),
    ({"only": ["a+retry"]}, "no option of only"), ({"loop": [Retry()]}, "no option of loop"),
    ({"middleware.0": [React()]}, "no option of middleware.0"), ({"harness": [React()]}, "no option of harness"),
    ({"loop": ["react", "reactt"]}, "sampler: loop[1]: harness: there is no part 'reactt', did you mean 'react'?"),
    ({"loop": 5}, "loop has no list of options"), ({"loop": {"react"}}, "loop has no list of options"),
    ({"loop": None}, "loop has no list of options"),
    ({"loop": {"react": 0.5}}, "loop has no list of options"), ({5: ["react"]}, "there is no component 5"),
    ({"loop": [("react", 0.5)]}, "sampler: loop[0]: "),
    ({"prompt": ["careful.txt", 5]}, "sampler: prompt[0]: careful.txt: the prompt cannot be read"),
    ([("loop", ["react"])], "options is to be a mapping from components to lists, not a list"), (None, "options is to be a mapping"),
])
def test_what_cannot_be_drawn_from_is_told(options: Mapping[str, Any], told: str) -> None:
    with pytest.raises(UserError) as error:
        Sampler(options, 0, base=BASE)
    assert told in str(error.value)


@pytest.mark.parametrize(("given", "told"), [
    ({"seed": "x"}, "seed is to be a whole number, not 'x'"), ({"seed": 1.5}, "seed is to be a whole number, not 1.5"),
    ({"seed": float("nan")}, "seed is to be a whole number, not nan"),
    ({"base": "react"}, "base is to be a Harness, such as make_harness gives, not 'react'"),
])
def test_arguments_of_another_type_are_named(given: Mapping[str, Any], told: str) -> None:
    with pytest.raises(UserError) as error:
        Sampler(**{"options": {"loop": ["react"]}, "seed": 0, **given})
    assert str(error.value) == told


def test_one_at_a_time_needs_something_that_differs() -> None:
    with pytest.raises(UserError, match="no option differs"):
        Sampler({"loop": ["react"]}, 0, one_at_a_time=True)


FILE = """
schema_version: 1
seed: 7
base: react+retry+prompt:careful.txt
one_at_a_time: true
options:
  loop: [plan-act, "plan-act:every=5"]
  prompt: [null, bold.txt]
  middleware.0: [null]
"""


def _file(folder: Path, text: str = FILE) -> Path:
    for name in ("careful", "bold"):
        (folder / f"{name}.txt").write_text(f"Be {name}.")
    (folder / "harnesses.yaml").write_text(text)
    return folder / "harnesses.yaml"


def test_a_file_is_a_sampler(tmp_path: Path) -> None:
    path = _file(tmp_path)
    sampler, source = read_sampler(path), make_harness_source(f"@{path}")
    assert [source("M1100", trial) for trial in range(20)] == _drawn(sampler, 20)
    assert (sampler.seed, sampler.one_at_a_time, sampler.base.prompt) == (7, True, Prompt("Be careful."))
    prompts = {one.prompt.text for one in _drawn(sampler)}
    assert prompts == {"Be careful.", "Be bold.", ""}


@pytest.mark.parametrize(("old", "new", "told"), [
    ("seed: 7", "seeds: 7", "did you mean 'seed'?"), ("seed: 7", "seed: -1", "seed"), ("schema_version: 1", "schema_version: 2", "schema_version"),
    ("[null, bold.txt]", "[5]", "options.prompt"), ("[null, bold.txt]", "[]", "options.prompt"),
    ("bold.txt", "gone.txt", "gone.txt: the prompt cannot"),
    ("loop:", "lop:", "did you mean 'loop'?"), ("react+retry", "react+rety", "did you mean 'retry'?"), ("options:", "choices:", "options"),
])
def test_a_wrong_file_is_told_in_one_line(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in FILE
    with pytest.raises((UserError, PackageError)) as error:
        read_sampler(_file(tmp_path, FILE.replace(old, new)))
    assert told in str(error.value) and str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


HEAD = "schema_version: 1\n"


@pytest.mark.parametrize(("text", "told"), [
    ("", ": expected a mapping, not nothing"), (" \n# none\n", ": expected a mapping, not nothing"), ("[]", ": expected a mapping"),
    (HEAD + "options: " + "[" * 5000 + "]" * 5000, ": line 2, column "), (HEAD + "options: " + "{a: " * 100 + "1" + "}" * 100, ": options.a.a."),
    (HEAD + "options: {loop: [react]}\nweights: {loop: [.nan]}", ": weights: unknown key: choose from base, one_at_a_time, options, "),
    (HEAD + "options: {loop: [{react: -1}]}", ": options.loop[0]: "), (HEAD + "options: {loop: {react: .nan}}", ": options.loop: "),
    (HEAD + "options: {loop: [react, 0]}", ": options.loop[1]: "), (HEAD + "options: {}", ": options: "), (HEAD + "options:", ": options: "),
    (HEAD + "options: {lop: [react]}", ": options: there is no component 'lop', did you mean 'loop'?"),
    (HEAD + "options: {middleware.0: [retry]}", ": options: there is no component 'middleware.0'"),
    (HEAD + "options: {loop: [react, reactt]}", ": options: loop[1]: harness: there is no part 'reactt'"),
    (HEAD + "options: {loop: [react], loop: [plan-act]}", ": line 2, column 26: the key 'loop' comes twice"),
    (HEAD + "base: nope\noptions: {loop: [react]}", ": base: harness: there is no part 'nope'"),
    (HEAD + "options: {only: ['a,a']}", ": options: only[0]: harness: only: 'a' comes twice"),
    (HEAD + "options: {skills: [nowhere]}", ": options: skills[0]: "), ("\0", ": "),
])
def test_the_field_of_a_wrong_file_is_named(text: str, told: str, tmp_path: Path) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(PackageError) as error:
        read_sampler(path)
    assert str(error.value).startswith(f"{path}{told}") and "\n" not in str(error.value) and len(str(error.value)) < 400


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = _file(tmp_path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PackageError, match="line 1: not UTF-8"):
        read_sampler(path)
    with pytest.raises(PackageError, match="not a regular file"):
        read_sampler(tmp_path)


def test_an_episode_keeps_the_choice(tmp_path: Path) -> None:
    harness = Sampler({"middleware.0": ["retry:tries=2", None]}, 5, base=BASE).draw(TASK.id, 3)
    episode = play(CoworkEnv(TASK), Lines(ANSWER), harness=harness, seed=0)
    again = read_episode(write_episode(episode, tmp_path))
    assert again == episode
    assert again.composition.manifest["sampled"] == harness.sampled
    assert again.composition.sha256 == harness.composition.sha256 != PLAIN.composition.sha256
