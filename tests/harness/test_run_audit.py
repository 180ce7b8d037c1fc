"""Segments for audit only: whatever makes tokens untrustworthy stands in the record of the segment, in words."""

from collections.abc import Sequence

import pytest

from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import Message, call, final
from cowork_gym.core.trajectory import RewriteKind, Run, Tokens
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import Harness, Policy, compose, play
from cowork_gym.harness.loops import React
from cowork_gym.harness.policies.policy import Draw
from cowork_gym.harness.run import LiveRun
from cowork_gym.harness.view import Block

LIST = call("helpdesk_list_tickets")


class Drawing(Policy):
    """Reads lists, then is done; says of each answer that it was drawn as given."""

    name, tokenizer = "drawing", "invented"

    def __init__(self, *draws: Draw) -> None:
        self._draws, self._answers = draws, 0

    def reset(self, tools: Sequence[object], seed: int) -> None:
        self._answers = 0

    def act(self, history: Sequence[Message]) -> Message:
        self.draw = self._draws[self._answers]
        self._answers += 1
        return final("done") if self._answers == len(self._draws) else LIST


def _draw(at: int, *, fresh: bool, flaw: str = "") -> Draw:
    return Draw("stop", "1", Tokens((10 + at,), (20 + at,), (-0.5,), (True,)), fresh, flaw)


def _run(*draws: Draw, harness: Harness | None = None) -> Run:
    with CoworkEnv("M1003") as env:
        episode = play(env, Drawing(*draws), harness=harness or compose(), seed=0)
    assert episode.fault is None and contradiction_of_runs(episode) is None
    (run,) = episode.runs
    return run


def _kinds(run: Run) -> list[str | None]:
    return [one.rewrite and one.rewrite.kind for one in run.segments]


def test_a_prompt_that_goes_on_is_for_training() -> None:
    (segment,) = _run(_draw(0, fresh=True), _draw(1, fresh=False), _draw(2, fresh=False)).segments
    assert (segment.audit, segment.ids) == ("", (10, 20, 11, 21, 12, 22))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_answer_with_a_flaw_bars_the_segment(at: int) -> None:
    (segment,) = _run(*[_draw(one, fresh=one == 0, flaw="it cannot be extended" if one == at else "") for one in range(3)]).segments
    assert segment.audit == "it cannot be extended"


def test_a_prompt_that_was_rendered_anew_without_need_opens_a_segment_for_audit() -> None:
    run = _run(_draw(0, fresh=True), _draw(1, fresh=True), _draw(2, fresh=False))
    assert _kinds(run) == [None, RewriteKind.TEMPLATE]
    assert [one.audit for one in run.segments] == ["", "the prompt was rendered anew, though what is visible only grew"]
    assert [one.ids for one in run.segments] == [(10, 20), (11, 21, 12, 22)]
    assert run.segments[1].rewrite.by == "recorder"


def test_where_the_template_has_a_flaw_it_is_the_reason() -> None:
    run = _run(*[_draw(at, fresh=True, flaw="it cannot be extended") for at in range(3)])
    assert _kinds(run) == [None, RewriteKind.TEMPLATE, RewriteKind.TEMPLATE]
    assert [one.audit for one in run.segments] == ["it cannot be extended"] * 3


def test_tokens_that_begin_in_the_middle_are_for_audit() -> None:
    (segment,) = _run(_draw(0, fresh=False), _draw(1, fresh=False)).segments
    assert (segment.audit, segment.rewrite) == ("the beginning of the prompt is not known", None)


def test_a_view_that_changed_undeclared_opens_a_segment_for_audit() -> None:
    class Forgetting(React):
        """Drops the first block of the view behind the middleware's back."""

        def play(self, run: LiveRun) -> None:
            run.turn()
            run.turn()
            run.view = type(run.view)(run.view.head, (Block((Message("user", "Go on."),)), *run.view.blocks[1:]))
            while run.turn():
                pass

    run = _run(*[_draw(at, fresh=at in (0, 2)) for at in range(4)], harness=compose(Forgetting()))
    assert _kinds(run) == [None, RewriteKind.UNEXPLAINED]
    assert [one.audit for one in run.segments] == ["", "what is visible changed and nobody declared it"]
    assert [len(one.generations) for one in run.segments] == [2, 2]
