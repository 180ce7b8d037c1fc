"""The loss of fine-tuning: one sum over one divisor, by hand, and what it refuses."""

import math

import pytest

from cowork_gym.trainers.data.sft.collate import NO_LABEL
from cowork_gym.trainers.data.sft.loss import sft_loss

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
LABELS = torch.tensor([[NO_LABEL, 1, NO_LABEL, 0], [NO_LABEL, NO_LABEL, 2, NO_LABEL]])


def logits():
    torch.manual_seed(0)
    return torch.randn(2, 4, 3, dtype=torch.float64).float().requires_grad_()


def test_it_is_the_sum_over_targets_by_their_number_not_the_mean_of_means():
    given = logits()
    each = [-given[row, at - 1].log_softmax(-1)[label] for row, at, label in ((0, 1, 1), (0, 3, 0), (1, 2, 2))]
    torch.testing.assert_close(sft_loss(given, LABELS), sum(each) / 3)
    means = ((each[0] + each[1]) / 2 + each[2]) / 2
    assert not math.isclose(float(sft_loss(given, LABELS).detach()), float(means.detach()), abs_tol=1e-3)


def test_weights_scale_losses_and_not_the_divisor():
    given, weights = logits(), torch.tensor([[9.0, 0.5, 9.0, 0.5], [9.0, 9.0, 2.0, 9.0]])
    by_row = [sft_loss(given[at : at + 1], LABELS[at : at + 1], total=3) for at in (0, 1)]
    torch.testing.assert_close(sft_loss(given, LABELS, weights), 0.5 * by_row[0] + 2.0 * by_row[1])


def test_parts_add_up_to_the_whole_with_their_gradients():
    whole, parts = logits(), logits()
    sft_loss(whole, LABELS).backward()
    for at in (0, 1):
        sft_loss(parts[at : at + 1], LABELS[at : at + 1], total=3).backward()
    torch.testing.assert_close(parts.grad, whole.grad)


def test_what_no_loss_counts_on_may_be_anything():
    given = logits().detach()
    given[0, 1], given[1, 3] = math.nan, math.inf
    given.requires_grad_()
    loss = sft_loss(given, LABELS)
    loss.backward()
    assert math.isfinite(float(loss.detach())) and bool(torch.isfinite(given.grad).all())


def test_a_part_without_targets_gives_a_zero_that_gradients_flow_through():
    given = logits()
    loss = sft_loss(given, torch.full_like(LABELS, NO_LABEL), total=3)
    loss.backward()
    assert float(loss.detach()) == 0 and not given.grad.any()


def test_a_batch_without_targets_is_no_loss_of_zero():
    with pytest.raises(ValueError, match="no target to learn"):
        sft_loss(logits(), torch.full_like(LABELS, NO_LABEL))


@pytest.mark.parametrize(("change", "told"), [
    ({"total": 2}, "said to have 2 targets, 3 of them here"), ({"weights": torch.ones(2, 3)}, r"weights of \(2, 3\) for labels of \(2, 4\)"),
    ({"labels": LABELS[:, :3]}, r"logits of \(2, 4\) for labels of \(2, 3\)"),
])
def test_what_does_not_go_together_is_told(change, told):
    with pytest.raises(ValueError, match=told):
        sft_loss(**{"logits": logits(), "labels": LABELS, **change})
