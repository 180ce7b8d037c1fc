"""Loops and components that break their rules: the harness is to blame, and what is sealed can be read again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import Blame
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import Message, call, final
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.core.trajectory import Provenance, Purpose, RewriteKind, Tokens
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Action, Policy, compose, play
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.loops import Loop
from cowork_gym.harness.middleware import Middleware
from cowork_gym.harness.policies.policy import Draw
from cowork_gym.harness.view import Block, Rewritten, View

TASK = load_task("M1003")
READ, LAST = call("helpdesk_list_tickets"), final("done")


class Lines(Policy):
    """Says its lines, acting and writing."""

    name, writes = "lines", True

    def __init__(self, *lines: Any) -> None:
        self._lines = [*lines]

    def act(self, history: Sequence[Message]) -> Action:
        line = self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]
        if isinstance(line, Exception):
            raise line
        return line

    write = act


@dataclass(frozen=True)
class Own(Loop):
    """Drives a run by a function."""

    drive: Callable[[Any], None] = field(repr=False, compare=False)
    name: ClassVar[str] = "own"

    def manifest(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def lacks(self, policy: Policy, tools: Sequence[str]) -> str | None:
        return None

    def play(self, run: Any) -> None:
        self.drive(run)


@dataclass(frozen=True)
class Odd(Middleware):
    """Rewrites and asks by functions."""

    rewrites: Callable[[Any], Any] = field(default=lambda run: None, repr=False, compare=False)
    asks: Callable[[Any, Any], Any] = field(default=lambda run, ask: ask(), repr=False, compare=False)
    name: ClassVar[str] = "odd"

    def manifest(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def rewrite(self, run: Any) -> Any:
        return self.rewrites(run)

    def ask(self, run: Any, purpose: Purpose, ask: Any) -> Any:
        return self.asks(run, ask)


def _played(policy: Policy, folder: Path, **parts: Any) -> Episode:
    """An episode that was written and read back."""
    episode = play(CoworkEnv(TASK), policy, harness=compose(**parts), seed=0)
    assert contradiction_of_runs(episode) is None
    if not any(one.tokens for run in episode.runs for one in run.generations):
        assert read_episode(write_episode(episode, folder)) == episode
    return episode


def _twice(run: Any) -> None:
    action = run.ask()
    run.step(action)
    run.step(action)


def _another(run: Any) -> None:
    run.ask()
    run.step(READ)


@pytest.mark.parametrize("drive", [
    lambda run: run.end("weird"), lambda run: run.ask("critique"), lambda run: (run.ask(), run.discard(7)), _twice, _another,
    lambda run: run.step(READ), lambda run: (run.ask(), run.discard("no"), run.step(READ)),
])
def test_a_loop_that_breaks_its_rules_is_a_fault_of_the_harness(drive: Callable[[Any], None], tmp_path: Path) -> None:
    episode = _played(Lines(final("x")), tmp_path, loop=Own(drive))
    assert episode.fault is not None and (episode.fault.blame, episode.grade.reward) == (Blame.HARNESS, None)


def test_a_loop_may_ask_again_before_it_takes_an_answer(tmp_path: Path) -> None:
    def drive(run: Any) -> None:
        run.ask()
        run.step(run.ask())

    episode = _played(Lines(READ, LAST), tmp_path, loop=Own(drive))
    assert [(one.kept, one.reason) for one in episode.runs[0].generations] == [(False, "asked again before it was taken"), (True, "")]
    assert (episode.fault, episode.answer) == (None, "done")


def _after_a_turn(rewritten: Callable[[View], Any]) -> Callable[[Any], Any]:
    return lambda run: rewritten(run.view) if run.spent.turns else None


@pytest.mark.parametrize("rewritten", [
    lambda view: Rewritten("compact", View(view.head)), lambda view: Rewritten(RewriteKind.WINDOW, View(())),
    lambda view: Rewritten(RewriteKind.WINDOW, View(view.head, (Block(view.blocks[0].messages[:1]),))),
    lambda view: Rewritten(RewriteKind.WINDOW, View(view.head, (Block(view.blocks[0].messages[1:]),))),
    lambda view: Rewritten(RewriteKind.SUMMARY, View(view.head)), lambda view: Rewritten(RewriteKind.WINDOW, (*view.head,)),
    lambda view: Rewritten(RewriteKind.WINDOW, View(view.head), Provenance("policy", "x", 0)),
    lambda view: Rewritten(RewriteKind.SUMMARY, View(view.head), Provenance("nobody", "x", 0)),
    lambda view: Rewritten(RewriteKind.SUMMARY, View(view.head), Provenance("rule", 7, 0)),
])
def test_a_rewrite_that_nobody_could_read_is_a_fault_of_the_harness(rewritten: Callable[[View], Any], tmp_path: Path) -> None:
    episode = _played(Lines(READ, LAST), tmp_path, middleware=[Odd(rewrites=_after_a_turn(rewritten))])
    assert episode.fault is not None and (episode.fault.blame, len(episode.turns), episode.grade.reward) == (Blame.HARNESS, 1, None)


def test_a_component_that_lets_something_else_be_written_meanwhile_is_a_fault(tmp_path: Path) -> None:
    def asks(run: Any, ask: Any) -> Any:
        action = ask()
        run.write(Purpose.SUMMARY, Message("user", "sum up")) if run.last == 0 else None
        return action

    episode = _played(Lines(READ, LAST), tmp_path, middleware=[Odd(asks=asks)])
    assert episode.fault is not None and (episode.fault.blame, episode.turns) == (Blame.HARNESS, ())


def test_an_answer_before_a_full_context_is_discarded(tmp_path: Path) -> None:
    def asks(run: Any, ask: Any) -> Any:
        action = ask()
        if run.last == 1:
            raise ContextFull("a check behind it")
        return action

    def shorter(run: Any) -> Any:
        return Rewritten(RewriteKind.WINDOW, View(run.view.head)) if run.full else None

    episode = _played(Lines(READ, READ, LAST), tmp_path, middleware=[Odd(rewrites=shorter, asks=asks)])
    assert [one.kept for one in episode.runs[0].generations] == [True, False, True]
    assert (episode.fault, episode.answer) == (None, "done")


@pytest.mark.parametrize("said", [Message("assistant", 5), call(5), Message("assistant", b"x")])
def test_what_no_file_can_hold_is_a_fault_and_not_an_answer(said: Any, tmp_path: Path) -> None:
    episode = _played(Lines(said), tmp_path)
    assert episode.fault is not None and (episode.fault.blame, episode.turns) == (Blame.HARNESS, ())


class Sampled(Lines):
    """Says that it sampled, by the draws it was given."""

    def __init__(self, *draws: Draw) -> None:
        super().__init__(READ, LAST)
        self._draws = [*draws]

    def act(self, history: Sequence[Message]) -> Action:
        self.draw = self._draws.pop(0)
        return super().act(history)


def _draw(logprob: float) -> Draw:
    return Draw("stop", "1", Tokens((1,), (2,), (logprob,), (True,)))


SAME = _draw(-1.0)


@pytest.mark.parametrize(("draws", "told"), [
    ((SAME, SAME), "draw is that of the answer before"), ((_draw(5.0),), "draw.tokens has the log-probability 5.0, above 0"),
])
def test_tokens_that_cannot_be_this_answers_are_a_fault(draws: Sequence[Draw], told: str, tmp_path: Path) -> None:
    episode = _played(Sampled(*draws), tmp_path)
    assert episode.fault is not None and episode.fault.blame is Blame.HARNESS and told in episode.fault.message
