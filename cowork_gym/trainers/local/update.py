"""One update of a policy: whole groups of rollouts in, optimiser steps out. The losses of a batch are normalised once, however it is split."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from cowork_gym.core.ids import generator
from cowork_gym.trainers.algorithms import Kl, kl_estimate, masked_sum, row_weights, token_entropy, token_logprobs, weighted_loss
from cowork_gym.trainers.data.rollouts import Rollout
from cowork_gym.trainers.local.objective import Objective, Signals
from cowork_gym.trainers.local.rows import Rows, rows_of

__all__ = ["Update", "UpdateSettings", "logprobs_of", "micro_batches"]


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """How a batch becomes optimiser steps."""

    epochs: int = 1
    minibatches: int = 2
    """Optimiser steps an epoch; each takes whole rollouts."""
    micro_tokens: int = 8192
    """Tokens, padding included, that go through the model at once."""
    max_norm: float = 1.0
    """The gradient is cut to this norm."""
    temperature: float = 1.0
    """At which the rollouts were sampled."""
    old: Literal["rollout", "recompute"] = "rollout"
    """Where the log-probabilities of the old policy come from: the sampler, which had the same weights, or a forward pass before the update."""
    kl: float = 0.0
    """The weight of k3 against the old policy."""
    entropy: float = 0.0
    """The weight of the entropy bonus."""


class Update:
    """Updates a model.

    Args:
        model: A causal language model in training; its parameters that require gradients learn.
        optimizer: Over them.
        objective: The algorithm.
        settings: How.
        backward: Calculates gradients; accelerate's, where there is one.
    """

    def __init__(
        self, model: Any, optimizer: torch.optim.Optimizer, objective: Objective, settings: UpdateSettings,
        backward: Callable[[Tensor], None] = torch.Tensor.backward,
    ) -> None:
        self.model, self.optimizer, self.objective, self.settings = model, optimizer, objective, settings
        self._backward = backward

    def __call__(self, rollouts: Sequence[Rollout], seed: int, signals: Signals | None = None) -> dict[str, float]:
        """Learn from rollouts. Those that do not count, and rows that their objective leaves out, move no weight.

        Args:
            rollouts: Whole groups.
            seed: Decides which rollouts go into which optimiser step.
            signals: In place of the objective's own, such as those of a critic.

        Returns:
            Metrics: means over live tokens, and the gradient's norm. With nothing to learn from, only that there was nothing.
        """
        live = [one for one in rollouts if one.trained]
        if not live:
            return {"rows": 0.0}
        rows = rows_of(rollouts)
        signals = signals or self.objective.signals(rollouts, rows)
        old = logprobs_of(self.model, rows, self.settings) if self.settings.old == "recompute" else rows.rollout_logp
        log = _Log(signals.metrics)
        for epoch in range(self.settings.epochs):
            for places in _minibatches(rows, signals.trained, self.settings.minibatches, seed, epoch):
                self._step(rows, signals, old, places, log)
        return {"rows": float(len(rows)), **log.means()}

    def _step(self, rows: Rows, signals: Signals, old: Tensor, places: Tensor, log: "_Log") -> None:
        """One optimiser step over some of the rows."""
        weights = row_weights(rows.mask[places].sum(1), self.objective.aggregation, trajectory_ids=rows.rollout[places].tolist())
        weights = weights * rows.weight[places]
        self.optimizer.zero_grad(set_to_none=True)
        device = next(self.model.parameters()).device
        for some in micro_batches(rows.attention[places].sum(1), self.settings.micro_tokens):
            chosen = places[some]
            part = rows.take(chosen)
            length = part.mask.shape[1]
            loss = self._loss(part.to(device), signals.take(chosen, length), old[chosen, :length].to(device), weights[some], log)
            self._backward(loss)
        parameters = [one for one in self.model.parameters() if one.requires_grad]
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, self.settings.max_norm))
        if not math.isfinite(norm):
            raise ArithmeticError(f"the gradient's norm is {norm}: nothing was changed by this step")
        self.optimizer.step()
        log.add("gradient_norm", norm, 1.0)

    def _loss(self, rows: Rows, signals: Signals, old: Tensor, weights: Tensor, log: "_Log") -> Tensor:
        how = self.settings
        logits = self.model(input_ids=rows.ids, attention_mask=rows.attention).logits[:, :-1]
        logp = token_logprobs(logits, rows.ids[:, 1:], rows.mask, how.temperature)
        found = self.objective.loss(logp, old, rows, signals)
        loss = found.loss
        entropy = token_entropy(logits if how.entropy else logits.detach(), rows.mask, how.temperature)
        if how.entropy:
            loss = loss - how.entropy * entropy
        if how.kl:
            loss = loss + how.kl * kl_estimate(logp, old, rows.mask, Kl.K3)
        count = float(rows.mask.sum())
        for name, values in {**found.metrics, "entropy": entropy, "drift": (logp - rows.rollout_logp).abs()}.items():
            log.add(name, float(masked_sum(values.detach(), rows.mask)), count)
        return weighted_loss(loss, rows.mask, weights.to(loss.device))


def logprobs_of(model: Any, rows: Rows, settings: UpdateSettings) -> Tensor:
    """Log-probabilities of the rows' tokens, without a gradient: [rows, tokens]."""
    found = torch.zeros_like(rows.rollout_logp)
    device = next(model.parameters()).device
    with torch.no_grad():
        for some in micro_batches(rows.attention.sum(1), settings.micro_tokens):
            part = rows.take(some).to(device)
            logits = model(input_ids=part.ids, attention_mask=part.attention).logits[:, :-1]
            found[some, : part.mask.shape[1]] = token_logprobs(logits, part.ids[:, 1:], part.mask, settings.temperature).cpu()
    return found


def micro_batches(lengths: Tensor, tokens: int) -> Iterator[Tensor]:
    """Places of rows that go through the model together: sorted by length, so that little is padding, and at least one at a time."""
    order = lengths.argsort(descending=True, stable=True)
    at = 0
    while at < len(order):
        size = max(tokens // max(int(lengths[order[at]]), 1), 1)
        yield order[at : at + size]
        at += size


def _minibatches(rows: Rows, trained: Tensor, count: int, seed: int, epoch: int) -> Iterator[Tensor]:
    """Places of rows for each optimiser step: whole rollouts, dealt out at random."""
    rollouts = sorted({*rows.rollout[trained].tolist()})
    generator(seed, "minibatches", epoch).shuffle(rollouts)
    size = math.ceil(len(rollouts) / count)
    for at in range(0, len(rollouts), size):
        chosen = torch.isin(rows.rollout, torch.tensor(rollouts[at : at + size])) & trained
        yield chosen.nonzero()[:, 0]


class _Log:
    """Sums and counts of what is logged."""

    def __init__(self, known: Mapping[str, float]) -> None:
        self._known, self._sums = known, dict[str, list[float]]()

    def add(self, name: str, total: float, count: float) -> None:
        one = self._sums.setdefault(name, [0.0, 0.0])
        one[0] += total
        one[1] += count

    def means(self) -> dict[str, float]:
        return {**self._known, **{name: total / count for name, (total, count) in self._sums.items() if count}}
