"""The loss of supervised fine-tuning: one sum over all targets of a batch, whatever the micro-batches it is computed in."""

from typing import TYPE_CHECKING

from cowork_gym.trainers.data.sft.collate import NO_LABEL

if TYPE_CHECKING:
    import torch

__all__ = ["sft_loss"]


def sft_loss(logits: "torch.Tensor", labels: "torch.Tensor", weights: "torch.Tensor | None" = None, *, total: int | None = None) -> "torch.Tensor":
    """The negative log-likelihood of all targets, weighted and summed, divided by the number of targets of the whole batch.

    It is not the mean of the samples' means (Navalia, section 3.2): the losses of micro-batches add up to that of the batch, and so do gradients.
    Weights do not enter the divisor, so a sample of weight 0.5 counts half.

    Args:
        logits: `[rows, tokens, vocabulary]`.
        labels: `[rows, tokens]`, not shifted; `NO_LABEL` where no loss counts.
        weights: `[rows, tokens]`, of each label; 1 by default.
        total: Targets of the whole batch, over all micro-batches and ranks; by default those of `labels`. Where gradients are averaged over ranks,
            divide it by their number.

    Returns:
        A scalar, connected to the logits; 0 for a micro-batch without targets.

    Raises:
        ValueError: Shapes differ, the whole batch has no target, or fewer than this part of it.
    """
    import torch

    for name, found in (("logits", logits.shape[:2]), ("weights", labels.shape if weights is None else weights.shape)):
        if found != labels.shape:
            raise ValueError(f"{name} of {tuple(found)} for labels of {tuple(labels.shape)}")
    aimed = labels[:, 1:] != NO_LABEL
    here = int(aimed.sum())
    total = here if total is None else total
    if total < max(here, 1):
        raise ValueError(f"the batch is said to have {total} targets, {here} of them here" if total else "the batch has no target to learn")
    losses = torch.nn.functional.cross_entropy(logits[:, :-1][aimed].float(), labels[:, 1:][aimed], reduction="none")
    return (losses if weights is None else losses * weights[:, 1:][aimed]).sum() / total
