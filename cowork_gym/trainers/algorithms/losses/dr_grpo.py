"""Dr.GRPO: token losses over a constant, so that no length and no batch changes what a token weighs."""

from torch import Tensor

from cowork_gym.trainers.algorithms.aggregation import FIXED_NORMALISER, Aggregation, aggregate

__all__ = ["dr_grpo_loss"]


def dr_grpo_loss(
    token_loss: Tensor,
    mask: Tensor,
    *,
    normaliser: float = FIXED_NORMALISER,
    divide_by_sequences: bool = True,
    num_sequences: int | None = None,
) -> Tensor:
    """The sum of live token losses over the normaliser, then over the number of rows (arXiv:2503.20783; CoworkEnv's 1,536).

    Args:
        token_loss: [rows, tokens].
        mask: [rows, tokens].
        normaliser: The constant.
        divide_by_sequences: False: only the constant divides.
        num_sequences: Rows of the optimiser batch over all micro-batches. None: the rows here, those without live tokens among them.

    Raises:
        ValueError: Shapes differ, a live loss is not finite, or a divisor is not above 0.
    """
    if not divide_by_sequences:
        return aggregate(token_loss, mask, Aggregation.TOKEN_SUM_NORM, normaliser=normaliser)
    rows = max(len(token_loss), 1) if num_sequences is None else num_sequences
    return aggregate(token_loss, mask, Aggregation.SEQ_MEAN_TOKEN_SUM_NORM, normaliser=normaliser, denominator=rows)
