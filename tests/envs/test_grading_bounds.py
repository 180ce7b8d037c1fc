"""What may be graded: an episode is held against the form of its seed, and one of an older release against what it used."""

from dataclasses import replace

import pytest

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import Blame
from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import call, final
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.registration import REGISTRY, load_task
from cowork_gym.envs.variation import instance

TASK = load_task("M1003")
NEWER = replace(TASK, version=TASK.version + 1, tools=tuple(one for one in TASK.tools if one != "kb_search"))


def _played(*actions: object, seed: int = 0) -> Episode:
    with CoworkEnv(TASK) as env:
        env.reset(seed=seed)
        for action in actions:
            env.step(action)
        return env.finish()


def _graded(task: Task, episode: Episode, *, newer: bool = False) -> Grade:
    return grade_episode(task, blueprint_of(task, REGISTRY.services()), episode, newer=newer)


@pytest.mark.parametrize(("played", "form"), [(0, 5), (5, 0), (5, 6)])
def test_an_episode_is_not_graded_by_another_form_of_its_task(played: int, form: int) -> None:
    assert TASK.variation
    episode = _played(final("done"), seed=played)
    grade = _graded(instance(TASK, form), episode)
    assert (grade.reward, grade.fault.blame, grade.fault.where) == (None, Blame.GRADER, "form")
    assert grade.fault.message == f"the episode is of seed {played}, the task is in the form of seed {form}"
    assert _graded(instance(TASK, played), episode) == episode.grade


def test_a_newer_release_without_a_tool_that_was_used_does_not_grade() -> None:
    episode = _played(call("kb_search", query="certificate"), final("done"))
    grade = _graded(NEWER, episode, newer=True)
    assert (grade.reward, grade.fault.blame, grade.fault.where) == (None, Blame.GRADER, "release")
    assert grade.fault.message == f"the tools of {NEWER.release_id} is not what was played in {TASK.release_id}"


@pytest.mark.parametrize("action", [call("helpdesk_list_tickets"), call("no_such_tool")])
def test_a_tool_that_was_not_used_may_be_missing_from_a_newer_release(action: object) -> None:
    episode = _played(action, final("done"))
    grade = _graded(NEWER, episode, newer=True)
    assert grade.reward is not None and (grade.fault, grade.release_id) == (None, NEWER.release_id)
