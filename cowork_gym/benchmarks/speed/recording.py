"""What recording costs: an episode through the harness with its record, beside the same lines by the same policy with no record at all.

Recording is everything that the one has more than the other: the run and its view, generations, segments and their check, the fingerprint of
the state after each turn, the manifest, the longer file and its seal, and token data where the policy knows any.
"""

import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cowork_gym.benchmarks.speed.desk import ANSWER, SCRIPT
from cowork_gym.benchmarks.speed.items import RECORDING, TOKENS
from cowork_gym.benchmarks.speed.measure import Sample, measure
from cowork_gym.core.columns import need_arrow
from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import MissingExtra
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.record import write_episode
from cowork_gym.core.task import Task
from cowork_gym.core.trajectory import Tokens
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies.policy import Draw, Usage
from cowork_gym.harness.policies.scripted import ScriptedPolicy

__all__ = ["Recorded", "Unrecorded", "measure_recording"]

_LOG = logging.getLogger(__name__)
_LINES = (*(Message("assistant", None, (ToolCall(*one),)) for one in SCRIPT), final(ANSWER))
_CONTEXT, _SAMPLED = 200, 300
"""Tokens that come back, and that are sampled, in each turn."""


def measure_recording(task: Task, rounds: int) -> dict[tuple[str, str], Sample]:
    """Both ways by turns. Tokens are left out where nothing is installed that could write them."""
    items = [*RECORDING]
    try:
        need_arrow()
    except MissingExtra as error:
        _LOG.warning("recording with tokens is not measured: %s", error)
    else:
        items.append(TOKENS)
    with TemporaryDirectory() as folder:
        return measure(items, (Recorded(task, Path(folder)), Unrecorded(task, Path(folder))), rounds)


class _Way(ABC):
    """A way to play the lines, and what comes of it.

    Args:
        task: What is played.
        folder: Where files go.
    """

    name: str

    def __init__(self, task: Task, folder: Path) -> None:
        self._env, self._folder = CoworkEnv(task), folder
        self._scripted, self._tokens = ScriptedPolicy("script", _LINES), _ScriptedTokens("script", _LINES)

    def scripted(self) -> Episode:
        """By a policy that knows no tokens; sealed and graded."""
        return self._play(self._scripted)

    def written(self) -> Episode:
        """The same, and written."""
        return _written(self.scripted(), self._folder)

    def tokens(self) -> Episode:
        """By a policy that says what it sampled; sealed, graded and written."""
        return _written(self._play(self._tokens), self._folder)

    @abstractmethod
    def _play(self, policy: ScriptedPolicy) -> Episode: ...


class Recorded(_Way):
    """The episode as the harness plays it; tokens go into their own file."""

    name = "recorded"

    def _play(self, policy: ScriptedPolicy) -> Episode:
        return play(self._env, policy, seed=1)


class Unrecorded(_Way):
    """The same lines with nothing between the policy and the environment, whose record has the conversation and the ledger only.

    Tokens that were sampled are counted and thrown away.
    """

    name = "unrecorded"

    def _play(self, policy: ScriptedPolicy) -> Episode:
        observation, info = self._env.reset(seed=1)
        policy.reset(info["tools"], 1)
        history, over = [*observation], False
        while not over:
            action = policy.act(history)
            self._env.spend(policy.usage.completion_tokens)
            observation, _, terminated, truncated, _ = self._env.step(action)
            history += [action, *observation]
            over = terminated or truncated
        return self._env.episode()


class _ScriptedTokens(ScriptedPolicy):
    """Follows the script and says that it sampled tokens: always the same ones for a turn, so that drawing them takes no time."""

    tokenizer = "invented"

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start from the first line."""
        super().reset(tools, seed)
        self._turn, self.draw = 0, Draw()

    def act(self, history: Sequence[Message]) -> Message:
        """The next line with its tokens."""
        self.draw = Draw("stop", "1", _DRAWN[self._turn], fresh=self._turn == 0)
        self.usage = Usage(_CONTEXT + self._turn * (_CONTEXT + _SAMPLED), _SAMPLED)
        self._turn += 1
        return super().act(history)


def _drawn(chance: random.Random) -> Tokens:
    context, ids = ([chance.randrange(150_000) for _ in range(count)] for count in (_CONTEXT, _SAMPLED))
    return Tokens(tuple(context), tuple(ids), tuple([-chance.expovariate(4) for _ in ids]), (True,) * len(ids))


_DRAWN = tuple(map(_drawn, [random.Random(0)] * len(_LINES)))


def _written(episode: Episode, folder: Path) -> Episode:
    """The same file each time: in a rollout there is a new one for each, which no reader is waiting for either."""
    write_episode(episode, folder, stem="episode")
    return episode
