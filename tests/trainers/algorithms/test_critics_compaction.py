"""Places of segments in their trajectories, and refusals of rows that cannot be one batch."""

import pytest

torch = pytest.importorskip("torch")

from cowork_gym.trainers import algorithms as rl  # noqa: E402

MASK = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]])
IDS = ["b", "a", "b", "b", "a"]
INDEX = torch.tensor([2, 0, 1, 0, 7])
REWARDS = torch.tensor([1.0, 0.5, torch.nan, 1.0, 0.5])


def test_tokens_are_counted_before_in_and_after_each_segment():
    places = rl.segment_places(MASK, IDS, INDEX)
    assert places.trajectories == 2
    assert places.optimised.tolist() == [2, 1, 0, 3, 1]
    assert places.before.tolist() == [3, 0, 3, 0, 1]
    assert places.later.tolist() == [0, 1, 2, 2, 0]
    assert places.length.tolist() == [5, 2, 5, 5, 2]


@pytest.mark.parametrize("reading", rl.Reading)
def test_the_order_of_rows_and_the_kind_of_ids_change_nothing(reading):
    values = torch.rand(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = rl.compaction_advantages(REWARDS, values, MASK, IDS, INDEX, gamma=0.9, reading=reading)
    order = torch.tensor([4, 2, 0, 3, 1])
    numbered = torch.tensor([5, 9, 5, 5, 9])[order]
    other = rl.compaction_advantages(REWARDS[order], values[order], MASK[order], numbered, INDEX[order], gamma=0.9, reading=reading)
    assert torch.allclose(other.advantages, found.advantages[order], atol=1e-12)
    assert torch.allclose(other.factor, found.factor[order])


def test_a_segment_without_live_tokens_emits_nothing_and_its_reward_is_not_read():
    found = rl.compaction_advantages(REWARDS, torch.zeros(5, 3), MASK, IDS, INDEX)
    assert not found.advantages[2].any()
    left = [0, 1, 3, 4]
    without = rl.compaction_advantages(REWARDS[left], torch.zeros(4, 3), MASK[left], [IDS[row] for row in left], INDEX[left])
    assert torch.equal(without.advantages, found.advantages[left])


def test_padding_rows_may_share_id_and_index():
    dead = torch.zeros(2, 3)
    found = rl.compaction_advantages(
        torch.cat([REWARDS, torch.zeros(2)]), torch.zeros(7, 3), torch.cat([MASK, dead]), [*IDS, "pad", "pad"], torch.cat([INDEX, torch.zeros(2)])
    )
    assert torch.equal(found.advantages[:5], rl.compaction_advantages(REWARDS, torch.zeros(5, 3), MASK, IDS, INDEX).advantages)
    assert not found.advantages[5:].any()


def test_an_empty_batch_has_no_advantages():
    nothing = torch.zeros(0, 3)
    for reading in rl.Reading:
        found = rl.compaction_advantages(torch.zeros(0), nothing, nothing, [], torch.zeros(0, dtype=torch.long), reading=reading)
        assert found.advantages.shape == (0, 3)


def test_rows_that_contradict_one_another_are_refused():
    values = torch.zeros(5, 3)
    other = REWARDS.clone()
    other[3] = 0.9
    missing = REWARDS.clone()
    missing[0] = torch.nan
    refusals = {
        "two segments of one index": lambda: rl.segment_places(MASK, IDS, torch.tensor([0, 0, 1, 0, 7])),
        "segment indices do not fit": lambda: rl.segment_places(MASK, IDS, INDEX[:4]),
        "4 ids do not fit 5 rows": lambda: rl.segment_places(MASK, IDS[:4], INDEX),
        "a row has no id": lambda: rl.segment_places(MASK, ["a", "a", "a", None, "a"], INDEX),
        "have different rewards": lambda: rl.compaction_advantages(other, values, MASK, IDS, INDEX),
        "rewards is not finite": lambda: rl.compaction_advantages(missing, values, MASK, IDS, INDEX),
        "is not a valid Reading": lambda: rl.compaction_advantages(REWARDS, values, MASK, IDS, INDEX, reading="other"),
        "lambda lies in": lambda: rl.compaction_advantages(REWARDS, values, MASK, IDS, INDEX, lam=2.0),
    }
    for words, call in refusals.items():
        with pytest.raises(ValueError) as refused:
            call()
        assert words in str(refused.value)
