"""What holds for advantages of any rewards: order, shifts, scale, other groups and trajectories that do not count."""

import math

import pytest

torch = pytest.importorskip("torch")

from hypothesis import assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from cowork_gym.trainers.algorithms.advantages import (  # noqa: E402
    Denominator,
    Normaliser,
    RowClass,
    Strata,
    dr_grpo_advantages,
    efficiency_advantages,
    gdpo_advantages,
    gigpo_advantages,
    grpo_advantages,
    rloo_advantages,
)

torch.set_num_threads(1)
FEW = settings(max_examples=25, deadline=None)
LEVELS = [0.0, 0.1, 0.2, 0.3, 0.5, 0.9, 1.0]
BATCHES = st.lists(st.tuples(st.sampled_from(LEVELS), st.sampled_from("abc")), min_size=1, max_size=14)
PLAIN = Normaliser(Denominator.STD_PLUS_EPS, eps=0.0)
ADDED = Normaliser(Denominator.STD_PLUS_FLOOR, ddof=0)


def _gdpo(rewards, groups, **other):
    return gdpo_advantages([[one, 1 - one * one] for one in rewards], groups, weights=[1.0, 0.5], **other)


def _gigpo(rewards, groups, **other):
    return gigpo_advantages(rewards, range(len(rewards)), groups, ["s"] * len(rewards), **other)


def _efficiency(rewards, groups, **other):
    return efficiency_advantages([round(one) for one in rewards], [1 + 10 * one for one in rewards], groups, **other)


ESTIMATORS = {
    "grpo": grpo_advantages,
    "grpo_plain": lambda rewards, groups, **other: grpo_advantages(rewards, groups, normaliser=PLAIN, **other),
    "grpo_added": lambda rewards, groups, **other: grpo_advantages(rewards, groups, normaliser=ADDED, **other),
    "dr_grpo": dr_grpo_advantages,
    "rloo": rloo_advantages,
    "gigpo": _gigpo,
    "gdpo": _gdpo,
    "efficiency": _efficiency,
}
OF_GROUPS = {name: one for name, one in ESTIMATORS.items() if name != "gdpo"}
OF_REWARDS = {name: one for name, one in ESTIMATORS.items() if name not in ("gdpo", "efficiency")}


def _near(found, expected, by=1e-9):
    assert torch.allclose(found, torch.as_tensor(expected, dtype=torch.float64), rtol=0, atol=by)


@pytest.mark.parametrize("name", ESTIMATORS)
@FEW
@given(batch=BATCHES, seed=st.integers(0, 99))
def test_the_order_of_trajectories_does_not_matter(name, batch, seed):
    order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(seed)).tolist()
    found = ESTIMATORS[name]([r for r, _ in batch], [g for _, g in batch]).advantages
    _near(ESTIMATORS[name]([batch[i][0] for i in order], [batch[i][1] for i in order]).advantages, found[order])


@pytest.mark.parametrize("name", OF_REWARDS)
@FEW
@given(batch=BATCHES, shift=st.sampled_from([-3.0, 0.7, 100.0]))
def test_a_constant_added_to_all_rewards_changes_nothing(name, batch, shift):
    groups = [g for _, g in batch]
    _near(OF_REWARDS[name]([r + shift for r, _ in batch], groups).advantages, OF_REWARDS[name]([r for r, _ in batch], groups).advantages)


@pytest.mark.parametrize("name", OF_GROUPS)
@FEW
@given(batch=BATCHES, other=BATCHES)
def test_a_group_does_not_know_of_the_others(name, batch, other):
    alone = OF_GROUPS[name]([r for r, _ in batch], [g for _, g in batch]).advantages
    both = OF_GROUPS[name]([r for r, _ in batch + other], [g for _, g in batch] + [("other", g) for _, g in other]).advantages
    _near(both[: len(batch)], alone)


@pytest.mark.parametrize("name", ESTIMATORS)
@FEW
@given(batch=BATCHES, bad=st.lists(st.tuples(st.integers(0, 14), st.sampled_from("abcd")), max_size=5))
def test_trajectories_that_do_not_count_change_nothing(name, batch, bad):
    rewards, groups, classes = [r for r, _ in batch], [g for _, g in batch], [RowClass.VALID] * len(batch)
    expected = ESTIMATORS[name](rewards, groups)
    kept = list(range(len(batch)))
    for place, group in bad:
        where = min(place, len(rewards))
        rewards.insert(where, 1e6), groups.insert(where, group), classes.insert(where, RowClass.INVALID), kept.insert(where, None)
    found = ESTIMATORS[name](rewards, groups, classes=classes)
    places = sorted((own, place) for place, own in enumerate(kept) if own is not None)
    _near(found.advantages[[place for _, place in places]], expected.advantages)
    assert all(found.advantages[place] == 0 for place, own in enumerate(kept) if own is None)
    assert int(found.counted.sum()) == len(batch)


@FEW
@given(batch=BATCHES, factor=st.sampled_from([0.01, 0.5, 3.0, 1000.0]))
def test_what_scale_does(batch, factor):
    rewards, groups = [r for r, _ in batch], [g for _, g in batch]
    larger = [factor * r for r in rewards]
    _near(grpo_advantages(larger, groups, normaliser=PLAIN).advantages, grpo_advantages(rewards, groups, normaliser=PLAIN).advantages)
    _near(dr_grpo_advantages(larger, groups).advantages, factor * dr_grpo_advantages(rewards, groups).advantages)
    _near(rloo_advantages(larger, groups).advantages, factor * rloo_advantages(rewards, groups).advantages)
    found = grpo_advantages(larger, groups)
    assert float(found.advantages.abs().max()) <= float(grpo_advantages(larger, groups, normaliser=PLAIN).advantages.abs().max()) + 1e-9
    assert bool((found.denominator >= 0.05).all())


@pytest.mark.parametrize("name", ["grpo", "grpo_plain", "grpo_added", "dr_grpo", "rloo", "efficiency"])
@FEW
@given(batch=BATCHES)
def test_every_group_sums_to_zero(name, batch):
    groups = [g for _, g in batch]
    found = ESTIMATORS[name]([r for r, _ in batch], groups).advantages
    for group in set(groups):
        assert abs(float(found[[i for i, g in enumerate(groups) if g == group]].sum())) < 1e-9


@FEW
@given(batch=BATCHES, parts=st.lists(st.integers(1, 4), min_size=14, max_size=14))
def test_gigpo_episodes_do_not_depend_on_the_number_of_steps(batch, parts):
    rewards, ids, groups, anchors, first = [], [], [], [], []
    for number, ((reward, group), steps) in enumerate(zip(batch, parts, strict=False)):
        first.append(len(rewards))
        rewards += [0.0] * (steps - 1) + [reward]
        ids, groups, anchors = ids + [number] * steps, groups + [group] * steps, anchors + [None] * steps
    found = gigpo_advantages(rewards, ids, groups, anchors, missing_anchor="leave_out")
    _near(found.episode[first], dr_grpo_advantages([r for r, _ in batch], [g for _, g in batch]).advantages)
    assert found.missing_anchors == len(rewards) and found.cluster_sizes == {} and not found.step.any()


@FEW
@given(batch=BATCHES)
def test_gdpo_with_one_component_is_grpo_whitened(batch):
    rewards, groups = [r for r, _ in batch], [g for _, g in batch]
    inner = grpo_advantages(rewards, groups, normaliser=Normaliser(Denominator.STD_PLUS_EPS, eps=1e-4)).advantages
    assume(len(batch) > 1 and float(inner.max() - inner.min()) > 1e-6)
    _near(gdpo_advantages([[r] for r in rewards], groups).advantages, (inner - inner.mean()) / (inner.std() + 1e-4))


@FEW
@given(batch=BATCHES, tokens=st.lists(st.integers(0, 5), min_size=14, max_size=14))
def test_gdpo_over_tokens_repeats_each_trajectory_as_often_as_it_has_tokens(batch, tokens):
    tokens = torch.tensor(tokens[: len(batch)])
    found = _gdpo([r for r, _ in batch], [g for _, g in batch], statistics="token", tokens=tokens)
    repeated = found.combined.repeat_interleave(tokens)
    assume(len(repeated) > 1 and float(repeated.max() - repeated.min()) > 1e-6)
    _near(found.advantages, (found.combined - repeated.mean()) / (repeated.var() + 1e-8).sqrt())


@FEW
@given(batch=BATCHES)
def test_success_only_is_zero_for_failures_and_equal_for_successes(batch):
    accuracy, steps = [round(r) for r, _ in batch], [1 + 10 * r for r, _ in batch]
    groups = [g for _, g in batch]
    found = efficiency_advantages(accuracy, steps, groups, strata=Strata.SUCCESS_ONLY).advantages
    every = efficiency_advantages(accuracy, steps, groups).advantages
    _near(found, every * torch.tensor(accuracy))


def test_long_batches_stay_exact():
    rewards = [0.1 * (i % 7) for i in range(70_000)]
    found = grpo_advantages(rewards, [i // 7 for i in range(70_000)])
    assert math.isclose(float(found.advantages.sum()), 0, abs_tol=1e-6)
    _near(found.advantages[-7:], found.advantages[:7])
