"""A recorded episode taken again: the world is rebuilt from its actions, and each step is held against the record.

What the world answers is found out anew. What came from outside of it stands in the record and is taken from there: the user's words, the
answers of the harness's own tools, and what could not be read.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from cowork_gym.core.canonical import decode
from cowork_gym.core.episode import Ending, Episode, Turn
from cowork_gym.core.errors import ErrorKind, Fault, FaultRecord, ToolError, UserError
from cowork_gym.core.messages import InvalidAction, Message, ToolCall
from cowork_gym.core.task import Task
from cowork_gym.core.trajectory import ROOT, Lineage
from cowork_gym.core.wording import counted
from cowork_gym.envs.conversation import User, ruled
from cowork_gym.envs.dialogue import Reply
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.progress import Checkpoint, Progress
from cowork_gym.graders.judge import Judge
from cowork_gym.harness.mismatch import Difference, Mismatch, compare, first_row

__all__ = ["Replay", "check_boundary", "replay"]


class _Cut(BaseException):
    """The episode was interrupted here."""


def replay(
    episode: Episode, *, task: str | Path | Task | None = None, until: int | None = None, start: Checkpoint | None = None, user: User = ruled,
    judge: Judge | None = None,
) -> CoworkEnv:
    """Rebuild the moment at which an episode had taken some turns.

    Args:
        episode: The record.
        task: The task that was played; None finds it by the name in the record.
        until: How many turns to take; None for all, and the end of the episode.
        start: A snapshot of this episode to begin from, so that fewer turns are to be taken.
        user: Who answers once the record is at its end.
        judge: Who judges, if the episode is played on and graded.

    Returns:
        The environment at that moment. `finish` gives the sealed and graded record.

    Raises:
        Mismatch: The replay came to something else than the record.
        UserError: The task is another release, there is no such turn, it is inside of a child run, or the snapshot is not of this episode.
        PackageError: The task cannot be used.
    """
    again = Replay(episode, task=task, start=start, user=user, judge=judge)
    try:
        for _ in again.steps(until):
            pass
    except BaseException:
        again.env.close()
        raise
    return again.env


class Replay:
    """An episode that is being taken again. Arguments are those of `replay`."""

    def __init__(
        self, episode: Episode, *, task: str | Path | Task | None = None, start: Checkpoint | None = None, user: User = ruled,
        judge: Judge | None = None,
    ) -> None:
        self.episode = episode
        self.env = CoworkEnv(episode.task if task is None else task, reward=episode.grade.spec if episode.grade else None, user=user, judge=judge)
        self._own = [turn for turn in episode.turns if turn.run == ROOT]
        self._hashes = ["", *(link.hash for link in reversed([*episode.ledger.links()]))]
        self._answers = {one.id: one for one in episode.dispatches if one.inner}
        self._taken = 0
        self._found: tuple[int | None, Difference] | None = None
        try:
            self._begin(start)
        except BaseException:
            self.env.close()
            raise

    def _begin(self, start: Checkpoint | None) -> None:
        env, episode = self.env, self.episode
        if env.task.release_id != episode.release_id:
            raise UserError(f"the episode is of {episode.release_id}, the task is {env.task.release_id}")
        env.reset(seed=episode.seed)
        if env.blueprint.origin != episode.start:
            raise Mismatch(None, "start", f"the first state of {env.task.id} for seed {env.seed} is another one than recorded")
        if start is not None:
            self._taken = len(start.progress.turns)
            if start.progress.turns != episode.turns[: self._taken] or start.world.seed != episode.seed:
                raise UserError("the snapshot is not of this episode")
            env.restore(start)
        env.agent = episode.agent
        env.session.resume(env.progress, float("-inf"))  # however long it takes: wall time is not what is replayed

    def steps(self, until: int | None = None) -> Iterator[Turn]:
        """Take the turns that are left, and give each of the root run's; a child's are taken within the turn that asked for it.

        Raises:
            Mismatch: A turn, or the end, came out otherwise than recorded. The environment is closed then.
            UserError: There is no such turn, or it is inside of a child run, or was taken already.
        """
        end = len(self.episode.turns) if until is None else check_boundary(self.episode, until)
        if end < self._taken:
            raise UserError(f"{counted(self._taken, 'turn')} are taken already, more than {end}")
        for turn in self.episode.turns[self._taken : end]:
            if turn.run == ROOT:
                self._step(turn)
                self._complain()
                yield turn
        self.env.session.resume(self.env.progress, 0.0)
        if until is None:
            self._end()
            self._complain()

    @contextmanager
    def _from_record(self) -> Iterator[None]:
        """A context in which what came from outside of the world comes from the record."""
        session, runs = self.env.session, self.episode.runs
        user, session.user = session.user, _Recalled(self.episode, self._own)
        permitted = self.env.blueprint.tools.keys()
        names = {one.tool for one in self._answers.values()} | {name for run in runs for name in run.tools if name not in permitted}
        session.states, session.inner = any(turn.state for turn in self.episode.turns), dict.fromkeys(names, self._answer)
        session.offered = {run.id: frozenset(run.tools) for run in runs}
        try:
            yield
        finally:
            session.user, session.inner, session.offered = user, {}, {}

    def _step(self, turn: Turn) -> None:
        """Take a turn of the root run, and with it those of the children that it asked for."""
        session, origin = self.env.session, self.episode.origin
        if origin is not None and turn.index == origin.turn:
            session.resume(session.progress, float("-inf"))  # children are numbered anew from where an episode was branched
        if self.episode.ending is Ending.SECONDS and turn is self._own[-1] and session.task.budgets.seconds is not None:
            session.resume(session.progress, float("inf"))
        self._taken = turn.index + 1
        with self._from_record(), suppress(_Cut):
            self._take(turn)

    def _take(self, turn: Turn) -> None:
        session, calls = self.env.session, turn.action.tool_calls if turn.action else ()
        session.spend(turn.tokens)
        done = len(turn.dispatches)
        if done < len(calls) and self.episode.fault is None and calls[done].name not in session.inner:
            self._take_cut(turn, calls[:done])
        else:
            try:
                session.take(turn.action or InvalidAction(turn.invalid or "", turn.raw or ""), turn.run)
            except _Cut:
                self._check(turn)
                raise
        self._check(turn)

    def _take_cut(self, turn: Turn, calls: tuple[ToolCall, ...]) -> None:
        """Take a turn that was interrupted in a call of the world's, which then left nothing behind."""
        session = self.env.session
        if calls:
            session.take(Message("assistant", None, calls), turn.run)
            session.progress = _with_last(session.progress, replace(session.progress.turns[-1], action=turn.action, observation=()))
        else:
            state = session.world.fingerprint() if session.states else ""
            session.progress = session.progress.after(replace(turn, state=state), session.task.budgets, session.seconds)

    def _answer(self, run: int, call: ToolCall, dispatch: str) -> str:
        """What a tool of the harness had answered, after the turns of the child that it had started."""
        for turn in self._children(run, dispatch):
            self._take(turn)
        one = self._answers.get(dispatch)
        if one is None:
            raise Fault(**_parts(self.episode.fault)) if self.episode.fault else _Cut
        if one.status >= 400:
            told = decode(one.result)
            raise ToolError(told["error"], ErrorKind(told["type"]))
        return one.result

    def _children(self, run: int, dispatch: str) -> list[Turn]:
        """The turns of the child that a call started."""
        first = self.episode.origin.turn if self.episode.origin else 0
        turns = self.episode.turns[len(self.env.progress.turns) :]
        child = next((one.id for one in self.episode.runs if one.call == dispatch and one.parent == run), None)
        if child is None and turns and turns[0].index < first:  # runs that a branch took over are known by their turns alone
            waiting = {turn.run for turn in turns[: next(at for at, one in enumerate(turns) if one.run == run)]}
            child = min(waiting, default=None)
            return [turn for turn in turns if turn.run == child and turn.index < first]
        return [turn for turn in turns if turn.run == child and turn.index >= first]

    def _check(self, turn: Turn) -> None:
        """Hold the last turn against the record, unless a difference is known already."""
        if self._found is not None:
            return
        session = self.env.session
        got, length = session.progress.turns[-1], len(session.world.ledger)
        difference = compare(turn, got)
        if difference is None and (length >= len(self._hashes) or session.world.ledger.hash != self._hashes[length]):
            difference = Difference("ledger", "the ledger has another entry than recorded")
        if difference is None:
            session.progress = _with_last(session.progress, replace(turn, state=turn.state or got.state))
        else:
            self._found = turn.index, difference

    def _end(self) -> None:
        """Hold the end against the record."""
        session, episode = self.env.session, self.episode
        if episode.fault is not None and session.progress.fault is None:
            session.fail(episode.fault)
        elif session.progress.ending is None and episode.ending is not Ending.FINAL:
            session.stop(episode.ending)
        progress, world = session.progress, session.world
        if progress.ending is not episode.ending or len(progress.stages) != len(episode.stages):
            self._found = None, Difference("end", f"the episode ends by {progress.ending or 'nothing'}, not by {episode.ending} as recorded")
        elif progress.fault != episode.fault or progress.answer != episode.answer or len(progress.turns) != len(episode.turns):
            self._found = None, Difference("end", "the episode ends with another fault, answer or number of turns than recorded")
        elif len(world.ledger) != len(episode.ledger):
            self._found = None, Difference("ledger", f"the ledger ends with {len(world.ledger)} entries, not with {len(episode.ledger)} as recorded")
        elif episode.end and world.fingerprint() != episode.end:
            self._found = None, Difference("end", "the last state is another one than recorded")
        elif any(first_row(old.changes, new.changes) for old, new in zip(episode.stages, progress.stages, strict=True)):
            self._found = None, Difference("end", "a part of the task was closed in another state than recorded")
        session.lineage = Lineage(episode.policy, episode.composition, episode.runs, episode.origin)

    def _complain(self) -> None:
        """Tell of the difference that was found, with the first row that differs once the other turns are taken too.

        Raises:
            Mismatch: There is one.
        """
        if self._found is None:
            return
        (turn, difference), row = self._found, None
        with suppress(Exception):  # what follows a difference may be impossible
            for one in self.episode.turns[self._taken :]:
                if one.run == ROOT:
                    self._step(one)
            row = first_row(self.episode.changes, self.env.world.diff())
        self.env.close()
        text = difference.text if turn is None else f"turn {turn} came out otherwise than recorded: {difference.text}"
        raise Mismatch(turn, difference.what, text, row)


class _Recalled:
    """A user who says again what was said."""

    name = "record"

    def __init__(self, episode: Episode, own: Sequence[Turn]) -> None:
        self._own, self._fault = own, episode.fault
        self._closing = {stage.turns - 1 for stage in episode.stages}

    def reply(self, turns: Sequence[Turn], message: Message) -> Reply | None:
        """The recorded reply; None where a part of the task was closed, or the episode ended."""
        turn = self._own[len(turns)]
        if turn.observation and turn.index not in self._closing:
            return Reply(turn.observation[0].content or "", turn.heard)
        if self._fault is not None and turn is self._own[-1] and turn.index not in self._closing:
            raise Fault(**_parts(self._fault))
        return None


def check_boundary(episode: Episode, turn: int) -> int:
    """A number of turns after which the root run goes on.

    Raises:
        UserError: The episode has not as many turns, or a child run was under way then.
    """
    count = len(episode.turns)
    if not 0 <= turn <= count:
        raise UserError(f"the episode has {counted(count, 'turn')}: choose a number from 0 to {count}, not {turn}")
    if turn and episode.turns[turn - 1].run != ROOT:
        raise UserError(f"after {counted(turn, 'turn')}, run {episode.turns[turn - 1].run} was under way, which the root run had started")
    return turn


def _with_last(progress: Progress, turn: Turn) -> Progress:
    return replace(progress, turns=(*progress.turns[:-1], turn))


def _parts(fault: FaultRecord) -> dict[str, Any]:
    return {"blame": fault.blame, "where": fault.where, "message": fault.message}
