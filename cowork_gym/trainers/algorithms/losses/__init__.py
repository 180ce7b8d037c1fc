"""Token losses of the policy: what each takes to be worth a gradient. `aggregation` makes one number of them."""

from cowork_gym.trainers.algorithms.losses.cispo import WeightedLoss, cispo_loss
from cowork_gym.trainers.algorithms.losses.dis import DIS_BANDS, DIS_DEFAULT, dis_loss, dis_weight
from cowork_gym.trainers.algorithms.losses.dr_grpo import dr_grpo_loss
from cowork_gym.trainers.algorithms.losses.gspo import GSPO_LOG_LIMIT, GspoLoss, gspo_loss, gspo_token_loss
from cowork_gym.trainers.algorithms.losses.ppo import ClippedLoss, clipped_surrogate, ppo_loss
from cowork_gym.trainers.algorithms.losses.score_centering import Centre, CentredLoss, Tail, score_centre, score_centred_loss

__all__ = [
    "DIS_BANDS",
    "DIS_DEFAULT",
    "GSPO_LOG_LIMIT",
    "Centre",
    "CentredLoss",
    "ClippedLoss",
    "GspoLoss",
    "Tail",
    "WeightedLoss",
    "cispo_loss",
    "clipped_surrogate",
    "dis_loss",
    "dis_weight",
    "dr_grpo_loss",
    "gspo_loss",
    "gspo_token_loss",
    "ppo_loss",
    "score_centre",
    "score_centred_loss",
]
