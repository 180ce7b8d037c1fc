"""What a rewrite says of the history before and after it, held against the segments on both of its sides."""

from dataclasses import replace

import pytest
from run_samples import ASK, NEW, OLD, PROMPT, REWRITE, REWRITTEN, RUNS, TURNS, with_generation, with_runs, with_segments

from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.trajectory import Prefix, Purpose, Tokens

BEGAN = "run 0, segment 1: the rewrite began with another history than the segment before it ended with"
LEFT = "run 0, segment 1: the rewrite left another history than generation 3 was given"


@pytest.mark.parametrize("after", [
    Prefix.of((*PROMPT, ASK)), Prefix.of((*REWRITTEN, ASK)), Prefix.of(REWRITTEN[1:]), replace(REWRITE.after, messages=-1),
    replace(REWRITE.after, messages=4),
])
def test_another_history_after_is_told(after):
    assert contradiction_of_runs(with_segments(OLD, replace(NEW, rewrite=replace(REWRITE, after=after)))) == LEFT


def test_a_generation_may_be_given_more_than_the_rewrite_left():
    assert contradiction_of_runs(with_generation(3, given=(*REWRITTEN, ASK))) is None


SEEN = (*PROMPT, TURNS[0].said)


@pytest.mark.parametrize(("before", "told"), [(SEEN, None), ((*SEEN, *TURNS[0].observation), BEGAN), (PROMPT, BEGAN), ((), BEGAN)])
def test_before_a_rewrite_is_what_was_seen_and_said_in_its_segment(before, told):
    """What came back after the last generation was seen by none."""
    generations = tuple(replace(one, index=one.index - 2) for one in NEW.generations)
    later = replace(NEW, generations=generations, rewrite=replace(REWRITE, before=Prefix.of(before), summary=None))
    root = replace(RUNS[0], segments=(replace(OLD, generations=OLD.generations[:1]), later))
    assert contradiction_of_runs(with_runs(root, replace(RUNS[1], fork=1))) == told


def test_a_plan_leads_to_no_turn():
    assert contradiction_of_runs(with_generation(2, purpose=Purpose.PLAN)) is None


def test_unequal_lengths_of_tokens_are_no_value():
    with pytest.raises(ValueError, match="2 sampled ids, 1 log-probabilities and a mask of 2"):
        Tokens((1,), (1, 2), (-0.1,), (True, True))
