"""Drawing answers from a causal language model, several at a time. `engine` decides which ones; this half knows tensors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from cowork_gym.core.ids import generator
from cowork_gym.harness.engines.engine import Drawn, Sampling

if TYPE_CHECKING:
    import torch

__all__ = ["Request", "draw_together", "pick"]


@dataclass(frozen=True, slots=True)
class Request:
    """One answer that is wanted."""

    prompt: tuple[int, ...]
    sampling: Sampling
    stop: frozenset[int]
    seed: int


def draw_together(model: Any, requests: Sequence[Request], version: str, *, check: Callable[[], None]) -> list[Drawn]:
    """The answers to several requests, as if each were alone, up to the rounding of sums.

    Args:
        model: A causal language model of transformers, or a peft model around one.
        requests: At least one. Prompts are padded on the left; an answer that has ended leaves.
        version: Of the weights.
        check: Called before each step; what it raises ends the work.
    """
    import torch

    rows = left = [_Row(one) for one in requests]
    with torch.no_grad():
        ids, mask = _padded([one.prompt for one in requests], model.device)
        positions, cache = (mask.cumsum(-1) - 1).clamp(min=0), None
        while True:
            check()
            output = model(
                input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1,
            )
            cache = output.past_key_values
            for row, logits in zip(left, output.logits[:, -1], strict=True):
                row.take(logits)
            going = [at for at, row in enumerate(left) if row.finish is None]
            if not going:
                return [row.drawn(version) for row in rows]
            if len(going) < len(left):
                chosen = torch.tensor(going, device=mask.device)
                cache.batch_select_indices(chosen)
                left, mask, positions = [left[at] for at in going], mask[chosen], positions[chosen]
            ids = torch.tensor([row.ids[-1:] for row in left], device=mask.device)
            mask = torch.cat([mask, mask.new_ones(len(left), 1)], dim=-1)
            positions = positions[:, -1:] + 1


def pick(logits: "torch.Tensor", sampling: Sampling, chance: float) -> tuple[int, float]:
    """One token, and its log-probability at the temperature used (at 1 for a temperature of 0), before top-k and top-p.

    Top-k comes before top-p, as in transformers; both keep at least one token.

    Args:
        logits: Of one row.
        sampling: How it is drawn.
        chance: A number in [0, 1): which of the tokens, ordered by probability where some are left out, by id otherwise.

    Raises:
        ArithmeticError: The logits are not finite.
    """
    logprobs = (logits.float() / (sampling.temperature or 1.0)).log_softmax(-1)
    id = int(logprobs.argmax()) if sampling.temperature == 0 else _drawn(logprobs, sampling, chance)
    logprob = float(logprobs[id])
    if not isfinite(logprob):
        raise ArithmeticError("the model's logits are not finite")
    return id, logprob


def _drawn(logprobs: "torch.Tensor", sampling: Sampling, chance: float) -> int:
    import torch

    weights, order = logprobs.double().exp(), None
    if 0 < sampling.top_k < len(weights) or sampling.top_p < 1:
        weights, order = weights.sort(descending=True, stable=True)
        weights = weights[:sampling.top_k or None]
        if sampling.top_p < 1:
            before = weights.cumsum(-1) - weights
            weights = weights[:max(int((before < sampling.top_p * weights.sum()).sum()), 1)]
    sums = weights.cumsum(-1)
    rank = min(int(torch.searchsorted(sums, chance * sums[-1], right=True)), len(sums) - 1)
    return rank if order is None else int(order[rank])


def _padded(prompts: Sequence[Sequence[int]], device: "torch.device") -> "tuple[torch.Tensor, torch.Tensor]":
    """Ids and attention mask; what is masked may be any id."""
    import torch

    longest = max(map(len, prompts))
    ids = [[0] * (longest - len(one)) + [*one] for one in prompts]
    mask = [[0] * (longest - len(one)) + [1] * len(one) for one in prompts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


class _Row:
    """One answer in the making. Its chances are its own, whatever else is drawn beside it."""

    def __init__(self, request: Request) -> None:
        self._request, self._random = request, generator(request.seed, "draw")
        self.ids: list[int] = []
        self._logprobs: list[float] = []
        self.finish: Literal["stop", "length"] | None = None

    def take(self, logits: "torch.Tensor") -> None:
        """Draw the next token."""
        id, logprob = pick(logits, self._request.sampling, self._random.random())
        self.ids.append(id)
        self._logprobs.append(logprob)
        if id in self._request.stop:
            self.finish = "stop"
        elif len(self.ids) >= self._request.sampling.max_tokens:
            self.finish = "length"

    def drawn(self, version: str) -> Drawn:
        """The answer, once it has ended."""
        return Drawn(tuple(self.ids), tuple(self._logprobs), self.finish or "length", version)
