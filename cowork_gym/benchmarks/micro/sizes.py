"""How small the micro tasks are: characters, turns and words of what references say and read, and the time that an episode takes."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.envs.variation import instance
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies.scripted import ScriptedPolicy

__all__ = ["Size", "measure", "words_of"]

_WORD = re.compile(r"[^\W\d_]\w*")
_ID = re.compile(r"[TCK]\d\d|T\d\d:\d\d:\d\d\w|T\d\d|\d+Z")


class Size(NamedTuple):
    """The reference's episodes of one task."""

    turns: float
    """Mean, the answer included."""
    said: float
    """Mean characters of an episode's calls and answer."""
    read: float
    """Mean characters of what came back in an episode."""
    most: int
    """Characters of the longest observation."""
    longest: int
    """Characters of what came back in the longest episode."""
    words: frozenset[str]
    """Of requests, calls, results and answers."""
    forming: float
    """Milliseconds of CPU time for a form."""
    first: float
    """For a form, its world, and an episode with its grade."""
    again: float
    """For another episode of the same form."""


def measure(task: str, seeds: Sequence[int]) -> Size:
    """Play the references of some seeds.

    Raises:
        UserError: There is no such task.
    """
    env, loaded = CoworkEnv(load_task(task)), load_task(task)
    try:
        _played(env, seeds[0])
        forming = _spent(lambda seed: instance(loaded, seed + 1), seeds)
        episodes = list[Episode]()
        first = _spent(lambda seed: episodes.append(_played(env, seed + 2)), seeds[:: len(seeds) // 50 or 1])
        again = _spent(lambda seed: _played(env, seeds[0]), seeds[:50])
    finally:
        env.close()
    results = [[one.content or "" for turn in episode.turns for one in turn.observation] for episode in episodes]
    said = [sum(len(one.said.content or "") + sum(len(call.name) + len(encode(call.decoded())) for call in one.said.tool_calls)
                for one in episode.turns) for episode in episodes]
    count, sums = len(episodes), [sum(map(len, one)) for one in results]
    return Size(
        sum(len(one.turns) for one in episodes) / count, sum(said) / count, sum(sums) / count, max(len(one) for texts in results for one in texts),
        max(sums), frozenset().union(*map(words_of, episodes)), forming, first, again,
    )


def words_of(episode: Episode) -> frozenset[str]:
    """The words of an episode, ids and numbers aside."""
    texts = [one.content or "" for one in episode.opening]
    for turn in episode.turns:
        texts += [turn.said.content or "", *(one.content or "" for one in turn.observation)]
        texts += [f"{call.name} {encode(call.decoded())}" for call in turn.said.tool_calls]
    return frozenset(word for text in texts for word in _WORD.findall(_ID.sub(" ", text)))


def _played(env: CoworkEnv, seed: int) -> Episode:
    form = instance(env.task.base or env.task, seed)
    return play(env, ScriptedPolicy("reference", form.references[0].actions), seed=seed)


def _spent(work: Callable[[int], object], seeds: Iterable[int]) -> float:
    """Milliseconds of CPU time for each seed."""
    asked = [*seeds]
    begun = time.process_time()
    for seed in asked:
        work(seed)
    return (time.process_time() - begun) / len(asked) * 1000
