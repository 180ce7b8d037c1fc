"""A mask says the same in every type. Sums of halves do not: 257 ones make 256 in bfloat16."""

import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers.algorithms import aggregate, masked_mean, row_weights, sequence_log_ratio, sequence_ratio, value_loss  # noqa: E402

torch.set_num_threads(1)
TYPES = [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float16, torch.bfloat16]
ONES = torch.ones(1, 4099)


@pytest.mark.parametrize("dtype", TYPES)
def test_counts_of_live_tokens_are_exact(dtype):
    mask = ONES.to(dtype)
    assert float(masked_mean(ONES, mask)) == 1 and masked_mean(ONES, mask, dim=1).tolist() == [1]
    for ids in (None, ["A"]):
        assert sequence_log_ratio(-ONES, -2 * ONES, mask, mean=True, trajectory_ids=ids).tolist() == [1]
    assert torch.equal(sequence_ratio(-ONES, -2 * ONES, mask, geometric=True), sequence_ratio(-ONES, -2 * ONES, ONES, geometric=True))
    assert float(aggregate(ONES, mask)) == pytest.approx(1, abs=1e-6)


def test_a_clip_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="clip"):
        value_loss(ONES, ONES, ONES, old_values=ONES, clip=float("nan"))


def test_weights_of_rows_are_made_of_counts_and_not_of_a_mask():
    with pytest.raises(ValueError, match=r"\[rows\]"):
        row_weights(torch.ones(2, 3))
