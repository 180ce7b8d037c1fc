"""A learned critic: the policy's own body with one number a position in place of logits."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from cowork_gym.trainers.algorithms import explained_variance, masked_sum, row_weights, value_loss, weighted_loss
from cowork_gym.trainers.local.rows import Rows
from cowork_gym.trainers.local.update import micro_batches

__all__ = ["Critic", "fit"]


class Critic(nn.Module):
    """Values of the states before tokens. It begins as a copy of the policy; its head begins at 0, so that its first values are 0.

    Args:
        policy: A causal language model; it is copied.
    """

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.body = copy.deepcopy(policy)
        head = self.body.get_input_embeddings().weight
        self.head = nn.Linear(head.shape[1], 1, device=head.device, dtype=torch.float32)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, attention: Tensor) -> Tensor:
        """[rows, length - 1]: the value at t is that of the state in which token t + 1 is written.

        Args:
            ids: [rows, length].
            attention: [rows, length].
        """
        found = self.body(input_ids=ids, attention_mask=attention, output_hidden_states=True, logits_to_keep=1).hidden_states[-1]
        values: Tensor = self.head(found.float()).squeeze(-1)
        return values[:, :-1]

    def values(self, rows: Rows, micro_tokens: int) -> Tensor:
        """Values of all rows, without a gradient: [rows, tokens]."""
        found = torch.zeros_like(rows.rollout_logp)
        with torch.no_grad():
            for some in micro_batches(rows.attention.sum(1), micro_tokens):
                part = rows.take(some).to(self.head.weight.device)
                found[some, : part.mask.shape[1]] = self(part.ids, part.attention).cpu()
        return found


def fit(
    critic: Critic, optimizer: torch.optim.Optimizer, rows: Rows, returns: Tensor, *, updates: int, clip: float = 0.2, micro_tokens: int = 8192,
    max_norm: float = 1.0, backward: Callable[[Tensor], None] = torch.Tensor.backward,
) -> dict[str, float]:
    """Fit a critic to returns, with the clipped value loss of PPO, its mean over live tokens.

    Args:
        critic: In training.
        optimizer: Over its parameters.
        rows: The states.
        returns: [rows, tokens] targets.
        updates: Optimiser steps, each over all rows.
        clip: How far a value may move from where it stood before the first update.
        micro_tokens: Tokens that go through the model at once.
        max_norm: The gradient is cut to this norm.
        backward: Calculates gradients.

    Returns:
        Metrics: the loss of the last update, and the variance that the values before the first one explained (left out where it is undefined).
    """
    before = critic.values(rows, micro_tokens)
    weights = row_weights(rows.mask.sum(1))
    total, device = 0.0, critic.head.weight.device
    for _ in range(updates):
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for some in micro_batches(rows.attention.sum(1), micro_tokens):
            part = rows.take(some).to(device)
            length = part.mask.shape[1]
            old, target = (one[some, :length].to(device) for one in (before, returns))
            found = value_loss(critic(part.ids, part.attention), target, part.mask, old_values=old, clip=clip)
            loss = weighted_loss(found.token_loss, part.mask, weights[some].to(device))
            backward(loss)
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(critic.parameters(), max_norm)
        optimizer.step()
    explained = explained_variance(before, returns, rows.mask)
    mean = float(masked_sum(before, rows.mask)) / max(int(rows.mask.sum()), 1)
    return {"value_loss": total, "value": mean, **({} if explained is None else {"explained_variance": explained})}
