"""What of a rollout goes out to another framework: which of its segments, and under which numbers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cowork_gym.trainers.data.rollouts import Rollout, Segment, Step, same_tokenizer

__all__ = ["Outgoing", "details", "outgoing"]


class Outgoing(NamedTuple):
    """A rollout with the numbers that frameworks know it by."""

    rollout: Rollout
    segments: tuple[Segment, ...]
    """Those that go out: the ones with something to train; of a rollout without any the last, whose reward still counts."""
    number: int
    """Of the rollout, from 0."""
    group: int
    """Of its group, from 0."""
    repetition: int
    """Of the rollout in its group, from 0."""
    reward: float


def outgoing(rollouts: Iterable[Rollout]) -> Iterator[Outgoing]:
    """Valid rollouts with their numbers, which count as they come.

    Raises:
        ValueError: A rollout is dropped and so has no place in any statistic, has no token, or has another tokenizer than those before it.
    """
    groups: dict[str, int] = {}
    met: dict[str, int] = {}
    for number, one in enumerate(same_tokenizer(rollouts)):
        if not one.valid or one.reward is None:
            raise ValueError(f"rollout {one.id} is dropped ({one.drop_reason}): it has no reward to export, and a missing one is not 0")
        segments = one.live or tuple(each for each in one.segments if each.response_ids)[-1:]
        if not segments:
            raise ValueError(f"rollout {one.id} has no tokens to export")
        group = groups.setdefault(one.group, len(groups))
        met[one.group] = met.get(one.group, -1) + 1
        yield Outgoing(one, segments, number, group, met[one.group], one.reward)


def details(one: Outgoing, segment: Segment) -> dict[str, Any]:
    """What no framework has a field for, as plain values: components of the reward for GDPO, steps with anchors for GiGPO, and where it is from."""
    rollout = one.rollout
    return {
        "rollout": rollout.id, "group": rollout.group, "task": rollout.task, "release_id": rollout.release_id, "seed": rollout.seed,
        "sampling": rollout.sampling, "trial": rollout.trial, "tokenizer": rollout.tokenizer, "reward": rollout.reward,
        "components": {name: float(value) for name, value in rollout.components.items()}, "accuracy": rollout.accuracy,
        "interaction_steps": rollout.interaction_steps, "ending": str(rollout.ending), "run": segment.run, "boundary": str(segment.boundary),
        "weight": segment.weight, "steps": [_step(each) for each in segment.steps],
    }


def _step(one: Step) -> Mapping[str, Any]:
    return {
        "start": one.start, "end": one.end, "turn": one.turn, "purpose": str(one.purpose), "anchor": one.anchor, "information": one.information,
        "generation": one.generation,
    }
