"""The micro tasks: registered, admitted, written by their makers, and graded so that only the right thing in the right place pays."""

import re
from collections import Counter

import gymnasium
import pytest

from cowork_gym.core.grade import Grade
from cowork_gym.core.task import Task
from cowork_gym.envs.registration import MICRO, REGISTRY, load_task
from cowork_gym.envs.variation import instance
from cowork_gym.envs.variation.form import parse_variation
from cowork_gym.envs.variation.making import made_form
from cowork_gym.synthesis.admission import admit
from cowork_gym.testing.check_task import grade_execution

NAMES = sorted(one.name for one in MICRO.iterdir())
SEEDS = (1, 7, 1_000_003, 10_000_019)
EVERY = pytest.mark.parametrize("name", NAMES)


def _grade(task: Task, at: int, seed: int) -> Grade:
    return grade_execution(task, instance(task, seed).references[at], seed)


def _maker(task: Task) -> str:
    return parse_variation(task.variation, "variation.yaml").maker or ""


@EVERY
def test_an_environment_goes_by_the_whole_id(name: str) -> None:
    id = f"cowork/{name.replace('_', '-')}-v0"
    assert REGISTRY.tasks()[id] == MICRO / name
    env = gymnasium.make(id)
    observation, info = env.reset(seed=3)
    assert observation[0].content == instance(load_task(id), 3).request and info["task"] == name
    env.close()


def test_there_are_six_kinds() -> None:
    assert {name.partition("_")[2] for name in NAMES} == {"Lookup", "Update", "Join", "Refuse", "Recover", "Long"}


@EVERY
def test_the_package_is_the_form_of_seed_0(name: str) -> None:
    task = load_task(MICRO / name)
    form = made_form(task, _maker(task), 0, "variation.yaml")
    for field in ("request", "given", "faults", "world", "grading", "references", "negatives"):
        assert getattr(task, field) == getattr(form, field), field


@EVERY
def test_the_author_s_form_and_another_are_admitted(name: str) -> None:
    pytest.importorskip("httpx")  # the gates play through the HTTP door too
    proof = admit(MICRO / name, (0, 5))
    assert [f"{result.gate}, seed {result.seed}: {problem.where}: {problem.found}" for result, problem in proof.problems] == []


@EVERY
@pytest.mark.parametrize("seed", SEEDS)
def test_references_earn_1_and_negatives_no_more_than_they_may(name: str, seed: int) -> None:
    task = load_task(MICRO / name)
    form = instance(task, seed)
    assert set(grade_execution(task, form.references[0], seed).rewards.values()) == {1.0}
    for negative in form.negatives:
        reward = grade_execution(task, negative, seed).reward
        assert reward is not None and reward <= (negative.max_reward or 0.0), negative.name


@EVERY
def test_the_same_seed_gives_the_same_form_and_others_differ(name: str) -> None:
    task = load_task(MICRO / name)
    maker = _maker(task)
    assert made_form(task, maker, 9, "v").world == made_form(task, maker, 9, "v").world
    forms = [instance(task, seed) for seed in range(1, 201)]
    asked = Counter((form.request, str(form.world)) for form in forms)
    assert len(asked) == 200
    ids = [tuple(re.findall(r"[TCK]\d\d", str(form.world))) for form in forms]
    assert len(set(ids)) == 200


def test_the_right_ticket_stands_at_every_place_of_the_list() -> None:
    task, places = load_task("Micro-Update"), Counter[int]()
    for seed in range(1, 151):
        form = instance(task, seed)
        status = form.references[0].actions[0].tool_calls[0].decoded()["status"]
        listed = sorted(row["ticket_id"] for row in form.world["helpdesk"]["tickets"] if row["status"] == status)
        places[listed.index(form.references[0].actions[-1].content)] += 1
    assert set(places) == {0, 1, 2} and places[0] > 20 and places[1] > 20


def test_a_rule_applies_twice_as_often_as_not() -> None:
    task = load_task("Micro-Refuse")
    applies = sum("forbidden_tools" in instance(task, seed).grading for seed in range(1, 301))
    assert 170 < applies < 230


def test_refusing_is_all_or_nothing() -> None:
    task = load_task("Micro-Refuse")
    seed = next(seed for seed in range(1, 20) if "forbidden_tools" in instance(task, seed).grading)
    wrong = {one.name: grade_execution(task, one, seed).reward for one in instance(task, seed).negatives}
    assert wrong["obeys"] == wrong["wrong_ticket"] == 0.0 and _grade(task, 0, seed).reward == 1.0


def test_the_long_chain_needs_an_early_ticket_at_its_end() -> None:
    task = load_task("Micro-Long")
    for seed in range(1, 40):
        form = instance(task, seed)
        *reads, update, answer = form.references[0].actions
        order = [one.tool_calls[0].decoded()["ticket_id"] for one in reads]
        assert 10 <= len(order) <= 14 and order.index(answer.content) in (1, 2, 3)
        rows = {row["ticket_id"]: row for row in form.world["helpdesk"]["tickets"]}
        assert [rows[one]["next"] for one in order] == [*order[1:], "none"]
        assert max(order, key=lambda one: int(rows[one]["hours"])) == answer.content == update.tool_calls[0].decoded()["ticket_id"]
