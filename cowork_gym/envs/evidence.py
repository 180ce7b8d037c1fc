"""From the sealed episode to its grade: the evidence is taken from the record, never from the live world."""

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import Blame, FaultRecord
from cowork_gym.core.grade import Grade
from cowork_gym.core.record import seal
from cowork_gym.core.task import Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.graders.evidence import Evidence
from cowork_gym.graders.grader import grade, quarantine
from cowork_gym.graders.reconcile import contradiction

__all__ = ["evidence_of", "grade_episode"]


def evidence_of(episode: Episode, blueprint: Blueprint) -> Evidence:
    """What a grader may look at.

    Args:
        episode: The sealed record.
        blueprint: Of the task's worlds: the starting rows, and what reading may set.
    """
    return Evidence(
        start=blueprint.start_rows, changes=episode.changes, ledger=episode.ledger, dispatches=episode.dispatches, answer=episode.answer,
        marks=blueprint.marks, aliases=blueprint.aliases,
    )


def grade_episode(task: Task, blueprint: Blueprint, episode: Episode, spec: str | None = None) -> Grade:
    """The grade of a sealed episode; no environment is started, so it can be given again at any time.

    Args:
        task: The task, in the release that was played.
        blueprint: Of the task's worlds.
        episode: The sealed record.
        spec: The reward spec; None for the one that the task names.

    Returns:
        The grade. An episode that a fault ended, whose records contradict each other, or that is of another release has none: its
        numbers are None.
    """
    sealed, fault = seal(episode), episode.fault
    if fault is None and episode.release_id != task.release_id:
        fault = FaultRecord(Blame.GRADER, "release", f"the episode is of {episode.release_id}, the task is {task.release_id}")
    evidence = evidence_of(episode, blueprint)
    if fault is None and (found := contradiction(evidence)):
        fault = FaultRecord(Blame.ENVIRONMENT, "ledger", found)
    return quarantine(task, fault, sealed) if fault else grade(task, evidence, spec=spec, seal=sealed)
