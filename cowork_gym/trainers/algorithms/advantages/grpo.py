"""GRPO and Dr.GRPO: a trajectory's reward against those of the other rollouts of its task."""

from collections.abc import Sequence

from cowork_gym.trainers.algorithms.advantages.normalise import CENTRED, GroupAdvantages, Normaliser
from cowork_gym.trainers.algorithms.groups import Groups, Ids, Missing, Rewards, RowClass, read_rewards

__all__ = ["COWORK_ENV", "dr_grpo_advantages", "grpo_advantages"]

COWORK_ENV = Normaliser()
"""CoworkEnv's GRPO baseline: max(std, 0.05) with ddof 1; equal rewards give zeros and leave the group valid."""


def grpo_advantages(
    rewards: Rewards,
    group_ids: Ids,
    *,
    normaliser: Normaliser = COWORK_ENV,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
) -> GroupAdvantages:
    """(R - mean) / denominator inside each group.

    Shao 2024, arXiv:2402.03300, section 4.1; the floor is CoworkEnv's. verl, slime and TRL add an eps to the std, which `normaliser` can say.

    Args:
        rewards: [trajectories], one a trajectory however many rows it has.
        group_ids: [trajectories] the task (with its release and the policy's version) that each is a rollout of.
        normaliser: Denominator, ddof, tolerance of the zero-variance test, and what a group of one gets.
        classes: [trajectories]; all valid when None. Invalid ones enter no statistic, loss-masked ones do.
        missing: What to do with a reward that is None or NaN.

    Raises:
        ValueError: There are no rewards; lengths differ; one is infinite, no number, or missing without leave.
    """
    read = read_rewards(rewards, classes, missing)
    return normaliser.advantages(read, Groups(group_ids, read.counted))


def dr_grpo_advantages(
    rewards: Rewards, group_ids: Ids, *, classes: Sequence[RowClass] | None = None, missing: Missing = Missing.RAISE
) -> GroupAdvantages:
    """R - mean inside each group, without any division (Liu 2025, arXiv:2503.20783). Arguments and errors as of `grpo_advantages`."""
    return grpo_advantages(rewards, group_ids, normaliser=CENTRED, classes=classes, missing=missing)
