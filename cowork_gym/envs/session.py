"""A live episode: a world, how far things have come in it, its budgets and its user. `env` is its Gymnasium face; harnesses drive it themselves."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from cowork_gym.core.canonical import encode
from cowork_gym.core.clock import Clock
from cowork_gym.core.episode import Ending, Episode, StageEnd, Turn
from cowork_gym.core.errors import Blame, ErrorKind, Fault, FaultRecord, ToolError, UserError, nearest, told
from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.task import Task
from cowork_gym.core.trajectory import ROOT, Lineage
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.dialogue import Counterpart
from cowork_gym.envs.doors import open_door
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.envs.progress import Progress
from cowork_gym.envs.turns import Dispatcher, as_text, read_action, recordable
from cowork_gym.envs.world import World
from cowork_gym.graders.judge import Judge

__all__ = ["Grading", "InnerTool", "Session", "refusal"]

InnerTool: TypeAlias = Callable[[int, ToolCall, str], str]
"""A tool that the harness answers itself: from the run, its call and the dispatch id to what the agent reads.

It may raise a `ToolError` or a `Fault`.
"""
Grader: TypeAlias = Callable[[Task, Blueprint, Episode, str | None, Judge | None], Grade]


@dataclass(frozen=True, slots=True)
class Grading:
    """How an episode is graded once it is sealed."""

    reward: str | None = None
    """The reward spec; None for the one that the task names."""
    judge: Judge | None = None
    """Who answers the checks that need a judgement."""
    grader: Grader = grade_episode
    """Who grades: in this process, or a worker of its own."""


class Session:
    """One episode while it lives.

    Args:
        task: In the form of the episode's seed.
        blueprint: Of the task's worlds.
        world: Where it happens.
        door: How calls reach the world.
        user: Who answers messages that call no tool.
        grading: How it is graded in the end.
        agent: Who plays, for the record.
    """

    def __init__(
        self, task: Task, blueprint: Blueprint, world: World, *, door: str = "direct", user: Counterpart | None = None,
        grading: Grading | None = None, agent: str = "agent",
    ) -> None:
        self.task, self.blueprint, self.world, self.user, self.agent = task, blueprint, world, user, agent
        self.grading = grading or Grading()
        self.progress, self.lineage = Progress(), Lineage()
        self.inner: Mapping[str, InnerTool] = {}
        """Tools that the harness answers, by name. They may take turns of child runs meanwhile."""
        self.offered: dict[int, frozenset[str]] = {}
        """The tools that a run was offered; one that is not in here may use all of the task's."""
        self.states = False
        """Whether the state after each turn is recorded."""
        self._caller = open_door(door, world)
        self._dispatchers: dict[int, Dispatcher] = {}
        self._ids: Counter[str] = Counter()
        self._state: tuple[int, str] = (0, blueprint.origin)
        self._resumed = 0  # turns until then; a child run of that number has ended
        self._begun = 0  # calls of turns that are not completed: those of the runs that wait for a child
        self._started = time.monotonic()

    @property
    def opening(self) -> Message:
        """The request."""
        return Message("user", self.task.request)

    @property
    def seconds(self) -> float:
        """Wall time since it began."""
        return time.monotonic() - self._started

    def resume(self, progress: Progress, seconds: float) -> None:
        """Take over how far an episode had come. The world is at that moment already."""
        self.progress, self._started, self._dispatchers, self._state = progress, time.monotonic() - seconds, {}, (-1, "")
        self.lineage, self.inner, self.offered = Lineage(), {}, {}  # those of another play
        self._resumed = len(progress.turns)
        self._ids = Counter(one.id for turn in progress.turns for one in turn.dispatches if not one.replayed)

    def take(self, action: object, run: int = ROOT) -> Turn:
        """Run one action and move the progress on. What a child run says without calling a tool goes to nobody here."""
        dispatcher, tokens, fault = self._dispatcher(run), self.progress.tokens - self.progress.attributed, None
        if tokens:
            self.progress = replace(self.progress, attributed=self.progress.tokens)
        dispatcher.begin()
        try:
            message = read_action(action).with_ids(self.progress.calls + 1, dispatcher.taken)
        except ToolError as error:
            turn = Turn(len(self.progress.turns), None, (refusal(error),), invalid=str(error), raw=as_text(action), tokens=tokens, run=run)
        else:
            try:
                fault = self._dispatch(message, dispatcher, run)
            except BaseException:  # an interrupt: what was executed until then belongs to the record
                self._append(Turn(len(self.progress.turns), recordable(message), (), tuple(dispatcher.done), tokens=tokens, run=run))
                raise
            results = [Message("tool", one.result, (), call.id, call.name) for call, one in zip(message.tool_calls, dispatcher.done, strict=False)]
            turn = Turn(len(self.progress.turns), recordable(message), tuple(results), tuple(dispatcher.done), tokens=tokens, run=run)
        fault = self._append(turn) or fault
        if fault is not None:
            self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault.record)
        elif turn.action is not None and not turn.action.tool_calls and run == ROOT:
            self._converse(turn.action)
        return self.progress.turns[-1]

    def _append(self, turn: Turn) -> Fault | None:
        """Add a turn with its number and the state after it.

        Returns:
            The fault, where the state cannot be read.
        """
        try:
            state, fault = self._fingerprint(turn), None
        except Exception as error:  # a handler stored what cannot be read
            state, fault = "", Fault(Blame.ENVIRONMENT, "state", told(error))
        if state or turn.index != len(self.progress.turns):
            turn = _placed(turn, len(self.progress.turns), state)
        self.progress = self.progress.after(turn, self.task.budgets, self.seconds)
        return fault

    def _fingerprint(self, turn: Turn | None = None) -> str:
        """That of the world, computed when something was called since the last time, unless it was `turn` alone, which could change nothing."""
        if not self.states:
            return ""
        (known, state), length = self._state, len(self.world.ledger)
        if known != length:
            read = known >= 0 and turn is not None and self._looked(turn, known) == length - known
            self._state = (length, state if read else self.world.fingerprint())
        return self._state[1]

    def _looked(self, turn: Turn, known: int) -> int:
        """How many of a turn's calls behind the ledger's entry `known` are of tools that the world lets set nothing."""
        new = [one.tool for one in turn.dispatches if one.sequence is not None and one.sequence > known and not one.replayed]
        return sum(tool.effect == "read" and not tool.marks for tool in (self.blueprint.tools[name].tool for name in new))

    def _converse(self, said: Message) -> None:
        """What a message without calls leads to: the user's reply, the next part of the task, or the end."""
        *earlier, turn = self.progress.turns
        try:
            reply = self.user.reply([one for one in earlier if one.run == ROOT], said) if self.user else None
            if reply is not None:
                turn = replace(turn, observation=(Message("user", reply.text),), heard=tuple(reply.facts))
            elif len(self.progress.stages) < len(self.task.stages):
                if self.progress.ending is None:
                    turn = replace(turn, observation=(Message("user", self._move_on(said.content)),), state=self._fingerprint())
            else:
                self.progress = replace(self.progress, ending=Ending.FINAL, answer=said.content)
        except Fault as fault:
            self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault.record)
        except Exception as error:  # a user of somebody else's making
            self.progress = replace(self.progress, ending=Ending.FAULT, fault=FaultRecord(Blame.ENVIRONMENT, "user", told(error)))
        self.progress = replace(self.progress, turns=(*earlier, turn))

    def _move_on(self, answer: str | None) -> str:
        """Close this part of the task and let the world move on to the next.

        Returns:
            The next request.
        """
        done, stage = self.progress, self.task.stages[len(self.progress.stages)]
        end = StageEnd(len(done.turns), len(self.world.ledger), answer, self.world.diff(), self.world.fingerprint())
        self.world.move_on(Clock.on(stage.day).start, stage.changes, foreseen=True)
        self._state = (-1, "")  # a part whose world does not change has no entry
        self.progress = replace(done, stages=(*done.stages, end))
        return stage.request

    def _dispatch(self, message: Message, dispatcher: Dispatcher, run: int) -> Fault | None:
        """Run a message's calls in order, up to the budget and the first fault."""
        offered, begun = self.offered.get(run), self._begun
        try:
            for call in message.tool_calls:
                spent = self.progress.calls + self._begun
                self._begun += 1
                if self.progress.ending is not None:
                    dispatcher.refuse(call, ToolError("the episode is over", ErrorKind.EPISODE_OVER))
                elif spent >= self.task.budgets.calls:
                    dispatcher.refuse(call, ToolError("the budget of tool calls is spent", ErrorKind.EPISODE_OVER))
                elif offered is not None and call.name not in offered:
                    dispatcher.refuse(call, ToolError(f"unknown tool {call.name[:80]!r}, {nearest(call.name, offered)}", ErrorKind.UNKNOWN_TOOL))
                elif call.name in self.inner:
                    dispatcher.answer(call, partial(self.inner[call.name], run), self.world)
                else:
                    dispatcher.run(call, self.world.ledger)
        except Fault as fault:
            return fault
        finally:
            self._begun = begun
        return None

    def _dispatcher(self, run: int) -> Dispatcher:
        if run not in self._dispatchers:
            turns = self.progress.turns if run == ROOT else self.progress.turns[self._resumed :]
            self._dispatchers[run] = Dispatcher(self._caller, [one for one in turns if one.run == run], self._ids)
        return self._dispatchers[run]

    def spend(self, tokens: int) -> None:
        """Count tokens that the policy produced; the token budget is looked at after the next turn.

        Raises:
            UserError: It is no number of tokens.
        """
        if not isinstance(tokens, int) or tokens < 0:
            raise UserError(f"tokens are counted in whole numbers from 0, not {tokens!r}")
        if tokens:
            self.progress = replace(self.progress, tokens=self.progress.tokens + tokens)

    def stop(self, ending: Ending = Ending.STOPPED) -> None:
        """End the episode here, unless it has ended already."""
        if self.progress.ending is None:
            self.progress = replace(self.progress, ending=ending)

    def fail(self, fault: FaultRecord) -> None:
        """End the episode by a fault that happened outside of it: its reward is None, never 0."""
        self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault, record=None)

    def conclude(self) -> Episode:
        """Seal the record, then grade it, once.

        Returns:
            The sealed and graded episode.
        """
        if self.progress.record is None:
            try:
                graded = self._graded(self.sealed())
            except Exception as error:  # a handler stored what cannot be read or hashed
                self.fail(FaultRecord(Blame.ENVIRONMENT, "seal", told(error)))
                graded = self._graded(self.sealed(readable=False))
            self.progress = replace(self.progress, record=graded)
        assert self.progress.record is not None
        return self.progress.record

    def _graded(self, episode: Episode) -> Episode:
        how = self.grading
        return episode.with_grade(how.grader(self.task, self.blueprint, episode, how.reward, how.judge))

    def sealed(self, *, readable: bool = True) -> Episode:
        """The record as it stands; without its last state where that cannot be read."""
        done, known = self.progress, self.lineage
        changes, end = (self.world.diff(), self.world.fingerprint()) if readable else ((), "")
        return Episode(
            task=self.task.id, release_id=self.task.release_id, seed=self.world.seed, agent=self.agent, opening=(self.opening,), turns=done.turns,
            ledger=self.world.ledger, changes=changes, start=self.blueprint.origin, end=end, ending=done.ending or Ending.STOPPED,
            answer=done.answer, fault=done.fault, stages=done.stages, budgets=self.task.budgets, policy=known.policy,
            composition=known.composition, runs=known.runs, origin=known.origin,
        )

    def close(self) -> None:
        """Free the door. The world, if it is still needed, is its owner's to close."""
        if self._caller is not self.world:
            self._caller.close()


def _placed(turn: Turn, index: int, state: str) -> Turn:
    """The turn with its number and state: as `replace` would make it, in a third of the time."""
    return Turn(
        index, turn.action, turn.observation, turn.dispatches, turn.invalid, turn.raw, turn.tokens, turn.heard, turn.run, state,
    )


def refusal(error: ToolError) -> Message:
    """A refusal of a whole action, as the agent reads it."""
    return Message("user", encode(error.outcome()))
