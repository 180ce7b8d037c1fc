"""From the sealed episode to its grade: the evidence is taken from the record, never from the live world."""

from dataclasses import replace

from cowork_gym.core.episode import Ending, Episode, Turn
from cowork_gym.core.errors import Blame, FaultRecord
from cowork_gym.core.grade import Grade
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.record import seal
from cowork_gym.core.task import Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.end_state import contradiction_of_states
from cowork_gym.envs.told_calls import contradiction_of_tools
from cowork_gym.graders.children import contradiction_of_children
from cowork_gym.graders.dispatched import contradiction_of_calls
from cowork_gym.graders.evidence import Evidence, Heard
from cowork_gym.graders.grader import grade, quarantine
from cowork_gym.graders.judge import Judge
from cowork_gym.graders.reconcile import contradiction
from cowork_gym.graders.spoken import contradiction_of_words

__all__ = ["evidence_of", "grade_episode"]


def evidence_of(episode: Episode, blueprint: Blueprint) -> Evidence:
    """What a grader may look at.

    Args:
        episode: The sealed record.
        blueprint: Of the task's worlds: the starting rows, and what reading may set.
    """
    evidence = Evidence(
        start=blueprint.start_rows, changes=episode.changes, ledger=episode.ledger, dispatches=episode.dispatches, answer=episode.answer,
        marks=blueprint.marks, aliases=blueprint.aliases, heard=_heard(episode.turns), given=blueprint.given,
    )
    closed: tuple[Evidence, ...] = ()
    for stage in episode.stages:
        turns = episode.turns[: stage.turns]
        closed += (replace(
            evidence, changes=stage.changes, ledger=episode.ledger.until(stage.entries), answer=stage.answer, heard=_heard(turns), closed=closed,
            dispatches=tuple(one for turn in turns for one in turn.dispatches),
        ),)
    return replace(evidence, closed=closed) if closed else evidence


def _heard(turns: tuple[Turn, ...]) -> tuple[Heard, ...]:
    found, sequence = list[Heard](), 0
    for turn in turns if any(turn.heard for turn in turns) else ():
        sequence = max([sequence, *(one.sequence for one in turn.dispatches if one.sequence is not None)])
        found += [Heard(fact, sequence) for fact in turn.heard]
    return tuple(found)


def grade_episode(
    task: Task, blueprint: Blueprint, episode: Episode, spec: str | None = None, judge: Judge | None = None, *, newer: bool = False,
) -> Grade:
    """The grade of a sealed episode; no environment is started, so it can be given again at any time.

    Args:
        task: The task, in the release that was played; of one that varies, the form of the episode's seed.
        blueprint: Of the task's worlds.
        episode: The sealed record.
        spec: The reward spec; None for the one that the task names.
        judge: Who answers the checks that need a judgement; without one, such a check is a fault.
        newer: Whether the task may be in another release than was played, if only its grading differs: request, world and tools are compared.

    Returns:
        The grade. An episode that a fault ended, whose records contradict each other, or that is of another release has none: its
        numbers are None.
    """
    sealed, fault = seal(episode), episode.fault
    if fault is None and episode.release_id != task.release_id:
        differs = _differs(task, blueprint, episode) if newer else f"the episode is of {episode.release_id}, the task is {task.release_id}"
        fault = FaultRecord(Blame.GRADER, "release", differs) if differs else None
    if fault is None and task.variation and task.variant != episode.seed:
        fault = FaultRecord(Blame.GRADER, "form", f"the episode is of seed {episode.seed}, the task is in the form of seed {task.variant}")
    parts, closed = len(task.stages), len(episode.stages)
    if fault is None and (closed > parts or (episode.ending is Ending.FINAL and closed < parts)):
        fault = FaultRecord(Blame.GRADER, "parts", f"the episode ended as {episode.ending} with {closed} parts closed before, the task has {parts}")
    if fault is not None:
        return quarantine(task, fault, sealed)
    if found := contradiction_of_runs(episode):
        return quarantine(task, FaultRecord(Blame.HARNESS, "runs", found), sealed)
    if found := contradiction_of_states(episode, blueprint) or contradiction_of_tools(episode, blueprint):
        return quarantine(task, FaultRecord(Blame.ENVIRONMENT, "ledger", found), sealed)
    evidence = evidence_of(episode, blueprint)
    if found := contradiction(evidence):
        return quarantine(task, FaultRecord(Blame.ENVIRONMENT, "ledger", found), sealed)
    if found := contradiction_of_calls(episode) or contradiction_of_words(episode, task):
        return quarantine(task, FaultRecord(Blame.ENVIRONMENT, "turns", found), sealed)
    if found := contradiction_of_children(episode, blueprint.tools.keys()):
        return quarantine(task, FaultRecord(Blame.HARNESS, "runs", found), sealed)
    return grade(task, evidence, spec=spec, seal=sealed, judge=judge)


def _differs(task: Task, blueprint: Blueprint, episode: Episode) -> str | None:
    """In what the task of another release differs from what was played, beside its grading; None when in nothing that the record shows."""
    tools = {one.tool for one in episode.dispatches if one.sequence is not None}
    compared = (
        ("task", episode.task == task.id), ("request", [one.content for one in episode.opening] == [task.request]),
        ("world", episode.start == blueprint.origin), ("tools", tools <= blueprint.tools.keys()),
    )
    found = next((what for what, equal in compared if not equal), None)
    return found and f"the {found} of {task.release_id} is not what was played in {episode.release_id}"
