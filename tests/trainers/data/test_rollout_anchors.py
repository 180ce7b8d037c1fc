"""Anchors: the state before each step, what its run had been shown, and which steps share both."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from played_rollouts import at_random, played

from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import call, final, message
from cowork_gym.core.trajectory import Purpose
from cowork_gym.harness import compose
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.middleware import Normalise, Summary, Window
from cowork_gym.trainers.data import AnchorForm, Rollout, Step, anchor_of, clusters, rollout_of

LIST, KB, GET = call("helpdesk_list_tickets"), call("kb_search", query="key"), call("helpdesk_get_ticket", ticket_id="TCK-5802")
WRITE = call("helpdesk_update_ticket", ticket_id="TCK-5802", status="in_progress")
OTHER = call("helpdesk_update_ticket", ticket_id="TCK-5802", status="pending")
FIRST = call("helpdesk_update_ticket", ticket_id="TCK-5802", priority="low")
END = final("done")


def _steps(rollout: Rollout) -> list[Step]:
    return sorted((step for one in rollout.segments if one.run == 0 for step in one.steps), key=lambda step: step.generation)


def _rollout(*lines, chance: int = 0, **how) -> Rollout:
    return rollout_of(played([*lines, END], chance=chance, **how)[0])


@settings(max_examples=25)
@given(st.integers(0, 100_000))
def test_the_anchor_of_a_turn_is_the_state_that_the_turn_before_it_left(seed: int) -> None:
    episode, _ = at_random(seed)
    for step in _steps(rollout_of(episode)):
        if step.turn is not None:
            assert step.anchor == (episode.turns[step.turn - 1].state if step.turn else episode.start)
    assert len({step.anchor for step in _steps(rollout_of(episode))}) > 1


def test_reads_change_the_information_and_only_writes_change_the_state() -> None:
    steps = _steps(_rollout(LIST, LIST, WRITE, GET))
    assert [one.anchor == steps[0].anchor for one in steps] == [True, True, True, False, False]
    assert len({one.information for one in steps}) == 4 and steps[1].information == steps[2].information


def test_information_is_a_set_and_knows_what_was_asked() -> None:
    one, other = _steps(_rollout(LIST, KB, GET)), _steps(_rollout(KB, LIST, GET))
    assert one[1].information != other[1].information
    assert one[2].information == other[2].information and one[2].anchor == other[2].anchor
    found = [_steps(_rollout(call("kb_search", query=word)))[1].information for word in ("xyzzy", "plugh")]
    assert found[0] != found[1]


def test_what_the_policy_says_and_what_its_calls_are_named_is_no_information() -> None:
    one, other = (message(text, replace(LIST.tool_calls[0], id=id)) for text, id in (("Let me see.", "a"), (None, "b")))
    assert _steps(_rollout(one))[1].information == _steps(_rollout(other))[1].information


def test_a_summary_and_a_window_take_no_information_away() -> None:
    lines = [LIST, KB, GET, LIST, KB, GET, WRITE, LIST]
    plain = {one.turn: one.information for one in _steps(_rollout(*lines))}
    for chain in ([Summary(at=400)], [Window(4, 2)]):
        cut = _rollout(*lines, harness=compose(middleware=chain))
        assert len(cut.segments) > 1
        assert {one.turn: one.information for one in _steps(cut) if one.turn is not None} == plain
    shorter = _rollout(*lines, harness=compose(middleware=[Normalise(20)]))
    assert {one.turn: one.information for one in _steps(shorter)} == plain


def test_a_prompt_of_another_text_is_other_information() -> None:
    texts = ["", "You are careful.", "You are quick."]
    assert len({_steps(_rollout(LIST, harness=compose(prompt=text)))[0].information for text in texts}) == 3


def test_four_rollouts_share_what_they_share() -> None:
    """Two reach a state by different reads in another order, one differs by a field, one says something else."""
    rollouts = [
        _rollout(LIST, KB, WRITE, GET, chance=1), _rollout(KB, LIST, WRITE, GET, chance=2), _rollout(LIST, KB, OTHER, GET, chance=3),
        _rollout(LIST, KB, message("Now.", WRITE), GET, chance=4),
    ]
    for form in AnchorForm:
        found = clusters(rollouts, form)
        last = [keys[3] for keys in found.keys]
        assert last[0] == last[1] == last[3] != last[2]
        assert found.missing == 0 and sum(size * many for size, many in found.sizes.items()) == sum(map(len, found.keys))
    combined, world = clusters(rollouts), clusters(rollouts, AnchorForm.WORLD)
    assert world.sizes[12] == 1 and 12 not in combined.sizes
    assert Counter(key for keys in combined.keys for key in keys).most_common(1)[0][1] == 4


def test_the_sizes_of_clusters_are_logged(caplog) -> None:
    with caplog.at_level("INFO", "cowork_gym.trainers.data.anchors"):
        clusters([_rollout(LIST), _rollout(LIST, chance=1)])
    [line] = caplog.messages
    assert "clusters by size: {2: 2}" in line and "combined" in line


def test_keys_never_cross_groups_and_a_plan_is_no_action() -> None:
    one = _rollout(LIST)
    moved = replace(one, group="other")
    keys = clusters([one, moved]).keys
    assert not {*keys[0]} & {*keys[1]}
    step = one.segments[0].steps[0]
    assert anchor_of(step) != anchor_of(replace(step, purpose=Purpose.PLAN))
    assert clusters([one.dropped("stale")]).keys == ((),)


@pytest.mark.parametrize("form", AnchorForm)
def test_a_missing_anchor_is_counted_and_shared_with_nothing(form) -> None:
    episode, _ = played([LIST, KB, END])
    bare = rollout_of(replace(episode, turns=tuple(replace(turn, state="") for turn in episode.turns)))
    found = clusters([bare, bare], form)
    assert found.keys[0] == (found.keys[0][0], None, None) and found.missing == 4 and found.sizes == {2: 1}


def _child_anchor(*calls) -> tuple[Episode, str]:
    """The anchor of the first turn of the child that a message of several calls asks for."""
    delegate = call("delegate", task="Look.")
    lines = [LIST, WRITE, message("Several.", *(delegate if one is None else one for one in calls)), FIRST, final("looked"), GET, final("again"), END]
    episode, _ = played(lines, harness=compose(tools=[Delegate()]))
    child = len([one for one in calls if one is None])
    first = next(one for one in rollout_of(episode).segments if one.run == child)
    return episode, first.steps[0].anchor


def test_a_child_begins_in_the_state_in_which_it_was_asked_for() -> None:
    episode, anchor = _child_anchor(None, OTHER)
    assert anchor == episode.turns[1].state != episode.turns[-2].state
    episode, anchor = _child_anchor(None, None)
    assert anchor == episode.turns[3].state != episode.turns[1].state and len(episode.runs) == 3


def test_a_child_that_begins_behind_another_call_of_the_same_message_has_no_anchor_at_first() -> None:
    episode, anchor = _child_anchor(OTHER, None)
    assert anchor == ""
    child = next(one for one in rollout_of(episode).segments if one.run == 1)
    assert child.steps[1].anchor == episode.turns[child.steps[0].turn].state
