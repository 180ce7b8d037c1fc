"""The package in docs/variation.md: it loads, every seed of it is won by its own reference, and the page names what there is."""

import re
from pathlib import Path

import pytest

from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.envs.variation import Variation, instance
from cowork_gym.envs.variation.amounts import Amount
from cowork_gym.envs.variation.makers import MAKERS
from cowork_gym.envs.variation.names import Kind
from cowork_gym.envs.variation.noise import Noise
from cowork_gym.harness import play
from cowork_gym.harness.policies.scripted import ScriptedPolicy

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "variation.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    folder = tmp_path_factory.mktemp("docs")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return load_task(folder / "Double_charge")


@pytest.mark.parametrize("seed", range(6))
def test_the_example_is_won_by_each_seeds_own_reference_alone(task: Task, seed: int) -> None:
    env, form = CoworkEnv(task), instance(task, seed)
    for execution in (*form.references, *form.negatives):
        grade = play(env, ScriptedPolicy(execution.name, execution.actions), seed=seed).grade
        assert grade is not None
        assert grade.reward == 1.0 if execution.max_reward is None else grade.reward <= execution.max_reward
    grade = play(env, ScriptedPolicy("as it stands", task.references[0].actions), seed=seed).grade
    assert grade is not None
    assert grade.passed is (seed == 0)
    env.close()


def test_the_example_uses_every_key(task: Task) -> None:
    assert task.variation.keys() | {"maker"} == Variation.model_fields.keys()  # which stands alone


def test_the_page_names_every_key_kind_and_maker() -> None:
    words = [*Variation.model_fields.keys() - {"schema_version"}, *Kind, *Amount.model_fields, *Noise.model_fields]
    assert [word for word in words if f"`{word}`" not in DOCS] == []
    assert [maker for maker in MAKERS if f"`{{{maker}: " not in DOCS] == []
