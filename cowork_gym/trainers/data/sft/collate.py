"""Samples as tensors: packed rows in which no sample sees another, in the forms that attention kernels take. torch is imported when it is used."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cowork_gym.core.errors import MissingExtra, UserError
from cowork_gym.trainers.data.sample import Sample
from cowork_gym.trainers.data.sft.packing import layout

if TYPE_CHECKING:
    import torch

__all__ = ["NO_LABEL", "PackedBatch", "check_layers", "collate"]

NO_LABEL = -100
"""The label of tokens on which no loss counts, as torch and transformers have it."""
_BOUNDED = {"chunked_attention", "sliding_attention"}
_ATTENTION = {"attention", "full_attention", *_BOUNDED}


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Rows of packed samples. All tensors are `[rows, capacity]`; padding stands behind the last member of a row."""

    input_ids: "torch.Tensor"
    position_ids: "torch.Tensor"
    """They begin anew with each member. transformers tells the members from them only without an attention mask and with `use_cache=False`."""
    sequence_ids: "torch.Tensor"
    """The member that a token is of; -1 for padding."""
    labels: "torch.Tensor"
    """The token itself where the loss of predicting it counts, else `NO_LABEL`; models shift them. The first token of a member has none."""
    weights: "torch.Tensor"
    """Of each label's loss; 0 where there is none."""

    @property
    def supervised(self) -> int:
        """How many labels there are."""
        return int((self.labels != NO_LABEL).sum())

    def allowed(self) -> "torch.Tensor":
        """Which token may attend which: bool `[rows, 1, capacity, capacity]`, block-diagonal and causal. Padding attends nothing."""
        rows, length = self.sequence_ids.shape
        same = self.sequence_ids.unsqueeze(2) == self.sequence_ids.unsqueeze(1)
        allowed = same.tril() & (self.sequence_ids >= 0).unsqueeze(2)
        return allowed.view(rows, 1, length, length)

    def attention_mask(self, dtype: "torch.dtype | None" = None) -> "torch.Tensor":
        """The same as numbers that are added to attention scores: 0 where attention is allowed, else the least of the type, float32 by default.

        A model takes it for all of its layers, so each must attend all that came before: see `check_layers`.
        """
        import torch

        kind = dtype or torch.float32
        mask = torch.zeros((), dtype=kind, device=self.sequence_ids.device)
        return mask.masked_fill(~self.allowed(), torch.finfo(kind).min)

    def flat(self) -> dict[str, Any]:
        """All members in one row without padding, as kernels for variable lengths take it.

        Returns:
            `input_ids`, `position_ids`, `labels`, `weights` of `[1, tokens]`, `cu_seq_lens_q` and `_k`, `max_length_q` and `_k`, and `seq_idx`,
            by which kernels of linear attention reset their state; under the names of transformers, but for `weights`.
        """
        import torch

        real = self.sequence_ids >= 0
        starts = (self.position_ids == 0)[real].nonzero().flatten()
        ends = torch.cat([starts, starts.new_tensor([int(real.sum())])]).to(torch.int32)
        longest = int(ends.diff().max())
        members = torch.arange(len(starts), device=starts.device, dtype=torch.int32).repeat_interleave(ends.diff())
        tokens = {name: getattr(self, name)[real].unsqueeze(0) for name in ("input_ids", "position_ids", "labels", "weights")}
        lengths = {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": longest, "max_length_k": longest}
        return {**tokens, **lengths, "seq_idx": members.unsqueeze(0)}


def collate(samples: Sequence[Sample], bins: Sequence[Sequence[int]] | None = None, capacity: int | None = None, *, pad: int = 0) -> PackedBatch:
    """Samples as one batch.

    Args:
        samples: They were made with one tokenizer.
        bins: Which of them share a row, by index, as `packing.pack` says; by default each has a row of its own.
        capacity: Tokens of a row; by default those of the longest.
        pad: The id of padding.

    Raises:
        ValueError: There is no sample, members do not fit into a row, or tokenizers are mixed.
        MissingExtra: torch is not installed.
    """
    _need_torch()
    import torch

    rows = [[samples[at] for at in one] for one in bins] if bins is not None else [[one] for one in samples]
    if not rows or not all(rows):
        raise ValueError("a batch has rows, and each of them a sample")
    if len(known := {one.tokenizer for row in rows for one in row}) > 1:
        raise ValueError(f"samples of {len(known)} tokenizers in one batch: {', '.join(sorted(one[:12] or 'unknown' for one in known))}")
    width = capacity or max(sum(map(len, row)) for row in rows)
    layouts = [layout([len(one) for one in row], width) for row in rows]

    def filled(values: list[list[Any]], rest: Any, kind: "torch.dtype") -> "torch.Tensor":
        return torch.tensor([[*row, *[rest] * (width - len(row))] for row in values], dtype=kind)

    return PackedBatch(
        filled([[id for one in row for id in one.ids] for row in rows], pad, torch.long),
        torch.tensor([one.position_ids for one in layouts]),
        torch.tensor([one.sequence_ids for one in layouts]),
        filled([[label for one in row for label in _labels(one)] for row in rows], NO_LABEL, torch.long),
        filled([[weight for one in row for weight in (0.0, *one.weights[1:])] for row in rows], 0.0, torch.float32),
    )


def check_layers(config: Any, *, explicit_mask: bool = False) -> None:
    """See that packed samples stay apart in a model.

    Layers that keep a state, such as linear attention in Qwen 3.5 and 3.6, carry it from one sample into the next: neither positions nor a mask
    stops that, only kernels which are told where samples begin (`PackedBatch.flat`). Layers of sliding or chunked attention would attend too much
    under a mask that was made for full attention.

    Args:
        config: Of a model, as transformers has it.
        explicit_mask: Whether `PackedBatch.attention_mask` is used; otherwise positions, or lengths.

    Raises:
        UserError: They do not; what to do is said.
    """
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    named = getattr(config, "layer_types", None)
    kinds = set(named) if named else {"sliding_attention" if getattr(config, "sliding_window", None) else "full_attention"}
    if stateful := sorted(kinds - _ATTENTION):
        names = ", ".join(stateful)
        raise UserError(f"{config.model_type} has layers of {names}, which carry a state from sample to sample: give each a row of its own")
    if explicit_mask and (bounded := sorted(kinds & _BOUNDED)):
        raise UserError(f"{config.model_type} has layers of {', '.join(bounded)}: give it positions instead of a mask")


def _labels(sample: Sample) -> list[int]:
    """What is to be predicted. Nothing comes before the first token, so it is no target."""
    return [NO_LABEL, *(id if trained else NO_LABEL for id, trained in zip(sample.ids[1:], sample.mask[1:], strict=True))]


def _need_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("torch", "pip install 'cowork-gym[train]'")
