"""Grading again: the evidence stays byte for byte, and a grade stands behind the others only when it is another one."""

import shutil
from dataclasses import replace

import pytest

from cowork_gym.core.errors import Blame, PackageError, UserError
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.envs.packages import load_task as load_package
from cowork_gym.envs.registration import CATALOG, REGISTRY, load_task
from cowork_gym.harness import play
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.regrade import regrade

TASK = load_task("M1003")
FOLDER = next(CATALOG.glob("M1003_*"))


@pytest.fixture
def file(tmp_path):
    env = CoworkEnv(TASK)
    return write_episode(play(env, make_agent("reference", TASK), seed=0), tmp_path)


def _sealed(file):
    lines = file.read_bytes().splitlines()
    return lines[: next(at for at, line in enumerate(lines) if b'"event":"seal"' in line) + 1]


def test_the_same_grader_gives_the_same_grade_and_writes_nothing(file):
    before = file.read_bytes()
    done = regrade(file)
    assert (done.before, done.appended) == (done.after, False)
    assert file.read_bytes() == before


def test_another_reward_spec_is_appended_and_the_evidence_stays(file):
    sealed = _sealed(file)
    done = regrade(file, reward="claw-v1")
    assert (done.after.spec, done.appended) == ("claw-v1", True)
    assert _sealed(file) == sealed
    assert read_episode(file).grade == done.after
    assert len(file.read_bytes().splitlines()) == len(sealed) + 2


def test_a_newer_grader_grades_what_an_older_release_played(file, tmp_path):
    package = tmp_path / FOLDER.name
    shutil.copytree(FOLDER, package)
    grading = package / "private" / "grading.yaml"
    grading.write_text(grading.read_text().replace("forbidden_tools:", "reward: claw-v1\nforbidden_tools:", 1))
    newer = load_package(package, REGISTRY.services())
    assert newer.release_id != TASK.release_id
    done = regrade(file, task=newer)
    assert (done.before.reward, done.after.reward, done.after.spec, done.after.release_id) == (1.0, 1.0, "claw-v1", newer.release_id)


def test_another_world_or_request_is_not_graded(file, tmp_path):
    package = tmp_path / FOLDER.name
    shutil.copytree(FOLDER, package)
    form = package / "task.yaml"
    form.write_text(form.read_text().replace("mock_today: 2026", "mock_today: 2027", 1).replace("request: |", "request: |\n  Please be quick.", 1))
    before = file.read_bytes()
    done = regrade(file, task=load_package(package, REGISTRY.services()))
    assert (done.after.reward, done.appended, file.read_bytes()) == (None, False, before)
    assert "is not what was played" in done.after.fault.message


def test_what_is_no_episode_or_of_another_task_is_told(file, tmp_path):
    with pytest.raises(UserError, match="the episode is of"):
        regrade(file, task="M1100")
    file.write_bytes(file.read_bytes().replace(b'"seed":0', b'"seed":2', 1))
    with pytest.raises(PackageError, match="the seal does not match"):
        regrade(file)
    with pytest.raises(PackageError, match="not an episode file"):
        regrade(tmp_path / "none.jsonl")


def test_of_another_world_the_world_is_named(file):
    articles = [{**one, "title": f"{one['title']}!"} for one in TASK.world["kb"]["articles"]]
    other = replace(TASK, world={**TASK.world, "kb": {**TASK.world["kb"], "articles": articles}})
    done = regrade(file, task=other)
    assert (done.after.reward, done.appended) == (None, False)
    assert done.after.fault.message.startswith("the world of ")


def test_runs_that_contradict_the_turns_are_the_harness_s_fault(file):
    episode, blueprint = read_episode(file), REGISTRY.load("M1003")[1]
    (run,) = episode.runs
    (segment,) = run.segments
    broken = replace(episode, runs=(replace(run, segments=(replace(segment, generations=segment.generations[:-1]),)),))
    grade = grade_episode(TASK, blueprint, broken)
    assert (grade.reward, grade.fault.blame, grade.fault.where) == (None, Blame.HARNESS, "runs")
