"""Edges of the losses: clamps, open and closed bounds, temperatures, and inputs that are refused."""

import math

import pytest

torch = pytest.importorskip("torch")

from token_rows import random_rows  # noqa: E402

from cowork_gym.trainers import algorithms as rl  # noqa: E402


def _row(*numbers, **options):
    return torch.tensor([numbers], dtype=torch.float64, **options)


ONE = _row(1.0)


def test_log_ratios_are_clamped_before_exp():
    logp = _row(-1e4, -1.0).requires_grad_()
    ratio = rl.token_ratio(logp, _row(-1.0, -1e4), torch.ones(1, 2))
    assert ratio[0].tolist() == pytest.approx([math.exp(-20), math.exp(20)])
    assert torch.isfinite(torch.autograd.grad(ratio.sum(), logp)[0]).all()
    assert torch.isfinite(rl.kl_estimate(_row(-1e4), _row(-1.0), ONE)).all()
    assert float(rl.gspo_loss(_row(0.0), _row(-99.0), torch.tensor([1.0]), ONE).ratio) == pytest.approx(math.exp(10))
    assert float(rl.gspo_loss(_row(-12.0), _row(0.0), torch.tensor([1.0]), ONE).ratio) == pytest.approx(math.exp(-12))


def test_half_precision_is_widened_before_ratios():
    mask = torch.ones(1, 1)
    for kind in (torch.float16, torch.bfloat16):
        logp = torch.tensor([[-1.0]], dtype=kind)
        assert rl.token_ratio(logp, logp, mask).dtype == torch.float32
        assert rl.token_logprobs(torch.zeros(1, 1, 3, dtype=kind), torch.zeros(1, 1, dtype=torch.long), mask).dtype == torch.float32


def test_the_default_band_is_that_of_the_epsilons_in_decimal():
    assert (rl.DIS_DEFAULT.low, rl.DIS_DEFAULT.high) == (0.2, 4.0)
    assert rl.DIS_BANDS["literal_band"] == rl.Band(0.8, 3.0)
    assert rl.Band.from_epsilons(0.3, 5.0) == rl.Band(0.7, 6.0)
    assert 1 - 0.8 != 0.2


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_a_bound_is_outside_of_an_open_band_and_within_a_closed_one(kind):
    rounded = torch.tensor([0.1, 2.0, 0.25, 3.9], dtype=kind).log() - torch.tensor([0.5, 0.5, 1.25, 1.0], dtype=kind).log()
    assert rl.DIS_DEFAULT.inside(rounded).tolist() == [False, False, False, True]
    assert rl.DIS_DEFAULT.within(rounded).all()


def test_infinite_ratios_get_no_weight_and_make_no_nan():
    logp = _row(-math.inf, math.inf, 0.0)
    assert rl.dis_weight(logp)[0].tolist() == [0, 0, 1]
    assert rl.dis_weight(logp, rl.Band(0, 4.0))[0].tolist() == [0, 0, 1]


def test_a_weight_carries_no_gradient():
    assert not rl.dis_weight(_row(0.1).requires_grad_()).requires_grad


def test_dead_positions_have_the_weight_one_and_are_no_outliers_whatever_the_band():
    logp, mask, band = _row(0.0, torch.nan), torch.tensor([[1, 0]]), rl.Band(2.0, 9.0)
    rollout_logp = _row(-1.0, torch.nan)
    assert rl.masked_token_weights(logp, rollout_logp, mask, band)[0].tolist() == pytest.approx([math.e, 1])
    assert rl.truncated_token_weights(logp, rollout_logp, mask, cap=0.5)[0].tolist() == [0.5, 1]
    assert rl.outlier_keep(logp, rollout_logp, mask, band).tolist() == [True]
    assert rl.outlier_keep(logp, logp, mask, band).tolist() == [False]


def test_a_token_that_neither_policy_can_say_takes_no_part_in_a_centre():
    logits = _row(0.3, -0.2, -torch.inf).requires_grad_()
    q, f = _row(0.6, 0.4, 0.0), _row(2.0, 3.0, torch.nan)
    for weights in (None, f):
        centre = rl.score_centre(logits.log_softmax(-1), q, rl.Tail.FULL, weights)
        gradient = torch.autograd.grad(centre.score.sum(), logits)[0]
        assert torch.isfinite(gradient).all()
        assert float(gradient[0, 2]) == 0
    with pytest.raises(ValueError, match="where the sampler has a probability"):
        rl.score_centre(logits.log_softmax(-1), _row(0.5, 0.4, 0.1))


def test_denominators_count_the_tokens_that_a_band_dropped():
    logp = _row(0.0, 0.0).requires_grad_()
    found = rl.dis_loss(logp, _row(0.0, -9.0), torch.ones(1), torch.ones(1, 2))
    rl.aggregate(found.token_loss, torch.ones(1, 2)).backward()
    assert logp.grad[0].tolist() == [-0.5, 0]


def test_ppo_tells_which_tokens_the_clip_stopped():
    rows = random_rows(7)
    logp = torch.where(rows.mask, rows.logp, 0).requires_grad_()
    found = rl.ppo_loss(logp, rows.old_logp, rows.advantages, rows.mask, eps_low=0.1, eps_high=0.2, dual_clip=1.2)
    gradient = torch.autograd.grad(found.token_loss.sum(), logp)[0]
    assert torch.equal(found.clipped, (gradient == 0) & rows.mask)
    assert 0 < int(found.clipped.sum()) < int(rows.mask.sum())


def test_advantages_of_rows_are_those_of_their_tokens():
    rows = random_rows(8)
    per_row = torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0, torch.nan], dtype=torch.float64)
    one, other = (rl.ppo_loss(rows.logp, rows.old_logp, a, rows.mask).token_loss for a in (per_row, per_row.unsqueeze(1).expand(6, 7)))
    assert torch.equal(one, other)


@pytest.mark.parametrize("temperature", [0.5, 0.7, 1.0, 1.3])
def test_logits_are_divided_by_the_temperature_of_sampling(temperature):
    logits, ids = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(2)), torch.tensor([[0, 1, 2], [4, 3, 0]])
    found = rl.token_logprobs(logits, ids, torch.ones(2, 3), temperature)
    probs = torch.softmax(logits / temperature, -1)
    assert torch.allclose(found.exp(), probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1), atol=1e-6)
    assert torch.allclose(rl.token_entropy(logits, torch.ones(2, 3), temperature), torch.special.entr(probs).sum(-1), atol=1e-6)


def test_a_trainer_at_the_temperature_of_its_sampler_has_ratios_of_one():
    logits, ids, mask = torch.randn(1, 4, 6, generator=torch.Generator().manual_seed(3)), torch.tensor([[5, 0, 3, 1]]), torch.ones(1, 4)
    sampled = torch.distributions.Categorical(logits=logits / 0.7).log_prob(ids)
    assert torch.allclose(rl.token_ratio(rl.token_logprobs(logits, ids, mask, 0.7), sampled, mask), torch.ones(1, 4), atol=1e-5)
    assert not torch.allclose(rl.token_ratio(rl.token_logprobs(logits, ids, mask), sampled, mask), torch.ones(1, 4), atol=0.05)


def test_dead_logits_reach_no_gradient_and_impossible_tokens_no_entropy():
    logits = torch.zeros(1, 2, 3)
    logits[0, 1] = torch.nan
    logits[0, 0, 2] = -torch.inf
    logits.requires_grad_()
    mask = torch.tensor([[1, 0]])
    entropy = rl.token_entropy(logits, mask)
    assert entropy[0].tolist() == pytest.approx([math.log(2), 0])
    total = entropy.sum() + rl.token_logprobs(logits, torch.tensor([[0, -100]]), mask).sum()
    gradient = torch.autograd.grad(total, logits)[0]
    assert torch.isfinite(gradient).all()
    assert not gradient[0, 1].any()


def test_whitening_needs_more_than_one_live_token():
    values = _row(1.0, 3.0, torch.nan)
    found = rl.masked_whiten(values, torch.tensor([[1, 1, 0]]))
    assert found[0].tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5, 0])
    assert not rl.masked_whiten(values, torch.zeros(1, 3)).any()
    with pytest.raises(ValueError, match="more than 1 live"):
        rl.masked_whiten(values, torch.tensor([[1, 0, 0]]))


def test_masked_means_over_one_dimension():
    values, mask = torch.tensor([[1.0, 3.0], [torch.inf, 2.0], [torch.nan, torch.nan]]), torch.tensor([[1, 1], [0, 1], [0, 0]])
    assert rl.masked_mean(values, mask, dim=1).tolist() == [2, 2, 0]
    assert rl.masked_sum(values, mask, dim=1).tolist() == [4, 2, 0]


CORRUPT = {
    "logp is not finite at live position": lambda: rl.ppo_loss(_row(torch.nan), ONE, ONE, ONE),
    "old_logp is not finite": lambda: rl.cispo_loss(ONE, _row(-torch.inf), ONE, ONE, weight_high=2.0),
    "advantages is not finite": lambda: rl.dis_loss(ONE, ONE, torch.tensor([torch.nan]), ONE),
    "old_logp of shape [1, 2]": lambda: rl.ppo_loss(ONE, _row(0, 0), ONE, ONE),
    "a mask of shape [1, 2]": lambda: rl.ppo_loss(ONE, ONE, ONE, _row(1, 1)),
    "a mask holds only 0 and 1": lambda: rl.kl_estimate(ONE, ONE, _row(0.5)),
    "epsilons are not negative": lambda: rl.ppo_loss(ONE, ONE, ONE, ONE, eps_low=-0.1),
    "a dual clip is above 1": lambda: rl.ppo_loss(ONE, ONE, ONE, ONE, dual_clip=1.0),
    "weights have 0 <= low <= high": lambda: rl.cispo_loss(ONE, ONE, ONE, ONE, weight_low=2.0, weight_high=1.0),
    "weights have 0 <= low <= cap": lambda: rl.truncated_token_weights(ONE, ONE, ONE, cap=0.0),
    "a band has 0 <= low < high": lambda: rl.Band(2.0, 1.0),
    "epsilons are not negative, and these are -1": lambda: rl.Band.from_epsilons(-1, 2),
    "has no inverse": lambda: rl.inverse_bounds(rl.Band(0, 2.0)),
    "one advantage a row": lambda: rl.gspo_loss(_row(1, 1), _row(1, 1), _row(1, 1), _row(1, 1)),
    "need trajectory_ids": lambda: rl.gspo_loss(ONE, ONE, torch.ones(1), ONE, ratio_scope=rl.RatioScope.TRAJECTORY),
    "is not a valid Kl": lambda: rl.kl_estimate(ONE, ONE, ONE, "k4"),
    "is not a valid Aggregation": lambda: rl.aggregate(ONE, ONE, "mean"),
    "needs group_ids": lambda: rl.aggregate(ONE, ONE, rl.Aggregation.PROMPT_MEAN),
    "a denominator is above 0": lambda: rl.aggregate(ONE, ONE, denominator=0),
    "divides by its normaliser alone": lambda: rl.aggregate(ONE, ONE, rl.Aggregation.TOKEN_SUM_NORM, denominator=3),
    "[2] weights do not fit": lambda: rl.weighted_loss(ONE, ONE, torch.ones(2)),
    "values is not finite at live position [0, 0]": lambda: rl.aggregate(_row(torch.nan), ONE),
    "a batch size is above 0": lambda: rl.prompt_equal_denominators(torch.ones(1), ["a"], 0),
    "a temperature is above 0": lambda: rl.token_logprobs(torch.zeros(1, 1, 2), torch.zeros(1, 1, dtype=torch.long), ONE, 0.0),
    "outside of the vocabulary of 2": lambda: rl.token_logprobs(torch.zeros(1, 1, 2), torch.full((1, 1), 2), ONE),
    "logits of shape [1, 2, 2]": lambda: rl.token_logprobs(torch.zeros(1, 2, 2), torch.zeros(1, 1, dtype=torch.long), ONE),
    "sum to 1": lambda: rl.score_centre(_row(-1.0), _row(0.5), rl.Tail.FULL),
    "sum to at most 1": lambda: rl.score_centre(_row(-1.0), _row(1.5)),
    "has no calibration weights": lambda: rl.score_centre(_row(-1.0), _row(0.5), head_weights=ONE),
    "sampled and for the head tokens": lambda: rl.score_centred_loss(ONE, ONE[None], ONE[None], ONE, ONE, weights=ONE),
    "head log-probabilities and sampler": lambda: rl.score_centred_loss(ONE, torch.zeros(1, 2, 1), torch.zeros(1, 2, 1), ONE, ONE),
    "sampler probabilities of shape": lambda: rl.score_centre(_row(-1.0), _row(0.5, 0.1)),
}


@pytest.mark.parametrize("words", CORRUPT)
def test_corrupted_inputs_are_refused(words):
    with pytest.raises(ValueError) as refused:
        CORRUPT[words]()
    assert words in str(refused.value)


def test_an_error_names_the_argument_that_is_wrong():
    bad = _row(math.nan)
    for call, name in (
        (lambda: rl.kl_estimate(ONE, bad, ONE), "ref_logp"), (lambda: rl.dis_loss(ONE, bad, ONE, ONE), "rollout_logp"),
        (lambda: rl.ppo_loss(ONE, bad, ONE, ONE), "old_logp"), (lambda: rl.truncated_token_weights(bad, ONE, ONE), "old_logp"),
        (lambda: rl.masked_token_weights(ONE, bad, ONE, rl.DIS_DEFAULT), "rollout_logp"), (lambda: rl.sequence_ratio(ONE, bad, ONE), "rollout_logp"),
        (lambda: rl.product_keep(bad, ONE, ONE, rl.DIS_DEFAULT), "old_logp"), (lambda: rl.geometric_keep(ONE, bad, ONE), "rollout_logp"),
        (lambda: rl.outlier_keep(ONE, bad, ONE), "rollout_logp"),
    ):
        with pytest.raises(ValueError, match=rf"^{name} is not finite at live position \[0, 0\]"):
            call()
