"""Rollouts for training: a crowd of episodes at once, each a thread with an environment of its own, in memory from play to training record."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from cowork_gym.core.canonical import digest
from cowork_gym.core.episode import Episode
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness.compose import PLAIN, Harness
from cowork_gym.harness.engines.engine import Sampling
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies.token_policy import TokenPolicy
from cowork_gym.harness.tokens.chat_format import ChatFormat
from cowork_gym.trainers.local.lockstep import Crowd, Seat

__all__ = ["Collector", "Form"]


class Form(NamedTuple):
    """A task in the form of a seed."""

    task: str
    seed: int


@dataclass(frozen=True)
class Collector:
    """Plays forms of tasks with a model.

    Attributes:
        crowd: The model.
        format: Of its tokens.
        tasks: Those that may be played, by id.
        sampling: How it samples.
        harness: What stands between the model and the environment.
        concurrency: The most episodes at once. They are begun together and played to their ends together, so that the same rollouts are
            drawn beside each other each time.
    """

    crowd: Crowd
    format: ChatFormat
    tasks: dict[str, Task]
    sampling: Sampling = Sampling()  # noqa: RUF009 - a frozen value
    harness: Harness = PLAIN
    concurrency: int = 64

    def __call__(self, forms: Sequence[Form], n: int, salt: int, watch: Callable[[Episode], None] | None = None) -> list[Episode]:
        """Play each form `n` times.

        Args:
            forms: What is played.
            n: How often each is.
            salt: Decides, with form and trial, what is sampled.
            watch: Is shown each episode, in order, after its crowd has ended.

        Returns:
            Sealed and graded episodes, form after form.
        """
        todo = [(form, trial) for form in forms for trial in range(n)]
        found: list[Episode] = []
        with ThreadPoolExecutor(min(self.concurrency, max(len(todo), 1)), thread_name_prefix="collect") as pool:
            for at in range(0, len(todo), self.concurrency):
                some = todo[at : at + self.concurrency]
                jobs = zip(some, self.crowd.seats(len(some)), strict=True)
                futures = [pool.submit(self._play, form, trial, salt, seat) for (form, trial), seat in jobs]
                for future in futures:
                    found.append(future.result())
                    if watch is not None:
                        watch(found[-1])
        return found

    def _play(self, form: Form, trial: int, salt: int, seat: Seat) -> Episode:
        try:
            env = CoworkEnv(self.tasks[form.task])
            try:
                sampling = int(digest([form.task, form.seed, trial, salt])[:12], 16)
                return play(env, TokenPolicy(seat, self.format, self.sampling), harness=self.harness, seed=form.seed, sampling=sampling)
            finally:
                env.close()
        finally:
            seat.leave()
