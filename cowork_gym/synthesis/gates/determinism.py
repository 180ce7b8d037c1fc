"""The gate `determinism`: what was played once comes out the same again, from the start, after a restore, and in a fork."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import Message
from cowork_gym.core.record import seal
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["DETERMINISM"]

_ADVICE = "time and ids come from `self.now` and `self.store.new_id`, chance from `self.random`; a check's function may keep nothing between calls"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    problems, evidence = list[Problem](), list[str]()
    for reference, episode in zip(subject.task.references, subject.references, strict=True):
        first, ways = _parts(episode), 0
        for way, again in _again(subject, episode):
            ways += 1
            if different := [name for name, value in _parts(again).items() if value != first[name]]:
                problems.append(Problem(f"reference {reference.name}", f"played {way}, it has another {' and '.join(different)}", _ADVICE))
        evidence.append(f"reference {reference.name}: played {ways} times more, ledger {episode.ledger.hash[:12]}")
    return tuple(problems), tuple(evidence)


def _again(subject: Subject, episode: Episode) -> Iterator[tuple[str, Episode]]:
    """The same messages again: in a fresh environment, from its middle after a restore, and from there in a fork."""
    said = [turn.said for turn in episode.turns]
    middle = len(said) // 2
    env = CoworkEnv(subject.base, agent=episode.agent)
    try:
        env.reset(seed=subject.seed)
        for one in said[:middle]:
            env.step(one)
        here, (fork,) = env.snapshot(), env.fork()
        yield "again", _rest(env, said[middle:])
        env.restore(here)
        yield "from a restored moment", _rest(env, said[middle:])
        try:
            yield "in a fork", _rest(fork, said[middle:])
        finally:
            fork.close()
    finally:
        env.close()


def _rest(env: CoworkEnv, said: Sequence[Message]) -> Episode:
    for one in said:
        env.step(one)
    return env.finish()


def _parts(episode: Episode) -> Mapping[str, Any]:
    """What must be equal, by what a person calls it; the record of the world as a whole only tells what the others do not."""
    grade = episode.grade and replace(episode.grade, seal="")
    turns = tuple([replace(turn, state="") for turn in episode.turns])
    world = replace(episode, policy=None, composition=None, runs=(), turns=turns)
    return {"ledger": episode.ledger.hash, "final state": episode.end, "grade": grade, "record": seal(world)}


DETERMINISM = Gate("determinism", "Each reference comes out the same again: from the start, after a restore, and in a fork.", _examine)
