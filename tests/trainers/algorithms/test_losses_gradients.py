"""Gradients: against finite differences where the value is what is descended, and against frozen weights where a weight is detached on purpose."""

import pytest

torch = pytest.importorskip("torch")

from token_rows import TOKEN_LOSSES, random_rows, token_mean, with_noise  # noqa: E402

from cowork_gym.trainers import algorithms as rl  # noqa: E402

SEEDS = range(3)
PLAIN = ("ppo", "clip_higher", "dual_clip", "k1", "k2", "k3", "centred_dropped", "tis", "masked_is")


def _rows(seed):
    return with_noise(random_rows(seed), 0.5)


def _gradient(loss, of):
    return torch.autograd.grad(loss, of, retain_graph=True)[0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PLAIN)
def test_token_losses_have_the_gradient_of_their_value(name, seed):
    rows = _rows(seed)
    assert torch.autograd.gradcheck(lambda logp: token_mean(rows, TOKEN_LOSSES[name](rows.learning(logp=logp))), rows.logp.clone().requires_grad_())


@pytest.mark.parametrize("scope", rl.RatioScope)
@pytest.mark.parametrize("seed", SEEDS)
def test_gspo_has_the_gradient_of_its_value(seed, scope):
    rows = _rows(seed)

    def loss(logp):
        options = {"eps_low": 0.2, "eps_high": 0.2, "ratio_scope": scope, "trajectory_ids": rows.trajectories}
        return rl.gspo_loss(logp, rows.old_logp, rows.advantages[:, 0], rows.mask, **options).loss

    assert torch.autograd.gradcheck(loss, rows.logp.clone().requires_grad_())


@pytest.mark.parametrize("scope", rl.RatioScope)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_token_form_of_gspo_is_the_sequence_form_where_advantages_are(seed, scope):
    rows = _rows(seed)
    logp, advantages = rows.logp.clone().requires_grad_(), rows.advantages[rows.trajectories % 4 % 3, 0]
    options = {"eps_low": 0.2, "eps_high": 0.2, "ratio_scope": scope, "trajectory_ids": rows.trajectories}
    whole, token = (one(logp, rows.old_logp, advantages, rows.mask, **options).loss for one in (rl.gspo_loss, rl.gspo_token_loss))
    assert torch.allclose(whole, token, atol=1e-12)
    assert torch.allclose(_gradient(whole, logp), _gradient(token, logp), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_cispo_keeps_a_gradient_where_the_ratio_was_clipped(seed):
    rows = _rows(seed)
    logp = rows.logp.clone().requires_grad_()
    found = rl.cispo_loss(logp, rows.old_logp, rows.advantages, rows.mask, weight_high=1.1)
    assert bool(((found.ratio > 1.1) & rows.mask).any())
    expected = torch.where(rows.mask, -found.ratio.clamp(0, 1.1) * rows.advantages, 0)
    assert torch.allclose(_gradient(found.token_loss.sum(), logp), expected)
    assert bool((expected[rows.mask] != 0).all())


@pytest.mark.parametrize("seed", SEEDS)
def test_dis_has_the_gradient_of_ratio_times_advantage_inside_and_none_outside(seed):
    rows, band = _rows(seed), rl.Band(0.7, 1.5)
    logp = rows.logp.clone().requires_grad_()
    found = rl.dis_loss(logp, rows.rollout_logp, rows.advantages, rows.mask, band=band)
    inside = (found.ratio > 0.7) & (found.ratio < 1.5) & rows.mask
    assert 0 < int(inside.sum()) < int(rows.mask.sum())

    def surrogate(moving):
        return torch.where(inside, -(moving - rows.rollout_logp).exp() * rows.advantages, 0).sum()

    assert torch.autograd.gradcheck(surrogate, logp)
    assert torch.allclose(_gradient(found.token_loss.sum(), logp), _gradient(surrogate(logp), logp))


@pytest.mark.parametrize("c", [None, 0.2])
@pytest.mark.parametrize("seed", SEEDS)
def test_value_losses_have_the_gradient_of_their_value(seed, c):
    rows = _rows(seed)

    def loss(values):
        return token_mean(rows, rl.value_loss(values, rows.returns, rows.mask, old_values=rows.old_values, clip=c).token_loss)

    assert torch.autograd.gradcheck(loss, rows.values.clone().requires_grad_())


@pytest.mark.parametrize("mode", rl.Aggregation)
def test_aggregations_have_the_gradient_of_their_value(mode):
    rows = _rows(0)
    ids = {"trajectory_ids": rows.trajectories, "group_ids": rows.trajectories}
    assert torch.autograd.gradcheck(lambda losses: rl.aggregate(losses, rows.mask, mode, **ids), rows.values.clone().requires_grad_())


@pytest.mark.parametrize("temperature", [0.7, 1.0, 2.0])
def test_log_probabilities_and_entropies_have_the_gradient_of_their_value(temperature):
    draw = torch.Generator().manual_seed(4)
    logits = torch.randn(2, 3, 5, generator=draw, dtype=torch.float64, requires_grad=True)
    ids, mask = torch.tensor([[0, 4, 2], [1, 1, -100]]), torch.tensor([[1, 1, 1], [1, 1, 0]])
    assert torch.autograd.gradcheck(lambda x: rl.token_logprobs(x, ids, mask, temperature), logits)
    assert torch.autograd.gradcheck(lambda x: rl.token_entropy(x, mask, temperature), logits)


def _softmax_case():
    draw = torch.Generator().manual_seed(8)
    logits = torch.randn(6, generator=draw, dtype=torch.float64, requires_grad=True)
    return logits, logits.log_softmax(0), torch.randn(6, generator=draw, dtype=torch.float64).softmax(0)


def _centred_gradient(logits, logp, head, q, **options):
    one = torch.ones(1, 1, dtype=torch.float64)
    found = rl.score_centred_loss(logp[2].reshape(1, 1), logp[head].reshape(1, 1, -1), q.reshape(1, 1, -1), 1.5 * one, one, **options)
    return _gradient(found.token_loss.sum(), logits)


def test_the_full_centre_leaves_onehot_minus_sampler():
    logits, logp, q = _softmax_case()
    expected = -1.5 * (torch.eye(6, dtype=torch.float64)[2] - q)
    assert torch.allclose(_centred_gradient(logits, logp, list(range(6)), q, tail=rl.Tail.FULL), expected, atol=1e-12)


def test_the_proportional_tail_is_the_full_centre_of_a_sampler_with_such_a_tail():
    logits, logp, q = _softmax_case()
    p, head = logp.detach().exp(), [0, 2, 5]
    filled = p * (1 - q[head].sum()) / (1 - p[head].sum())
    filled[head] = q[head]
    expected = -1.5 * (torch.eye(6, dtype=torch.float64)[2] - filled)
    assert torch.allclose(_centred_gradient(logits, logp, head, q[head]), expected, atol=1e-12)


def test_calibrated_by_the_exact_ratio_nothing_is_left_to_centre():
    logits, logp, q = _softmax_case()
    f = logp.detach().exp() / q
    options = {"weights": f[2].reshape(1, 1), "head_weights": f.reshape(1, 1, -1), "tail": rl.Tail.FULL}
    found = _centred_gradient(logits, logp, list(range(6)), q, **options)
    assert torch.allclose(found, _gradient(-1.5 * f[2] * logp[2], logits), atol=1e-12)
