"""What must change nothing: padding and what stands in it, the order of rows, a split in micro-batches, rows in which nothing is live."""

import pytest

torch = pytest.importorskip("torch")

from token_rows import TOKEN_LOSSES, random_rows, token_mean, with_noise  # noqa: E402

from cowork_gym.trainers import algorithms as rl  # noqa: E402


def _padded(left, right):
    """Columns added on both sides, full of NaN, in which nothing is live."""

    def pad(one):
        if one.dim() < 2:
            return one
        columns = [one.new_full((len(one), width, *one.shape[2:]), False if one.dtype == torch.bool else torch.nan) for width in (left, right)]
        return torch.cat([columns[0], one, columns[1]], 1)

    return pad


def _loss_and_gradient(name, rows):
    logp = rows.logp.clone().requires_grad_()
    loss = token_mean(rows, TOKEN_LOSSES[name](rows.learning(logp=logp)))
    return loss.detach(), torch.autograd.grad(loss, logp)[0]


@pytest.mark.parametrize("name", TOKEN_LOSSES)
@pytest.mark.parametrize(("left", "right"), [(3, 0), (0, 4), (2, 5)])
def test_padding_changes_no_loss_and_gets_no_gradient(name, left, right):
    rows = random_rows(1)
    loss, gradient = _loss_and_gradient(name, rows)
    padded_loss, padded = _loss_and_gradient(name, rows.of(_padded(left, right)))
    assert torch.allclose(loss, padded_loss, atol=1e-12)
    assert torch.allclose(padded[:, left : left + gradient.shape[1]], gradient, atol=1e-12)
    assert float(padded.abs().sum()) == pytest.approx(float(gradient.abs().sum()))


@pytest.mark.parametrize("noise", [torch.nan, torch.inf, -torch.inf, 1e30, 0.0])
@pytest.mark.parametrize("name", TOKEN_LOSSES)
def test_what_stands_in_dead_positions_is_never_read(name, noise):
    loss, gradient = _loss_and_gradient(name, with_noise(random_rows(2), 0.25))
    noisy_loss, noisy = _loss_and_gradient(name, with_noise(random_rows(2), noise))
    assert torch.equal(loss, noisy_loss)
    assert torch.equal(gradient, noisy)


@pytest.mark.parametrize("name", TOKEN_LOSSES)
def test_the_order_of_rows_changes_nothing(name):
    rows, order = random_rows(3), torch.tensor([4, 0, 5, 2, 1, 3])
    loss, gradient = _loss_and_gradient(name, rows)
    other_loss, other = _loss_and_gradient(name, rows.of(lambda one: one[order]))
    assert torch.allclose(loss, other_loss, atol=1e-12)
    assert torch.allclose(gradient[order], other, atol=1e-12)


@pytest.mark.parametrize("parts", [[[0, 1, 2, 3, 4, 5]], [[0], [1], [2], [3], [4], [5]], [[0, 5], [1, 2], [3, 4]], [[5], [4, 0, 1], [3, 2]]])
@pytest.mark.parametrize("mode", rl.Aggregation)
def test_weights_of_the_whole_batch_give_its_loss_under_any_split(mode, parts):
    rows = random_rows(4)
    weights = rl.row_weights(rows.mask.sum(1), mode, trajectory_ids=rows.trajectories, group_ids=rows.trajectories)
    whole_losses, split_losses = (rows.values.clone().requires_grad_() for _ in range(2))
    whole = rl.aggregate(whole_losses, rows.mask, mode, trajectory_ids=rows.trajectories, group_ids=rows.trajectories)
    whole.backward()
    split = 0.0
    for part in parts:
        loss = rl.weighted_loss(split_losses[part], rows.mask[part], weights[part])
        loss.backward()
        split += float(loss.detach())
    assert split == pytest.approx(float(whole.detach()))
    assert torch.allclose(whole_losses.grad, split_losses.grad, atol=1e-12)


COUNTED = {
    rl.Aggregation.TOKEN_MEAN: lambda rows: int(rows.mask.sum()),
    rl.Aggregation.SEQ_MEAN_TOKEN_MEAN: lambda rows: 2,
    rl.Aggregation.SEQ_MEAN_TOKEN_SUM: lambda rows: 2,
    rl.Aggregation.SEQ_MEAN_TOKEN_SUM_NORM: lambda rows: 2,
    rl.Aggregation.PROMPT_MEAN: lambda rows: 2,
}


@pytest.mark.parametrize("mode", COUNTED)
def test_a_denominator_of_the_whole_batch_gives_its_loss_when_trajectories_stay_whole(mode):
    rows = random_rows(5)
    total = COUNTED[mode](rows)

    def loss(part, denominator=None):
        ids = rows.trajectories[part]
        return float(rl.aggregate(rows.values[part], rows.mask[part], mode, denominator=denominator, trajectory_ids=ids, group_ids=ids))

    assert loss([0, 1], total) + loss([2, 3, 4], total) + loss([5], total) == pytest.approx(loss([0, 1, 2, 3, 4, 5]))
    assert loss([0, 1]) + loss([2, 3, 4]) != pytest.approx(loss([0, 1, 2, 3, 4, 5]))


@pytest.mark.parametrize("normaliser", [None, 1536.0])
def test_eight_sequences_of_growing_length_have_one_gradient_however_they_are_accumulated(normaliser):
    lengths = torch.arange(1, 9)
    mask = torch.arange(8) < lengths.unsqueeze(1)

    def gradient(size):
        logp = torch.zeros(8, 8, dtype=torch.float64, requires_grad=True)
        for start in range(0, 8, size):
            part = slice(start, start + size)
            losses = rl.cispo_loss(logp[part], torch.zeros_like(mask[part], dtype=torch.float64), lengths[part] / 3, mask[part], weight_high=2.0)
            if normaliser is None:
                rl.aggregate(losses.token_loss, mask[part], denominator=int(lengths.sum())).backward()
            else:
                rl.dr_grpo_loss(losses.token_loss, mask[part], normaliser=normaliser, num_sequences=8).backward()
        return logp.grad

    assert torch.allclose(gradient(8), gradient(2), atol=1e-15)
    assert torch.allclose(gradient(8), gradient(4), atol=1e-15)
    if normaliser is not None:
        assert float(gradient(8)[2, 0]) == pytest.approx(-1 / 1536 / 8)


@pytest.mark.parametrize("rows", [6, 0])
@pytest.mark.parametrize("name", TOKEN_LOSSES)
def test_a_batch_without_live_tokens_has_a_zero_loss_that_is_connected(name, rows):
    batch = random_rows(6).of(lambda one: one[:rows])
    batch = with_noise(batch.learning(mask=torch.zeros_like(batch.mask)), torch.nan)
    loss, gradient = _loss_and_gradient(name, batch)
    assert float(loss) == 0
    assert torch.equal(gradient, torch.zeros_like(batch.logp).nan_to_num())


@pytest.mark.parametrize("mode", rl.Aggregation)
def test_no_aggregation_divides_by_an_empty_count(mode):
    losses = torch.full((3, 4), torch.nan, requires_grad=True)
    loss = rl.aggregate(losses, torch.zeros(3, 4), mode, group_ids=["a", "a", "b"])
    loss.backward()
    assert float(loss.detach()) == 0
    assert not losses.grad.any()


def test_gspo_without_live_tokens_is_zero_and_connected():
    logp = torch.full((2, 3), torch.nan, requires_grad=True)
    for loss in (rl.gspo_loss, rl.gspo_token_loss):
        found = loss(logp, logp, torch.ones(2), torch.zeros(2, 3)).loss
        assert float(found.detach()) == 0
        assert not torch.autograd.grad(found, logp)[0].any()
