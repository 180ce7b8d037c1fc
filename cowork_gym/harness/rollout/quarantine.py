"""Episodes that could not be played or kept: a record of nothing but who is to blame."""

import logging

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.errors import Blame, Fault, FaultRecord, UserError, told
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import Message
from cowork_gym.core.record import seal
from cowork_gym.core.task import Task
from cowork_gym.graders import grader
from cowork_gym.harness.rollout.plan import Slot

__all__ = ["as_fault", "quarantined"]

_LOG = logging.getLogger(__name__)


def as_fault(error: BaseException, where: str, blame: Blame = Blame.HARNESS) -> FaultRecord:
    """What was raised, as a fault of the part that raised it, unless it says itself whose it is."""
    if isinstance(error, Fault):
        return error.record
    if isinstance(error, UserError):
        return FaultRecord(blame, where, str(error)[:300])
    _LOG.error("%s failed", where, exc_info=error)
    return FaultRecord(blame, where, told(error)[:300])


def quarantined(task: Task, slot: Slot, agent: str, fault: FaultRecord) -> Episode:
    """An episode without a turn that a fault ended, sealed and without a reward.

    Args:
        task: In the form that its author wrote: the slot's form may be what cannot be had.
        slot: Whose it is.
        agent: Who would have played.
        fault: Why nobody did, or why what was played cannot be kept.
    """
    bare = Episode(
        task=task.id, release_id=task.release_id, seed=slot.seed, agent=agent, opening=(Message("user", task.request),), turns=(), ledger=Ledger(),
        changes=(), start="", end="", ending=Ending.FAULT, fault=fault, budgets=task.budgets,
    )
    return bare.with_grade(grader.quarantine(task, fault, seal(bare)))
