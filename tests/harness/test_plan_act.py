"""The loop that plans: when plans are asked for, what becomes of them, and what is discarded."""

from itertools import pairwise
from pathlib import Path

import pytest
from child_runs import ANSWER, TASK, WORK, Lines

from cowork_gym.core.errors import UserError
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import InvalidAction, Message, call, final
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.core.trajectory import Purpose
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import Action, compose, play
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.loops import PlanAct, React


class Planner(Lines):
    """Has plans beside its lines."""

    def __init__(self, *lines: Action, plans: list[Action | Exception]) -> None:
        super().__init__(*lines)
        self.plans, self.asked = plans, list[tuple[Message, ...]]()

    def write(self, history):
        self.asked.append(tuple(history))
        said = self.plans[len(self.asked) - 1]
        if isinstance(said, Exception):
            raise said
        return said


def _played(policy: Planner, loop: PlanAct):
    episode = play(CoworkEnv(TASK), policy, harness=compose(loop), seed=0)
    assert contradiction_of_runs(episode) is None
    return episode


def _purposes(episode) -> str:
    return "".join("p" if one.purpose is Purpose.PLAN else "a" for one in episode.runs[0].generations)


@pytest.mark.parametrize(("every", "order"), [(0, "p" + "a" * 9), (1, "pa" * 9), (3, "paaapaaapaaa"), (4, "paaaapaaaapa"), (9, "p" + "a" * 9)])
def test_a_plan_comes_first_and_after_every_so_many_turns(every: int, order: str, tmp_path: Path) -> None:
    policy = Planner(*WORK, ANSWER, plans=[final(f"Plan {n}.") for n in range(9)])
    episode = _played(policy, PlanAct(every))
    assert (_purposes(episode), episode.grade.reward) == (order, 1.0)
    assert len(episode.turns) == 9  # plans are no turns
    assert read_episode(write_episode(episode, tmp_path)) == episode


def test_a_plan_stays_visible_and_the_segment_goes_on() -> None:
    loop = PlanAct(every=2, instruction="Plan it.")
    policy = Planner(WORK[0], WORK[1], WORK[2], ANSWER, plans=[final("First this."), final("Then that.")])
    (segment,) = _played(policy, loop).runs[0].segments
    asked, start = Message("user", "Plan it."), Message("user", loop.start)
    assert policy.asked[0] == (Message("user", TASK.request), asked)
    assert policy.histories[0] == (*policy.asked[0], final("First this."), start)
    assert policy.histories[2] == (*policy.asked[1], final("Then that."), start)
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(policy.histories))
    assert [one.given[-1] for one in segment.generations if one.purpose is Purpose.PLAN] == [asked, asked]


@pytest.mark.parametrize(("plan", "reason"), [
    (call("kb_search", query="x"), "no plan"), (final(" "), "no plan"), (InvalidAction("cut off", "First I wi"), "cut off"),
])
def test_what_is_no_plan_is_discarded_and_executes_nothing(plan: Action, reason: str) -> None:
    policy = Planner(WORK[0], ANSWER, plans=[plan])
    episode = _played(policy, PlanAct())
    discarded, *kept = episode.runs[0].generations
    assert (discarded.kept, discarded.reason, discarded.turn, all(one.kept for one in kept)) == (False, reason, None, True)
    assert (policy.histories[0], len(episode.ledger)) == ((Message("user", TASK.request),), 1)


def test_where_there_is_no_room_for_a_plan_it_goes_on_without() -> None:
    policy = Planner(WORK[0], ANSWER, plans=[ContextFull("full")])
    assert _purposes(_played(policy, PlanAct())) == "aa"


def test_a_policy_that_cannot_write_is_refused_before_it_plays() -> None:
    policy = Planner(ANSWER, plans=[])
    policy.writes = False
    with pytest.raises(UserError, match="the harness plan-act cannot be used: plan-act needs a policy that can write a plan, which lines cannot"):
        _played(policy, PlanAct())
    assert policy.histories == []


def test_settings_tell_compositions_apart() -> None:
    loops = [React(), PlanAct(), PlanAct(3), PlanAct(instruction="Plan.")]
    assert len({compose(one).composition.sha256 for one in loops}) == 4
