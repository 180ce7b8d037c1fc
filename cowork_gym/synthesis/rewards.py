"""What recorded episodes earned, as gates compare it."""

from cowork_gym.core.episode import Episode
from cowork_gym.synthesis.gates.gate import Problem

__all__ = ["reward_of", "ungraded"]


def reward_of(episode: Episode) -> float | None:
    """The reward under the spec that counts; None when a fault ended the episode."""
    return episode.grade.reward if episode.grade else None


def ungraded(where: str, episode: Episode) -> Problem:
    """That an episode has no reward."""
    fault = episode.grade.fault if episode.grade else None
    told = f"{fault.where}: {fault.message}" if fault else "it was not graded"
    return Problem(where, f"the episode has no reward: {told}", "no agent may end an episode by a fault: mend what failed")
