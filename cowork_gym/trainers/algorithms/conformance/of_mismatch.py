"""Cases of the gap between sampler and trainer: double-sided importance sampling, weights and masks, score centring."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms import importance
from cowork_gym.trainers.algorithms.aggregation import aggregate
from cowork_gym.trainers.algorithms.conformance.case import Compute, Results
from cowork_gym.trainers.algorithms.conformance.layout import Layout, first_of
from cowork_gym.trainers.algorithms.logprobs import token_logprobs
from cowork_gym.trainers.algorithms.losses import DIS_BANDS, DIS_DEFAULT, Tail, clipped_surrogate, dis_loss, dis_weight
from cowork_gym.trainers.algorithms.losses.score_centering import score_centre, score_centred_loss
from cowork_gym.trainers.algorithms.ratios import Band

__all__ = ["MISMATCH"]


def _dis(inputs: Mapping[str, Any]) -> Results:
    if "threshold" in inputs:
        return _token_k1(inputs)
    return _dis_ratios(inputs) if "ratio" in inputs else _dis_losses(inputs)


def _band(inputs: Mapping[str, Any]) -> Band:
    if (name := first_of(inputs, "preset", "band")) is not None:
        return DIS_BANDS[name] if isinstance(name, str) else Band(*name)
    if (low := inputs.get("ratio_low")) is not None or inputs.get("ratio_high") is not None:
        return Band(DIS_DEFAULT.low if low is None else low, first_of(inputs, "ratio_high", default=DIS_DEFAULT.high))
    return Band.from_epsilons(first_of(inputs, "eps_low", default=0.8), first_of(inputs, "eps_high", default=3.0))


def _dis_ratios(inputs: Mapping[str, Any]) -> Results:
    layout, band = Layout.of(inputs["ratio"]), _band(inputs)
    ratio = layout.tensor(inputs["ratio"])
    weight = dis_weight(ratio.log(), band)

    def clip_has_gradient() -> Any:
        moving = ratio.clone().requires_grad_()
        loss = clipped_surrogate(moving, layout.tensor(first_of(inputs, "advantage", "advantages")), 1 - band.low, band.high - 1)
        return layout.nest(torch.autograd.grad(loss.sum(), moving)[0] != 0)

    return {
        "band": [band.low, band.high],
        "weight": lambda: layout.nest(weight),
        "dis_weight": lambda: layout.nest(weight),
        "keep": lambda: layout.nest(weight != 0),
        "dis_gradient_nonzero": lambda: layout.nest(weight * layout.tensor(first_of(inputs, "advantage", "advantages")) != 0),
        "ppo_gradient_nonzero": clip_has_gradient,
    }


def _dis_losses(inputs: Mapping[str, Any]) -> Results:
    layout, band = Layout.of(inputs["logp"]), _band(inputs)
    logp, mask = layout.tensor(inputs["logp"]).requires_grad_(), layout.mask(inputs.get("mask"))
    found = dis_loss(logp, layout.tensor(inputs["rollout_logp"]), layout.advantages(first_of(inputs, "advantage", "advantages")), mask, band=band)
    loss = aggregate(found.token_loss, mask)
    return {
        "band": [band.low, band.high],
        "ratio": lambda: layout.nest(found.ratio),
        "weight": lambda: layout.nest(torch.where(mask, found.weight, 0)),
        "token_loss": lambda: layout.nest(found.token_loss),
        "loss_token_mean": loss.detach(),
        "grad_wrt_logp": lambda: layout.nest(torch.autograd.grad(loss, logp, retain_graph=True)[0]),
    }


def _token_k1(inputs: Mapping[str, Any]) -> Results:
    layout, (lower, upper) = Layout.of(inputs["ratio"]), map(float, inputs["threshold"].split("_"))
    inverse = importance.inverse_bounds(Band(lower, upper))
    bands = (DIS_DEFAULT, *DIS_BANDS.values(), _band(inputs), Band(lower, upper))
    return {
        "keep": lambda: layout.nest(importance.token_k1_keep(layout.tensor(inputs["ratio"]).log(), lower, upper)),
        "equivalent_ratio_interval": [inverse.low, inverse.high],
        **{f"threshold_for_band_{_named(band)}": _threshold(importance.inverse_bounds(band)) for band in bands},
    }


def _named(band: Band) -> str:
    return f"{band.low}_{band.high}".replace(".", "p")


def _threshold(band: Band) -> str:
    return f"{band.low}_{band.high}"


def _importance_sampling(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(first_of(inputs, "train_logp", "old_logp"))
    logs = (layout.tensor(first_of(inputs, "train_logp", "old_logp")), layout.tensor(inputs["rollout_logp"]), layout.mask(inputs.get("mask")))
    results: dict[str, Any] = {
        "ratio": lambda: layout.nest(importance.truncated_token_weights(*logs, cap=torch.inf)),
        "seq_ratio": lambda: importance.sequence_ratio(*logs),
        "geometric_mean_ratio": lambda: importance.sequence_ratio(*logs, geometric=True),
    }
    low, high = first_of(inputs, "low", "ratio_low"), first_of(inputs, "high", "ratio_high")
    if high is not None:
        band = Band(low or 0.0, high)
        results |= {
            "weight": lambda: layout.nest(importance.masked_token_weights(*logs, band)),
            "seq_weight": lambda: importance.masked_sequence_weights(*logs, band),
            "seq_keep": lambda: importance.product_keep(*logs, band),
            "keep": lambda: importance.geometric_keep(*logs, band),
            "geometric_keep": lambda: importance.geometric_keep(*logs, band),
        }
    if (cap := inputs.get("cap")) is not None:
        lower = first_of(inputs, "cap_low", "low", default=0.0)
        results["weight"] = lambda: layout.nest(importance.truncated_token_weights(*logs, cap, lower))
    if (seq_cap := inputs.get("seq_cap")) is not None:
        results["seq_weight"] = lambda: importance.truncated_sequence_weights(*logs, seq_cap)
    if (seq_high := inputs.get("seq_high")) is not None:
        seq_band = Band(inputs.get("seq_low") or 0.0, seq_high)
        results["seq_weight"] = lambda: importance.masked_sequence_weights(*logs, seq_band)
        results["seq_keep"] = lambda: importance.product_keep(*logs, seq_band)
    if (veto := first_of(inputs, "veto_low", "outlier_low", "veto")) is not None:
        wide = Band(veto, first_of(inputs, "veto_high", "outlier_high", default=torch.inf))
        kept = importance.outlier_keep(*logs, wide)
        results |= {"veto_keep": kept, "outlier_keep": kept, **({} if high is not None else {"keep": kept})}
    return results


def _score_centering(inputs: Mapping[str, Any]) -> Results:
    logits = torch.tensor(inputs["logits"], dtype=torch.float64, requires_grad=True)
    logp = _logp(logits)
    shared = {"trainer_probs": lambda: logp.detach().exp()}
    if "sampled" in inputs:
        shared["plain_grad_logits"] = lambda: _gradient(-inputs["advantage"] * logp[inputs["sampled"]], logits)
    return {**shared, **(_with_head(inputs, logits, logp) if "head_ids" in inputs else _with_vocabulary(inputs, logits, logp))}


def _with_vocabulary(inputs: Mapping[str, Any], logits: Tensor, logp: Tensor) -> Results:
    q = torch.tensor(inputs["sampler_probs"], dtype=torch.float64)
    f = first_of(inputs, "weights", "calibration", "f")
    f = None if f is None else torch.tensor(f, dtype=torch.float64)

    def centred_score() -> Tensor:
        size = len(logp)
        heads, probs = logp.expand(1, size, size), q.expand(1, size, size)
        one = torch.ones(1, size, dtype=torch.float64)
        return -(q * score_centred_loss(logp.unsqueeze(0), heads, probs, one, one, tail=Tail.FULL).token_loss).sum()

    return {
        "centred_grad_logits": lambda: _gradient(_centred(inputs, logp, logp, q, Tail.FULL, f), logits),
        "expected_plain_score_under_sampler": lambda: _gradient(score_centre(logp, q, Tail.FULL).score, logits),
        "expected_centred_score_under_sampler": lambda: _gradient(centred_score(), logits),
    }


def _with_head(inputs: Mapping[str, Any], logits: Tensor, logp: Tensor) -> Results:
    q = torch.tensor(inputs["sampler_head_probs"], dtype=torch.float64)
    head, tail = logp[inputs["head_ids"]], Tail(inputs.get("tail", Tail.PROPORTIONAL))
    return {
        "tail_coefficient": lambda: score_centre(head, q).coefficient.detach(),
        "sampler_head_mass": lambda: score_centre(head, q).sampler_mass,
        "trainer_head_mass": lambda: score_centre(head, q).trainer_mass,
        "expected_score_from_head_only": lambda: _gradient(score_centre(head, q).score, logits),
        "expected_score_full_vocabulary": lambda: _gradient(score_centre(logp, _tail_filled(logp, inputs["head_ids"], q), Tail.FULL).score, logits),
        "expected_score_tail_dropped": lambda: _gradient(score_centre(head, q, Tail.DROPPED).score, logits),
        "centred_grad_logits": lambda: _gradient(_centred(inputs, logp, head, q, tail, None), logits),
        "centred_grad_logits_tail_dropped": lambda: _gradient(_centred(inputs, logp, head, q, Tail.DROPPED, None), logits),
    }


def _centred(inputs: Mapping[str, Any], logp: Tensor, head: Tensor, q: Tensor, tail: Tail, f: Tensor | None) -> Tensor:
    sampled, one = inputs["sampled"], torch.ones(1, 1, dtype=torch.float64)
    weights = {} if f is None else {"weights": f[sampled].reshape(1, 1), "head_weights": f.reshape(1, 1, -1)}
    found = score_centred_loss(
        logp[sampled].reshape(1, 1), head.reshape(1, 1, -1), q.reshape(1, 1, -1), one * inputs["advantage"], one, tail=tail, **weights
    )
    return found.token_loss.sum()


def _tail_filled(logp: Tensor, head_ids: list[int], q: Tensor) -> Tensor:
    """The sampler's probabilities of the whole vocabulary, if its tail has the shape of the trainer's."""
    p = logp.detach().exp()
    filled = p * (1 - q.sum()) / (1 - p[head_ids].sum())
    filled[head_ids] = q
    return filled


def _logp(logits: Tensor) -> Tensor:
    size = len(logits)
    everything = torch.ones(1, size, dtype=torch.bool)
    return token_logprobs(logits.expand(1, size, size), torch.arange(size).unsqueeze(0), everything)[0]


def _gradient(loss: Tensor, of: Tensor) -> Tensor:
    return torch.autograd.grad(loss, of, retain_graph=True)[0]


MISMATCH: Mapping[str, Compute] = {"dis": _dis, "importance_sampling": _importance_sampling, "score_centering": _score_centering}
"""By family."""
