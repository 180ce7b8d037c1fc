"""A trajectory cut into segments: where that changes nothing, and where it must not change what a rollout weighs."""

import hypothesis
import hypothesis.strategies as st
import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers import algorithms as rl  # noqa: E402

torch.set_num_threads(1)
cuts = st.lists(st.integers(1, 4), min_size=1, max_size=5)
shares = st.floats(0, 1, width=16)
few = hypothesis.settings(max_examples=40)


def _random(length, seed=0):
    draw = torch.Generator().manual_seed(seed)
    mask = torch.rand(length, generator=draw) < 0.7
    mask[-1] = True
    return torch.randn(length, generator=draw, dtype=torch.float64), mask


def _cut(flat, sizes, missing):
    rows = torch.full((len(sizes), max(sizes)), missing, dtype=flat.dtype)
    for row, part in enumerate(flat.split(sizes)):
        rows[row, : len(part)] = part
    return rows


def _segments(sizes, values, mask, reward=0.7):
    rewards = torch.full((len(sizes),), reward, dtype=torch.float64)
    return rewards, _cut(values, sizes, torch.nan), _cut(mask, sizes, False), ["one"] * len(sizes), torch.arange(len(sizes))


def _flat(found, rows):
    """Live tokens in order; rows are segments in order."""
    return found[rows[2]]


@few
@hypothesis.given(sizes=cuts, gamma=shares, lam=shares, reading=st.sampled_from(list(rl.Reading)))
def test_with_a_critic_of_zero_a_split_changes_no_advantage_in_either_reading(sizes, gamma, lam, reading):
    values, mask = _random(sum(sizes))
    rows = _segments(sizes, torch.zeros_like(values), mask)
    found = rl.compaction_advantages(*rows, gamma=gamma, lam=lam, reading=reading).advantages
    whole = rl.masked_gae(
        rl.terminal_rewards(torch.tensor([0.7], dtype=torch.float64), mask[None]), torch.zeros_like(values)[None], mask[None], gamma, lam
    )
    assert torch.allclose(_flat(found, rows), whole.advantages[0][mask], atol=1e-12)
    after = torch.arange(int(mask.sum()) - 1, -1, -1, dtype=torch.float64)
    assert torch.allclose(_flat(found, rows), 0.7 * torch.tensor(gamma * lam, dtype=torch.float64) ** after, atol=1e-12)


@few
@hypothesis.given(sizes=cuts, gamma=shares, lam=shares)
def test_concatenated_a_split_changes_no_advantage_and_no_return_whatever_the_critic_says(sizes, gamma, lam):
    values, mask = _random(sum(sizes), 1)
    rows = _segments(sizes, values, mask)
    whole = rl.masked_gae(rl.terminal_rewards(torch.tensor([0.7], dtype=torch.float64), mask[None]), values[None], mask[None], gamma, lam)
    found = rl.compaction_advantages(*rows, gamma=gamma, lam=lam, reading=rl.Reading.CONCATENATED)
    returns = rl.compaction_returns(*rows, gamma=gamma, lam=lam, reading=rl.Reading.CONCATENATED)
    assert torch.allclose(_flat(found.advantages, rows), whole.advantages[0][mask], atol=1e-12)
    assert torch.allclose(_flat(returns, rows), whole.returns[0][mask], atol=1e-12)


@few
@hypothesis.given(sizes=cuts)
def test_with_lambda_and_gamma_one_a_split_changes_nothing_in_the_local_reading_either(sizes):
    values, mask = _random(sum(sizes), 2)
    rows = _segments(sizes, values, mask)
    found = rl.compaction_advantages(*rows, lam=1.0).advantages
    assert torch.allclose(_flat(found, rows), 0.7 - values[mask], atol=1e-12)
    assert torch.allclose(_flat(rl.compaction_returns(*rows), rows), torch.full((int(mask.sum()),), 0.7, dtype=torch.float64), atol=1e-12)


def test_lambda_is_that_of_the_whole_trajectory_however_it_is_split():
    values, mask = _random(12)
    split, whole = (rl.compaction_advantages(*_segments(sizes, values, mask)) for sizes in ([5, 3, 4], [12]))
    assert split.lam.tolist() == pytest.approx([float(whole.lam[0])] * 3)
    assert float(whole.lam[0]) == pytest.approx(1 - 1 / (1.5 * int(mask.sum())))


def test_with_a_critic_the_two_readings_differ():
    values, mask = _random(12)
    rows = _segments([5, 3, 4], values, mask)
    local, concatenated = (rl.compaction_advantages(*rows, reading=reading).advantages for reading in rl.Reading)
    assert not torch.allclose(local, concatenated, atol=1e-3)
    assert torch.allclose(local[2], concatenated[2], atol=1e-12)


FIVE_AND_ONE = ["five"] * 5 + ["one"]
CLAIMS = {
    rl.Aggregation.TOKEN_MEAN: {},
    rl.Aggregation.SEQ_MEAN_TOKEN_MEAN: {"trajectory_ids": FIVE_AND_ONE},
    rl.Aggregation.SEQ_MEAN_TOKEN_SUM: {},
    rl.Aggregation.SEQ_MEAN_TOKEN_SUM_NORM: {},
    rl.Aggregation.TOKEN_SUM_NORM: {},
    rl.Aggregation.PROMPT_MEAN: {"group_ids": FIVE_AND_ONE},
}
ANY_LENGTH = (rl.Aggregation.SEQ_MEAN_TOKEN_MEAN, rl.Aggregation.PROMPT_MEAN)


def _pull(mode, mask, options):
    """How much of the gradient a rollout of five segments has, and one of a single segment, at the same advantage."""
    logp = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    loss = rl.ppo_loss(logp, logp.detach(), torch.ones(6, dtype=torch.float64), mask).token_loss
    rl.aggregate(loss, mask, mode, **options).backward()
    return float(logp.grad[:5].sum()), float(logp.grad[5].sum())


@pytest.mark.parametrize("mode", CLAIMS)
def test_five_segments_weigh_what_one_of_as_many_tokens_weighs(mode):
    mask = torch.tensor([[1] * 2 + [0] * 8] * 5 + [[1] * 10])
    five, one = _pull(mode, mask, CLAIMS[mode])
    assert five == pytest.approx(one)
    assert five < 0


@pytest.mark.parametrize("mode", ANY_LENGTH)
def test_five_segments_weigh_what_one_weighs_whatever_their_lengths(mode):
    mask = torch.tensor([[1] * 7 + [0] * 3] * 5 + [[1] * 2 + [0] * 8])
    five, one = _pull(mode, mask, CLAIMS[mode])
    assert five == pytest.approx(one)


def test_without_trajectory_ids_a_mean_over_sequences_counts_segments():
    mask = torch.tensor([[1] * 2 + [0] * 8] * 5 + [[1] * 10])
    five, one = _pull(rl.Aggregation.SEQ_MEAN_TOKEN_MEAN, mask, {})
    assert five == pytest.approx(5 * one)


@pytest.mark.parametrize("mode", [mode for mode in rl.Aggregation if mode is not rl.Aggregation.PROMPT_MEAN])
def test_with_trajectory_ids_a_split_into_segments_changes_no_loss(mode):
    values, mask = _random(12, 3)
    other, other_mask = _random(12, 4)
    whole = rl.aggregate(torch.stack([values, other]), torch.stack([mask, other_mask]), mode, trajectory_ids=[1, 2])
    sizes = [4, 4, 4]
    rows, live = (torch.cat([_cut(a, sizes, a[0]), _cut(b, sizes, b[0])]) for a, b in ((values, other), (mask, other_mask)))
    assert float(rl.aggregate(rows, live, mode, trajectory_ids=[1, 1, 1, 2, 2, 2])) == pytest.approx(float(whole))


def test_gspo_over_trajectories_is_changed_by_no_split():
    logp, mask = _random(12, 5)
    old_logp, options = logp + 0.1 * _random(12, 6)[0], {"eps_low": 0.5, "eps_high": 0.5, "ratio_scope": rl.RatioScope.TRAJECTORY}
    one, three = ([sizes, torch.ones(len(sizes), dtype=torch.float64)] for sizes in ([12], [4, 5, 3]))
    losses = [
        float(
            loss(_cut(logp, sizes, 0.0), _cut(old_logp, sizes, 0.0), ones, _cut(mask, sizes, False), trajectory_ids=[0] * len(sizes), **options).loss
        )
        for sizes, ones in (one, three)
        for loss in (rl.gspo_loss, rl.gspo_token_loss)
    ]
    assert losses == pytest.approx([losses[0]] * 4)
    parted = rl.gspo_loss(*(_cut(x, three[0], 0.0) for x in (logp, old_logp)), three[1], _cut(mask, three[0], False), eps_low=0.5, eps_high=0.5)
    assert float(parted.loss) != pytest.approx(losses[0])
