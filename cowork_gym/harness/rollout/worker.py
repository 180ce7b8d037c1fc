"""The work on one slot: its episode is found, or played, or quarantined with who is to blame; then it is kept."""

import threading
from collections.abc import Mapping
from contextlib import closing
from typing import NamedTuple

from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.errors import FaultRecord, MissingExtra, UserError
from cowork_gym.core.task import Task
from cowork_gym.harness.compose import Harness
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.rollout.folder import RunFolder
from cowork_gym.harness.rollout.lineup import Lineup
from cowork_gym.harness.rollout.plan import Slot
from cowork_gym.harness.rollout.quarantine import as_fault, quarantined
from cowork_gym.harness.rollout.settings import Settings

__all__ = ["Played", "Worker"]


class Played(NamedTuple):
    """One episode of a rollout."""

    slot: Slot
    episode: Episode
    kept: bool
    """Whether it was there before and was not played now."""


class _GivenUp(BaseException):
    """Nobody waits for the episode any more. No policy and no part of a harness takes it for a failure of its own."""


class Worker:
    """Works on slots, from many threads at once, until it is stopped.

    Args:
        tasks: By id.
        lineup: Who plays.
        settings: How.
        folder: Where episodes are kept; None keeps none.
    """

    def __init__(self, tasks: Mapping[str, Task], lineup: Lineup, settings: Settings, folder: RunFolder | None) -> None:
        self._tasks, self._lineup, self._settings, self._folder = tasks, lineup, settings, folder
        self._stopped = threading.Event()
        self._proven = threading.Event()
        self._writing = threading.Lock()

    def stop(self) -> None:
        """Let nothing be played on, and nothing be written from now on. A file that is being written is finished."""
        self._stopped.set()
        with self._writing:
            pass

    def work(self, slot: Slot) -> Played:
        """The episode of a slot.

        Raises:
            UserError: The person has to mend something before any episode can be played, or kept.
            OSError: It cannot be written.
        """
        self._go_on()
        if self._folder is not None and (kept := self._folder.sealed(slot, self._lineup.composition(slot))) is not None:
            return Played(slot, kept, True)
        task, policy, harness = self._tasks[slot.task], self._lineup.policy(slot), self._lineup.harness(slot)
        if isinstance(policy, FaultRecord):
            episode = quarantined(task, slot, self._lineup.agent, policy)
        elif isinstance(harness, FaultRecord):
            episode = quarantined(task, slot, policy.name, harness)
        else:
            episode = self._played(task, slot, policy, harness)
        return Played(slot, self._kept(task, slot, episode), False)

    def _played(self, task: Task, slot: Slot, policy: Policy, harness: Harness) -> Episode:
        """The episode, sealed and graded."""
        try:
            with closing(self._settings.open(task)) as env:
                episode = play(env, policy, harness=harness, seed=slot.seed, sampling=slot.sampling, watch=self._watch)
        except UserError as error:
            if not self._proven.is_set():  # as far as is known, it holds for all
                raise
            return quarantined(task, slot, policy.name, as_fault(error, policy.name))
        except (Exception, SystemExit) as error:
            return quarantined(task, slot, policy.name, as_fault(error, policy.name))
        self._proven.set()
        return episode

    def _kept(self, task: Task, slot: Slot, episode: Episode) -> Episode:
        """The episode as it is kept: one that cannot be written down gives way to the record of that."""
        if self._folder is None:
            return episode
        with self._writing:
            self._go_on()
            try:
                self._folder.keep(slot, episode)
            except (OSError, MissingExtra):
                raise
            except Exception as error:
                episode = quarantined(task, slot, episode.agent, as_fault(error, episode.agent))
                self._folder.keep(slot, episode)
        return episode

    def _watch(self, turn: Turn) -> None:
        self._go_on()

    def _go_on(self) -> None:
        if self._stopped.is_set():
            raise _GivenUp
