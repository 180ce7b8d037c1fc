"""Grading sealed evidence again: with the grader of today, another reward spec or a judge. The evidence is read and never edited."""

from pathlib import Path
from typing import NamedTuple

from cowork_gym.core.errors import UserError
from cowork_gym.core.grade import Grade
from cowork_gym.core.record import append_grade, read_episode
from cowork_gym.core.task import Task
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.envs.variation import instance
from cowork_gym.graders.judge import Judge

__all__ = ["Regraded", "regrade"]


class Regraded(NamedTuple):
    """What came of grading an episode again."""

    before: Grade | None
    """The last grade that the file had."""
    after: Grade
    appended: bool
    """Whether it was written. A grade that is equal to the last one is not, nor is a fault where there is a good grade."""


def regrade(path: str | Path, *, task: str | Path | Task | None = None, reward: str | None = None, judge: Judge | None = None) -> Regraded:
    """Grade a sealed episode again and append the grade to its file. The lines that are sealed stay byte for byte.

    The grader may be newer than the one of the episode's release; request, world and tools must be what was played.

    Args:
        path: The episode's file.
        task: The task, where it is not registered under the episode's id.
        reward: The reward spec; None for the one that the task names.
        judge: Who answers checks that need a judgement.

    Raises:
        PackageError: The file is no sealed episode.
        UserError: There is no such task.
        OSError: The file cannot be written.
    """
    episode = read_episode(path)
    found = task if isinstance(task, Task) else REGISTRY.load(_name(episode.task) if task is None else task)[0]
    if found.id != episode.task:
        raise UserError(f"{path}: the episode is of {episode.task}, not of {found.id}")
    form = instance(found, episode.seed)
    grade = grade_episode(form, blueprint_of(form, REGISTRY.services()), episode, reward, judge, newer=True)
    lost = grade.fault is not None and episode.grade is not None and episode.grade.fault is None
    if lost or grade == episode.grade:
        return Regraded(episode.grade, grade, False)
    append_grade(path, grade)
    return Regraded(episode.grade, grade, True)


def _name(task: str) -> str:
    """The short name of a task, by which the registry knows it: its id up to the first underscore."""
    return task.partition("_")[0]
