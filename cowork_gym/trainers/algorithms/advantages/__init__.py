"""Group-relative advantages: from rewards of trajectories to one advantage a trajectory, step or token."""

from cowork_gym.trainers.algorithms.advantages.anchors import AnchorForm, anchor_keys, seen_so_far
from cowork_gym.trainers.algorithms.advantages.gdpo import BatchStatistics, GdpoAdvantages, gdpo_advantages
from cowork_gym.trainers.algorithms.advantages.gigpo import GigpoAdvantages, StepNorm, discounted_returns, gigpo_advantages
from cowork_gym.trainers.algorithms.advantages.grpo import COWORK_ENV, dr_grpo_advantages, grpo_advantages
from cowork_gym.trainers.algorithms.advantages.hdpo import (
    EfficiencyAdvantages,
    HdpoAdvantages,
    Strata,
    efficiency_advantages,
    hdpo_advantages,
    original_efficiency_advantages,
    sum_of_losses,
)
from cowork_gym.trainers.algorithms.advantages.navalia import AnchorAdvantages, anchor_advantages
from cowork_gym.trainers.algorithms.advantages.normalise import (
    CENTRED,
    AdvantageCounts,
    Denominator,
    GroupAdvantages,
    Normaliser,
    Singleton,
)
from cowork_gym.trainers.algorithms.advantages.reinforce_pp import (
    BaselineAdvantages,
    ReinforceAdvantages,
    outcome_token_rewards,
    reinforce_pp_advantages,
    reinforce_pp_baseline_advantages,
    reinforce_pp_returns,
)
from cowork_gym.trainers.algorithms.advantages.rloo import RlooAdvantages, rloo_advantages
from cowork_gym.trainers.algorithms.advantages.rows import Trajectories, collect_trajectories, mask_rows, to_rows, to_tokens
from cowork_gym.trainers.algorithms.groups import Groups, Missing, RowClass, read_rewards, require_group_size

__all__ = [
    "CENTRED",
    "COWORK_ENV",
    "AdvantageCounts",
    "AnchorAdvantages",
    "AnchorForm",
    "BaselineAdvantages",
    "BatchStatistics",
    "Denominator",
    "EfficiencyAdvantages",
    "GdpoAdvantages",
    "GigpoAdvantages",
    "GroupAdvantages",
    "Groups",
    "HdpoAdvantages",
    "Missing",
    "Normaliser",
    "ReinforceAdvantages",
    "RlooAdvantages",
    "RowClass",
    "Singleton",
    "StepNorm",
    "Strata",
    "Trajectories",
    "anchor_advantages",
    "anchor_keys",
    "collect_trajectories",
    "discounted_returns",
    "dr_grpo_advantages",
    "efficiency_advantages",
    "gdpo_advantages",
    "gigpo_advantages",
    "grpo_advantages",
    "hdpo_advantages",
    "mask_rows",
    "original_efficiency_advantages",
    "outcome_token_rewards",
    "read_rewards",
    "reinforce_pp_advantages",
    "reinforce_pp_baseline_advantages",
    "reinforce_pp_returns",
    "require_group_size",
    "rloo_advantages",
    "seen_so_far",
    "sum_of_losses",
    "to_rows",
    "to_tokens",
]
