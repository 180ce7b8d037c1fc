"""Which records become data, and the first reason for each that does not."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.errors import UserError
from cowork_gym.trainers.data.sft.attempts import Attempt, Collection
from cowork_gym.trainers.data.sft.catalog import Card
from cowork_gym.trainers.data.sft.choice import Authorisation, choose
from cowork_gym.trainers.data.sft.pools import draw_evenly
from cowork_gym.trainers.data.sft.recipes import PoolPlan, Recipe
from cowork_gym.trainers.data.sft.selection import Rewards, Thresholds

COLLECTIONS = (Collection("a", Path("a"), ()), Collection("b", Path("b"), ()), Collection("again", Path("again"), (), True))
ANY = Recipe(rewards=Rewards(0.0))


def attempt(task="M1_x", trial="t0", collection=0, completion=1.0, reward=None, **more) -> Attempt:
    name = f"{collection}/{task}-{trial}"
    whole = {"seal": name, "release_id": f"{task}@0:h", "seed": 0, "agent": "teacher", "version": "", "turns": 5, "invalid": 0, **more}
    return Attempt(collection, f"{task}-{trial}.jsonl", task=task, completion=completion, reward=completion if reward is None else reward, **whole)


def chosen(attempts, recipe=ANY, category="general", authorisation=None):
    card = Card(category, (), "en", 1, {})
    return choose(attempts, COLLECTIONS, lambda one: card, recipe, authorisation)


def test_quarantined_and_unscored_records_are_left_out():
    found = chosen([attempt(), attempt(trial="t1", fault="environment"), replace(attempt(trial="t2"), reward=None)])
    assert (len(found.attempts), found.counts) == (1, {"no_score": 1, "quarantined": 1})


def test_the_first_copy_counts():
    one, copy, other = attempt(), attempt(collection=1), attempt(collection=1, agent="someone else")
    found = chosen([one, copy, other])
    assert (found.attempts, found.counts) == ((one, other), {"duplicate": 1})
    published = chosen([one, copy, other], replace(ANY, copies="trial"))
    assert (published.attempts, published.counts) == ((one,), {"duplicate": 2})


def test_the_same_record_under_another_name_is_a_copy():
    found = chosen([attempt(), attempt(trial="renamed", seal="0/M1_x-t0")])
    assert found.counts == {"duplicate": 1}


def test_a_replacement_supersedes_all_earlier_records_of_its_tasks():
    old = [attempt(trial=f"t{one}", collection=one % 2) for one in range(4)]
    kept, new = attempt("M2_x"), attempt(trial="t9", collection=2)
    found = chosen([*old, kept, new])
    assert (found.attempts, found.counts) == ((kept, new), {"superseded": 4})


def test_a_replacement_that_failed_supersedes_as_well():
    found = chosen([attempt(), attempt(collection=2, fault="environment")])
    assert (found.attempts, found.counts) == ((), {"quarantined": 1, "superseded": 1})


def test_rewards_are_asked_by_category():
    recipe = replace(ANY, rewards=Rewards(0.5, (("safety", 0.8),)))
    assert chosen([attempt(reward=0.5)], recipe).counts == {}
    assert chosen([attempt(reward=0.49)], recipe).counts == {"below_reward": 1}
    assert chosen([attempt(reward=0.79)], recipe, "safety").counts == {"below_reward": 1}
    assert chosen([attempt(reward=0.8)], recipe, "safety").counts == {}


def test_short_and_clumsy_episodes_are_left_out_where_that_is_asked():
    recipe = replace(ANY, min_turns=3, valid_calls=True)
    found = chosen([attempt(turns=2), attempt(trial="t1", invalid=1), attempt(trial="t2")], recipe)
    assert found.counts == {"invalid_calls": 1, "too_few_turns": 1}


def test_the_best_trial_of_a_task_is_the_first_of_equals():
    ones = [attempt(trial="t0", reward=0.8), attempt(trial="t1", reward=0.9), attempt(trial="t2", reward=0.9), attempt("M2_x", reward=0.1)]
    found = chosen(ones, replace(ANY, best="all"))
    assert (found.attempts, found.counts) == ((ones[1], ones[3]), {"not_best": 2})
    assert chosen(ones, replace(ANY, best="dialogue")).attempts == tuple(ones)
    assert chosen(ones, replace(ANY, best="dialogue"), "dialogue").attempts == (ones[1], ones[3])


def test_labels_are_of_all_attempts_and_admission_of_those_that_qualify():
    labelled = replace(ANY, thresholds=Thresholds(), rewards=Rewards(0.75))
    hard = [attempt("M1_a", f"t{one}", completion=value) for one, value in enumerate([0.0, 0.0, 0.3])]
    middle = [attempt("M2_a", f"t{one}", completion=value) for one, value in enumerate([0.2, 1.0, 0.9])]
    easy = [attempt(task, "t0", completion=1.0) for task in ("M3_a", "M3_b")]
    found = chosen([*hard, *middle, *easy], labelled)
    assert found.labels == {"KEEP": 1, "TRIVIAL": 2, "UNSOLVABLE": 1}
    assert found.attempts == (*middle[1:], easy[0])
    assert found.counts == {"below_reward": 4, "trivial_prefix": 1}


def test_unreadable_completions_leave_the_mean_and_a_task_without_any_has_no_label():
    labelled = replace(ANY, thresholds=Thresholds())
    lost = replace(attempt("M1_a"), completion=None, reward=0.5)
    ones = [lost, attempt("M2_a", "t0", completion=0.5), replace(attempt("M2_a", "t1"), completion=None)]
    found = chosen(ones, labelled)
    assert found.labels == {"KEEP": 1, "none": 1}
    assert found.counts == {"no_label": 1}


def test_branches_are_no_attempts_of_their_own():
    labelled = replace(ANY, thresholds=Thresholds())
    found = chosen([attempt(completion=0.5), attempt(trial="b0", completion=1.0, branched=True)], labelled)
    assert found.labels == {"KEEP": 1}
    assert len(found.attempts) == 2


def test_tasks_that_are_held_back_are_refused_by_default():
    says = Authorisation({"M1_x@0:h": frozenset({"evaluation"}), "M2_x@0:h": frozenset({"training", "evaluation"})}, ("core@0",))
    ones = [attempt(), attempt("M2_x"), attempt("M3_x")]
    found = chosen(ones, authorisation=says)
    assert (found.attempts, found.counts) == ((ones[1],), {"not_authorised": 1, "undeclared_release": 1})
    assert chosen(ones, replace(ANY, use="evaluation"), authorisation=says).attempts == tuple(ones[:2])
    assert chosen(ones).counts == {}


def test_another_release_of_a_task_that_is_held_back_is_held_back_too():
    says = Authorisation({"M1_x@0:other": frozenset({"evaluation"}), "M1_x@0:h": frozenset({"training"})}, ("core@0",))
    assert chosen([attempt()], authorisation=says).counts == {"not_authorised": 1}


@settings(max_examples=50)
@given(st.lists(st.builds(
    attempt, st.sampled_from(["M1_a", "M1_b", "M2_a"]), st.sampled_from(["t0", "t1"]), st.integers(0, 2),
    st.sampled_from([0.0, 0.5, 1.0]), fault=st.sampled_from(["", "grader"]),
)), st.booleans())
def test_every_record_is_chosen_or_counted_once(ones, labelled):
    ones.sort(key=lambda one: one.collection)
    found = chosen(ones, replace(ANY, thresholds=Thresholds() if labelled else None, best="all"))
    assert len(found.attempts) + sum(found.counts.values()) == len(ones)


def test_pools_give_as_many_as_the_smallest():
    pools = [("a",)] * 7 + [("b",)] * 3 + [("c",)] * 5
    drawn = draw_evenly(pools, seed=1)
    assert (drawn.available, drawn.taken) == ({"a": 7, "b": 3, "c": 5}, {"a": 3, "b": 3, "c": 3})
    assert Counter(pools[at] for at in drawn.kept) == {("a",): 3, ("b",): 3, ("c",): 3}
    assert draw_evenly(pools, seed=1) == drawn
    assert len({draw_evenly(pools, seed=seed).kept for seed in range(5)}) > 1


def test_a_pool_that_has_too_few_gives_all():
    assert draw_evenly([("a",)] * 7 + [("b",)] * 3, seed=0, each=5).taken == {"a": 5, "b": 3}
    assert draw_evenly([], seed=0) == ((), {}, {})


def test_an_item_of_several_pools_stands_in_the_rarest():
    drawn = draw_evenly([("a", "b"), ("a",), ("a",), ()], seed=0, each=9)
    assert drawn.available == {"": 1, "a": 2, "b": 1}
    assert drawn.kept == (0, 1, 2, 3)


def test_a_pools_draw_does_not_depend_on_other_pools():
    alone = draw_evenly([("a",)] * 9, seed=4, each=4).kept
    assert draw_evenly([("a",)] * 9 + [("b",)] * 2, seed=4, each=4).kept[:4] == alone


def test_plans_that_draw_nothing_are_refused():
    for plan in ({"by": "colour"}, {"each": 0}):
        with pytest.raises(UserError):
            PoolPlan(**plan)
    with pytest.raises(UserError):
        draw_evenly([("a",)], seed=0, each=0)
