"""Advantages with a critic: against the recursion written out, and what must never reach them."""

import pytest

torch = pytest.importorskip("torch")

from token_rows import random_rows, with_noise  # noqa: E402

from cowork_gym.trainers import algorithms as rl  # noqa: E402

BOTH = pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (1.0, 0.95), (0.9, 0.8), (0.5, 0.0), (0.0, 1.0)])


def _written_out(rewards, values, mask, gamma, lam):
    """The recursion, token by token."""
    advantages = torch.zeros_like(values)
    for row in range(len(values)):
        value, advantage = 0.0, 0.0
        for t in reversed(range(values.shape[1])):
            if mask[row, t]:
                delta = rewards[row, t] + gamma * value - values[row, t]
                advantage = delta + gamma * lam * advantage
                value, advantages[row, t] = values[row, t], advantage
    return advantages


@BOTH
def test_it_is_the_recursion_over_live_tokens(gamma, lam):
    rows = random_rows(1, tokens=40)
    rewards = torch.where(rows.mask, rows.returns, 0)
    found = rl.masked_gae(rewards, rows.values, rows.mask, gamma, lam)
    expected = _written_out(rewards, rows.values, rows.mask, gamma, lam)
    assert torch.allclose(found.advantages, expected, atol=1e-12)
    assert torch.allclose(found.returns, torch.where(rows.mask, expected + rows.values, 0), atol=1e-12)


def test_long_rows_are_as_exact():
    values = torch.zeros(1, 5000, dtype=torch.float64)
    rewards = values.clone()
    rewards[0, -1] = 1
    found = rl.masked_gae(rewards, values, torch.ones(1, 5000), lam=1 - 1 / 7500).advantages[0]
    assert float(found[0]) == pytest.approx((1 - 1 / 7500) ** 4999, rel=1e-12)
    assert float(found[-2]) == pytest.approx(1 - 1 / 7500, rel=1e-12)


def test_lambda_may_differ_by_row():
    rows, lam = random_rows(2), torch.tensor([0.0, 0.2, 0.5, 0.9, 1.0, 1.0])
    rewards = torch.where(rows.mask, rows.returns, 0)
    found = rl.masked_gae(rewards, rows.values, rows.mask, 0.9, lam).advantages
    for row in range(6):
        alone = rl.masked_gae(rewards[[row]], rows.values[[row]], rows.mask[[row]], 0.9, float(lam[row])).advantages
        assert torch.allclose(found[row], alone[0], atol=1e-6)


@pytest.mark.parametrize("value", [100.0, torch.nan, -torch.inf])
def test_a_value_behind_the_last_live_token_reaches_nothing(value):
    found = rl.masked_gae(torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([[0.0, 0.0, value]]), torch.tensor([[1, 1, 0]]), lam=0.95)
    assert found.advantages[0].tolist() == pytest.approx([0.95, 1.0, 0.0])


@BOTH
def test_padding_and_the_order_of_rows_change_nothing(gamma, lam):
    rows, order = random_rows(3), torch.tensor([3, 1, 5, 0, 4, 2])
    rewards = torch.where(rows.mask, rows.returns, 0)
    found = rl.masked_gae(rewards, rows.values, rows.mask, gamma, lam)
    nothing = torch.full((6, 2), torch.nan, dtype=torch.float64)
    wide = [torch.cat([nothing, one, nothing], 1)[order] for one in (rewards, rows.values)]
    wide.append(torch.nn.functional.pad(rows.mask, (2, 2))[order])
    other = rl.masked_gae(*wide, gamma, lam)
    assert torch.allclose(other.advantages[:, 2:-2], found.advantages[order], atol=1e-12)
    assert not other.advantages[:, :2].any()


def test_advantages_are_targets_and_carry_no_gradient():
    values = torch.zeros(1, 2, requires_grad=True)
    found = rl.masked_gae(torch.zeros(1, 2), values, torch.ones(1, 2))
    assert not found.advantages.requires_grad
    assert not found.returns.requires_grad
    assert found.advantages.dtype == torch.float32


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 3)])
def test_nothing_live_gives_nothing(shape):
    found = rl.masked_gae(torch.zeros(shape), torch.full(shape, torch.nan), torch.zeros(shape))
    assert found.advantages.shape == shape
    assert not found.advantages.any()


def test_the_terminal_reward_goes_to_the_last_live_token():
    mask = torch.tensor([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    found = rl.terminal_rewards(torch.tensor([0.5, torch.nan, -1.0]), mask)
    assert found.tolist() == [[0, 0, 0.5, 0], [0, 0, 0, 0], [0, 0, 0, -1.0]]


def test_corrupted_inputs_are_refused():
    zeros, ones = torch.zeros(1, 3), torch.ones(1, 3)
    refusals = {
        "is not finite at live position [0, 1]": lambda: rl.masked_gae(zeros, torch.tensor([[0, torch.nan, 0]]), ones),
        "stands at dead position [0, 2]": lambda: rl.masked_gae(torch.tensor([[0, 0, 1.0]]), zeros, torch.tensor([[1, 1, 0]])),
        "rewards of shape [1, 2]": lambda: rl.masked_gae(zeros[:, :2], zeros, ones),
        "lambda lies in [0, 1]": lambda: rl.masked_gae(zeros, zeros, ones, lam=1.1),
        "gamma lies in [0, 1]": lambda: rl.masked_gae(zeros, zeros, ones, gamma=-0.1),
        "lambda of shape [2]": lambda: rl.masked_gae(zeros, zeros, ones, lam=torch.ones(2)),
        "holds only 0 and 1": lambda: rl.masked_gae(zeros, zeros, ones / 2),
        "row 1 has a reward and no live token to carry it": lambda: rl.terminal_rewards(torch.tensor([0.5, 1.0]), torch.tensor([[1, 1], [0, 0]])),
        "rewards is not finite": lambda: rl.terminal_rewards(torch.tensor([torch.nan]), ones),
        "does not fit values of shape": lambda: rl.masked_gae(zeros, zeros, torch.ones(1, 4)),
    }
    for words, call in refusals.items():
        with pytest.raises(ValueError) as refused:
            call()
        assert words in str(refused.value)
    assert not rl.masked_gae(torch.tensor([[0, 0, 1.0]]), zeros, torch.tensor([[1, 1, 0]]), stray_rewards="ignore").advantages.any()


def test_lambda_adapts_to_length():
    assert rl.length_adaptive_lambda(torch.tensor([0, 1, 2, 100])).tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1 - 1 / 150])
    for alpha, length in ((0.0, 1), (1.5, -1), (float("nan"), 1)):
        with pytest.raises(ValueError):
            rl.length_adaptive_lambda(torch.tensor(length), alpha)


def test_value_losses_read_nothing_in_dead_positions():
    for noise in (torch.nan, 1e9):
        rows = with_noise(random_rows(5), noise)
        values = rows.values.clone().requires_grad_()
        loss = rl.value_loss(values, rows.returns, rows.mask, old_values=rows.old_values, clip=0.1)
        rl.aggregate(loss.token_loss, rows.mask).backward()
        assert not values.grad[~rows.mask].any()
        assert bool(loss.clipped.any())
        assert not (loss.clipped & ~rows.mask).any()
    with pytest.raises(ValueError, match="needs old values"):
        rl.value_loss(rows.values, rows.returns, rows.mask, clip=0.1)


def test_explained_variance():
    returns = torch.tensor([[1.0, 2.0, 3.0, torch.nan]])
    mask = torch.tensor([[1, 1, 1, 0]])
    assert rl.explained_variance(returns, returns, mask) == pytest.approx(1)
    assert rl.explained_variance(torch.zeros(1, 4), returns, mask) == pytest.approx(0)
    assert rl.explained_variance(-returns, returns, mask) == pytest.approx(-3)
    assert rl.explained_variance(returns, torch.full((1, 4), 0.2), mask) is None
    assert rl.explained_variance(returns, returns, torch.zeros(1, 4)) is None
    assert rl.explained_variance(returns, returns, torch.tensor([[0, 1, 0, 0]])) is None
