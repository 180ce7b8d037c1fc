"""Which turn lost an episode: every prefix of it is played on by the task's references, to see whether it could still be won from there."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Ending, Episode, Turn
from cowork_gym.core.errors import ToolError, UserError
from cowork_gym.core.grade import PASS, Grade
from cowork_gym.core.html import shorten, table
from cowork_gym.core.record import seal
from cowork_gym.core.task import Task
from cowork_gym.core.wording import counted
from cowork_gym.envs.conversation import User, ruled
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.progress import Checkpoint
from cowork_gym.graders.judge import Judge
from cowork_gym.harness.arguments import demand_played
from cowork_gym.harness.continuation import Known, LeftOut, learn, played_on
from cowork_gym.harness.replay import Replay

__all__ = ["Diagnosis", "Prospect", "debug", "deed"]

_LIMITED = (None, Ending.TURNS, Ending.CALLS)


@dataclass(frozen=True, slots=True)
class Prospect:
    """What could still be earned after so many turns, as far as the references show it."""

    turns: int
    """How many turns were taken."""
    deed: str
    """What the last of them was; empty before the first."""
    reward: float | None
    """The best that a reference reached from here; after the end of the episode, what it earned. None when nothing could be graded."""
    by: str
    """How: the reference, and what was left out of it."""
    failed: tuple[str, ...]
    """The checks that fail even so, by id."""
    budget: bool = False
    """Whether it could not be won from here for want of turns or calls alone."""

    @property
    def winnable(self) -> bool:
        """Whether the best reward passes."""
        return self.reward is not None and self.reward >= PASS


@dataclass(frozen=True)
class Diagnosis:
    """From where an episode could still be won, and which turn lost it."""

    task: str
    seal: str
    """Of the episode."""
    prospects: tuple[Prospect, ...]
    """One for each moment at which the root run went on, the beginning first; the last one is the end."""

    @property
    def won(self) -> bool:
        """Whether the episode passed, or could be won from where it stopped."""
        return self.prospects[-1].winnable

    @property
    def last(self) -> Prospect | None:
        """The last moment from which it could be won; None when there is none."""
        return next((one for one in reversed(self.prospects) if one.winnable), None)

    @property
    def lost(self) -> Prospect | None:
        """The moment from which on it could not be won any more; None when it was won, or never could be."""
        at = None if self.last is None or self.won else self.prospects.index(self.last)
        return None if at is None else self.prospects[at + 1]

    @property
    def monotone(self) -> bool:
        """Whether nothing that seemed lost was won back: no reference reached the goal from an earlier moment, but one did from a later one."""
        return self.last is None or all(one.winnable for one in self.prospects[: self.prospects.index(self.last)])

    @property
    def failing(self) -> tuple[str, ...]:
        """The checks that fail at every moment since it was lost."""
        if self.lost is None:
            return ()
        since = self.prospects[self.prospects.index(self.lost) :]
        return tuple(one for one in self.lost.failed if all(one in later.failed for later in since))

    @property
    def text(self) -> str:
        """What was found, in a few sentences."""
        if self.won:
            return "The episode was won, or can still be won from where it stopped."
        if self.last is None or self.lost is None:
            best = max((one.reward or 0.0 for one in self.prospects), default=0.0)
            return f"No reference wins from any moment, the beginning included; the best reward is {best:.3g}."
        until = f"after turn {self.last.turns}" if self.last.turns else "at the beginning"
        said = [f"The episode could be won {until}, and no longer after turn {self.lost.turns}: {self.lost.deed}."]
        if self.lost.budget:
            said.append("What was lost is the budget alone: with fresh turns and calls it could still be won.")
        elif self.failing:
            said.append(f"From then on these checks fail, whatever a reference does: {', '.join(self.failing)}.")
        else:
            said.append(f"Even the best continuation fails there: {', '.join(self.lost.failed) or 'it earns too little'}.")
        if not self.monotone:
            moments = ", ".join(str(one.turns) for one in self.prospects if one.winnable)
            said.append(f"Not every earlier moment could be won by a reference as it is written; those that could are after turn {moments}.")
        return " ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as plain JSON values."""
        lost, last = self.lost, self.last
        return {
            "task": self.task, "seal": self.seal, "won": self.won, "last_winnable": last and last.turns, "lost_after": lost and lost.turns,
            "deed": lost and lost.deed, "failing": [*self.failing], "budget": bool(lost and lost.budget), "monotone": self.monotone,
            "text": self.text, "prospects": [{**asdict(one), "winnable": one.winnable} for one in self.prospects],
        }

    def _repr_html_(self) -> str:
        rows = [
            (one.turns, "✓" if one.winnable else "✗", "none" if one.reward is None else f"{one.reward:.3g}", one.deed, one.by,
             ", ".join(one.failed))
            for one in self.prospects
        ]
        return table(("turns", "winnable", "best reward", "what was done", "by", "fails"), rows, f"{self.task}: {self.text}")


def debug(
    episode: Episode, task: str | Path | Task | None = None, *, user: User = ruled, judge: Judge | None = None,
) -> Diagnosis:
    """Find the turn after which an episode could no longer be won.

    From each moment at which the root run went on, every reference of the task is tried: whole, and without what was done already. In a task of
    several parts, it goes on with the part that is open. A moment counts as winnable when a grade passes. That no reference wins from a moment
    does not prove that nobody could.

    Args:
        episode: The record.
        task: The task that was played; None finds it by the name in the record.
        user: Who answers questions.
        judge: Who judges by rubrics.

    Raises:
        UserError: An argument is of another type, the episode is quarantined, or the task has no reference, or none of the episode's release.
        Mismatch: The replay came to something else than the record.
    """
    demand_played(episode, task, user, judge)
    if episode.ending is Ending.FAULT or episode.fault is not None:
        raise UserError(f"the episode of {episode.task} is quarantined: a fault ended it, no turn lost it")
    again = Replay(episode, task=task, user=user, judge=judge)
    with again.env as env:
        if not env.task.references:
            raise UserError(f"{env.task.id} has no reference that could be tried")
        moments = [*_moments(again)]
        known = learn(env, moments[0][0])
        found = [_prospect(env, known, *moment) for moment in moments]
    return Diagnosis(episode.task, seal(episode), tuple(found))


def _moments(again: Replay) -> Iterator[tuple[Checkpoint, Turn | None]]:
    """Each moment at which the root run went on, and the turn before it."""
    yield again.env.snapshot(), None
    for turn in again.steps():
        yield again.env.snapshot(), turn


def _prospect(env: CoworkEnv, known: Known, here: Checkpoint, turn: Turn | None) -> Prospect:
    """What could be earned from a moment."""
    done = 0 if turn is None else turn.index + 1
    best = _best(env, known, here)
    prospect = Prospect(done, "" if turn is None else deed(turn), *best)
    if prospect.winnable or here.progress.ending not in _LIMITED:
        return prospect
    fresh = replace(here.progress, own=0, calls=0, ending=None)
    return replace(prospect, budget=Prospect(done, "", *_best(env, known, replace(here, progress=fresh))).winnable)


def _best(env: CoworkEnv, known: Known, here: Checkpoint) -> tuple[float | None, str, tuple[str, ...]]:
    """The best reward from a moment, how it was reached, and which checks fail even so."""
    best: tuple[float | None, str, tuple[str, ...]] = (None, "", ())
    for how, grade in _tried(env, known, here):
        if grade.reward is not None and (best[0] is None or grade.reward > best[0]):
            best = (grade.reward, how, tuple(one.id for one in grade.checks if not one.passed))
        if best[0] == 1.0:
            break
    return best


def _tried(env: CoworkEnv, known: Known, here: Checkpoint) -> Iterator[tuple[str, Grade]]:
    """The grade of each continuation; once the episode has ended, its own."""
    if here.progress.ending is not None:
        env.restore(here)
        yield "", _graded(env)
        return
    for reference in env.task.references:
        for left in LeftOut:
            env.restore(here)
            count = played_on(env, reference, known[reference.name], left)
            if count or left is LeftOut.NOTHING:
                yield f"{reference.name}, without {counted(count, 'line')}" if count else reference.name, _graded(env)


def _graded(env: CoworkEnv) -> Grade:
    grade = env.finish().grade
    assert grade is not None  # what has ended is graded
    return grade


def deed(turn: Turn) -> str:
    """What an agent did in a turn, on one line."""
    if turn.action is None:
        return f"no action: {shorten(turn.invalid or '', 80)}"
    if not turn.action.tool_calls:
        return f"said {shorten(encode(turn.action.content or ''), 100)}"
    return "; ".join(_called(turn, at) for at in range(len(turn.action.tool_calls)))


def _called(turn: Turn, at: int) -> str:
    assert turn.action is not None
    call, status = turn.action.tool_calls[at], turn.dispatches[at].status if at < len(turn.dispatches) else None
    try:
        arguments = ", ".join(f"{name}={shorten(encode(value), 40)}" for name, value in call.decoded().items())
    except ToolError:
        arguments = shorten(str(call.arguments), 40)
    return f"{call.name}({shorten(arguments, 120)})" + ("" if status == 200 else " was cut off" if status is None else f" failed ({status})")
