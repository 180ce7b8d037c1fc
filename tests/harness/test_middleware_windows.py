"""Windows and pruning: what is still visible at each turn, and how many segments that makes."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from run_checks import check_episode, visible_prompts
from token_script import TokenScript

from cowork_gym.core.canonical import decode
from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import Message, call, final
from cowork_gym.core.trajectory import RewriteKind
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import compose, play
from cowork_gym.harness.loops import PlanAct
from cowork_gym.harness.middleware import Middleware, Prune, Slide, Window

TASK = load_task("M1003")
LIST = "helpdesk_list_tickets"


def _played(*middleware: Middleware, turns: int = 35, actions: Sequence[Message] | None = None, loop: PlanAct | None = None) -> Episode:
    env = CoworkEnv(replace(TASK, budgets=replace(TASK.budgets, turns=200, calls=200)))
    policy = TokenScript(actions or [*(call(LIST) for _ in range(turns - 1)), final("done")], Random(1))
    episode = play(env, policy, harness=compose(loop, middleware=middleware), seed=0)
    check_episode(episode, policy.log, policy.prompts)
    return episode


def _first_visible(episode: Episode) -> list[int]:
    """For each turn, the number of the first turn that was visible to it; its own where none was."""
    numbers = {one.said: one.turn for one in episode.runs[0].generations}
    found = []
    for segment in episode.runs[0].segments:
        for one, visible in visible_prompts(segment):
            found.append(next((numbers[each] for each in visible if each.role == "assistant"), one.turn))
    return found


@pytest.mark.parametrize(("size", "stride", "turns"), [(30, 10, 75), (4, 2, 35), (6, 2, 35), (3, 1, 12)])
def test_the_fifo_window_begins_where_its_definition_says(size: int, stride: int, turns: int) -> None:
    episode = _played(Window(size, stride), turns=turns)
    assert _first_visible(episode) == [stride * max(0, t // stride - size // stride + 1) for t in range(turns)]
    assert {one.rewrite.kind for one in episode.runs[0].segments[1:]} == {RewriteKind.WINDOW}


def test_the_default_window_is_thirty_turns_in_strides_of_ten() -> None:
    episode = _played(Window(), turns=75)
    assert _first_visible(episode) == [10 * max(0, t // 10 - 2) for t in range(75)]


@pytest.mark.parametrize(("middleware", "samples"), [
    ((), 1), ((Window(),), 2), ((Window(6, 2),), 16), ((Slide(30),), 5), ((Slide(10),), 25), ((Slide(1),), 34),
])
def test_how_many_training_samples_a_play_of_35_turns_makes(middleware: tuple[Middleware, ...], samples: int) -> None:
    (run,) = _played(*middleware).runs
    assert len(run.segments) == samples
    assert sum(sum(one.tokens.mask) for one in run.generations) == sum(len(one.tokens.ids) for one in run.generations)


def test_the_sliding_window_has_the_last_turns() -> None:
    assert _first_visible(_played(Slide(3), turns=12)) == [max(0, t - 3) for t in range(12)]


def test_plans_go_with_their_turns() -> None:
    episode = _played(Slide(2), turns=8, loop=PlanAct(every=3))
    instruction = Message("user", PlanAct().instruction)
    plans = [visible.count(instruction) for segment in episode.runs[0].segments for one, visible in visible_prompts(segment) if one.turn is not None]
    assert plans == [1, 1, 1, 1, 1, 0, 1, 1]  # the first goes before turn 3, that of after turn 2 before turn 5
    assert _first_visible(episode)[-1] == 5


@pytest.mark.parametrize("settings", [(30, 7), (10, 10), (0, 10), (5, 0), (-10, -5)])
def test_a_window_that_cannot_be(settings: tuple[int, int]) -> None:
    with pytest.raises(UserError, match=r"^window: "):
        Window(*settings)


def test_a_slide_and_a_pruning_that_cannot_be() -> None:
    with pytest.raises(UserError, match=r"^slide: size must be at least 1, not 0$"):
        Slide(0)
    with pytest.raises(UserError, match=r"^prune: keep must be at least 1, not 0$"):
        Prune(keep=0)


def _shown(messages: Sequence[Message]) -> list[bool]:
    """For each result whether it is still shown."""
    return ["note" not in decode(one.content or "") for one in messages if one.role == "tool"]


def test_old_results_give_way_to_a_note_in_strides() -> None:
    episode = _played(Prune(keep=2, at=0, stride=3), turns=10)
    (run,) = episode.runs
    prompts = [_shown(visible) for segment in run.segments for _, visible in visible_prompts(segment)]
    assert [one.count(False) for one in prompts] == [0, 0, 0, 0, 0, 3, 3, 3, 6, 6]
    assert all(one == sorted(one) for one in prompts)
    pruned = next(one for one in run.segments[1].generations[0].given if one.role == "tool")
    assert (pruned.tool_call_id, pruned.name) == ("call_1", LIST)
    assert [one.rewrite.kind for one in run.segments[1:]] == [RewriteKind.PRUNE] * 2


def test_short_results_stay() -> None:
    wrong = [call("helpdesk_get_ticket", ticket_id="T-0") for _ in range(6)]
    assert len(_played(Prune(keep=1, at=0, stride=1), actions=[*wrong, final("done")]).runs[0].segments) == 1


def test_nothing_is_pruned_before_the_view_is_large() -> None:
    assert len(_played(Prune(keep=1, at=10**6, stride=1), turns=10).runs[0].segments) == 1


def test_the_first_component_that_wants_to_rewrite_does() -> None:
    (run,) = _played(Slide(2), Window(6, 2), turns=12).runs
    assert {one.rewrite.by for one in run.segments[1:]} == {"slide"}
    (run,) = _played(Window(6, 2), Slide(4), turns=12).runs
    assert {one.rewrite.by for one in run.segments[1:]} == {"slide", "window"}
