"""Repairs that hold: a corrected continuation was played in the world of the task, comes out again in a replay, and earns its grade."""

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import Fault, UserError
from cowork_gym.core.grade import PASS
from cowork_gym.core.record import seal
from cowork_gym.core.task import Task
from cowork_gym.core.trajectory import ROOT
from cowork_gym.graders.judge import Judge
from cowork_gym.harness.replay import replay
from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sft.catalog import Catalog
from cowork_gym.trainers.data.sft.dialogues import Shape, build_dialogues
from cowork_gym.trainers.data.sft.sanitise import Finding, Repair

__all__ = ["episode_problem", "repair_from"]


def episode_problem(episode: Episode, *, task: Task | None = None, at_least: float = PASS, judge: Judge | None = None) -> str | None:
    """Why a played correction does not hold: it is replayed and graded anew. None when it holds.

    Args:
        episode: The repaired episode.
        task: The task that was played; None finds it by the name in the record.
        at_least: The reward that it must earn.
        judge: Who answers checks that need a judgement.
    """
    try:
        with replay(episode, task=task, judge=judge) as env:
            grade = env.finish().grade
    except (UserError, Fault) as error:
        return f"not replayed: {error}"
    if grade is None or grade.reward is None:
        return f"not graded: {grade.fault.message}" if grade is not None and grade.fault else "not graded"
    return None if grade.reward >= at_least else f"earns {grade.reward:g}, less than {at_least:g}"


def repair_from(
    original: Episode, repaired: Episode, catalog: Catalog, shape: Shape | None = None, *, task: Task | None = None, at_least: float = PASS,
    judge: Judge | None = None,
) -> tuple[Finding, Repair]:
    """The repair that another continuation of an episode is, such as `harness.branch` gives.

    The first turn that was not taken over is the bad step. The repair is verified when it is used: the dialogue must be that of the repaired
    episode, which must be a branch of the original one, come out again in a replay and earn its grade.

    Args:
        original: The episode with the bad step.
        repaired: The continuation.
        catalog: The installed releases.
        shape: As the original's dialogue was built.
        task: The task that was played; None finds it by the name in the record.
        at_least: The reward that it must earn.
        judge: Who answers checks that need a judgement.

    Raises:
        ValueError: The continuation is quarantined, or takes nothing over and continues nothing.
    """
    if repaired.origin is None or repaired.origin.seal != seal(original):
        raise ValueError("the repaired episode is no branch of the original one")
    whole = next((one for one in build_dialogues(repaired, catalog, shape).dialogues if one.source.run == ROOT), None)
    if whole is None:
        raise ValueError("the repaired episode has no answer that could be learned")
    answers = [at for at, one in enumerate(whole.utterances) if one.message.role == "assistant"]
    first = next((number for number, at in enumerate(answers) if whole.utterances[at].why != "taken over"), 0)

    def verify(dialogue: Dialogue) -> str | None:
        if dialogue.messages != whole.messages:
            return "the dialogue is not that of the repaired episode"
        return episode_problem(repaired, task=task, at_least=at_least, judge=judge)

    finding = Finding(bad_step=first, verified_repair=True, why="bad step")
    return finding, Repair(whole.utterances[answers[first]:], verify, repaired.agent)
