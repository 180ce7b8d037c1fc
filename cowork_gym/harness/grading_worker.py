"""Grading in a process of its own, which is kept: for official runs, where nothing of the agent's process may reach the grader."""

import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from concurrent.futures.process import BrokenProcessPool
from functools import cache, lru_cache
from multiprocessing import get_context

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import Blame, FaultRecord
from cowork_gym.core.grade import Grade
from cowork_gym.core.record import seal
from cowork_gym.core.task import Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.graders.grader import quarantine
from cowork_gym.graders.judge import Judge

__all__ = ["GradingWorker"]


class GradingWorker:
    """A process that grades sealed episodes, one at a time. It is started by the first one, and anew when it was ended.

    An instance is a grader as `Grading` takes it. The process knows the services that are built in or installed, not those that were
    registered by hand in this one. Close it in the end, or use it as a context manager.

    Args:
        judge: Gives the judge in that process, where checks need one: a function that can be imported there.
        timeout: Seconds after which grading counts as failed.
    """

    def __init__(self, judge: Callable[[], Judge] | None = None, *, timeout: float = 120) -> None:
        self._judge, self._timeout = judge, timeout
        self._pool: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()

    def __call__(self, task: Task, blueprint: Blueprint, episode: Episode, spec: str | None = None, judge: Judge | None = None) -> Grade:
        """The grade of a sealed episode. A process that fails is the grader's fault, and the episode is quarantined."""
        sealed = seal(episode)
        try:
            graded = self._submit(pickle.dumps((pickle.dumps(task), episode, spec, self._judge)))
        except TooLate:
            self.close()
            return _failed(task, f"no grade within {self._timeout} seconds", sealed)
        except BrokenProcessPool:
            self.close()
            return _failed(task, "the process was ended", sealed)
        except Exception as error:  # the process could not read or load what it was sent
            return _failed(task, f"{type(error).__name__}: {error}"[:300], sealed)
        return graded if graded.seal == sealed else _failed(task, "it graded another record than was sealed", sealed)

    def _submit(self, request: bytes) -> Grade:
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))  # it goes with this process
            pool = self._pool
        return pool.submit(_grade, request).result(self._timeout)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            for process in [*(pool._processes or {}).values()]:
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> "GradingWorker":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _grade(request: bytes) -> Grade:
    """What the process does."""
    sent, episode, spec, judge = pickle.loads(request)
    task = _loaded(sent)
    return grade_episode(task, blueprint_of(task, REGISTRY.services()), episode, spec, None if judge is None else _made(judge))


@lru_cache(256)
def _loaded(task: bytes) -> Task:
    """A task, the same one as long as it is sent as the same, so that its grading plan is made once."""
    loaded: Task = pickle.loads(task)
    return loaded


@cache
def _made(judge: Callable[[], Judge]) -> Judge:
    return judge()


def _failed(task: Task, what: str, sealed: str) -> Grade:
    return quarantine(task, FaultRecord(Blame.GRADER, "grading worker", what), sealed)
