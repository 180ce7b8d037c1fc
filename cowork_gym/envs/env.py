"""The environment: a Gymnasium face over a world. An action is an assistant message, an observation what came back."""

import operator
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, cast

import gymnasium
from numpy.random import PCG64, Generator

from cowork_gym.core.canonical import encode
from cowork_gym.core.clock import Clock
from cowork_gym.core.episode import Dispatch, Ending, Episode, StageEnd, Turn
from cowork_gym.core.errors import Blame, ErrorKind, Fault, FaultRecord, ToolError, UserError, nearest, told
from cowork_gym.core.messages import Message
from cowork_gym.core.task import Task
from cowork_gym.envs.conversation import User, ruled
from cowork_gym.envs.doors import open_door
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.progress import Checkpoint, Progress
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.envs.spaces import ActionSpace, ObservationSpace
from cowork_gym.envs.turns import Dispatcher, as_text, read_action, recordable
from cowork_gym.envs.variation import instance
from cowork_gym.envs.world import World
from cowork_gym.graders.judge import Judge
from cowork_gym.graders.matchers import show
from cowork_gym.graders.scoring import REWARD_SPECS

__all__ = ["CoworkEnv"]


class CoworkEnv(gymnasium.Env[Observation, Any]):
    """A co-work task as a Gymnasium environment.

    `step` takes an assistant message: a `Message`, a mapping in OpenAI's form, or its JSON text. A message that calls tools is
    answered with their results; one that calls none goes to the task's user, who may answer; closes a part of a task of several
    parts; and is else the final answer, which terminates the episode. Turn, call, token and time budgets truncate it.
    An action that is no message is answered with a typed error and costs a turn.

    Args:
        task: An environment id, a short name, the folder of a task package, or a loaded task.
        render_mode: `ansi` for a text of the last turn, `human` to print each turn.
        door: `direct`, or `asgi` to send every call through the services' HTTP application in this process.
        reward: The reward spec; None for the one that the task names.
        agent: Who plays, for the record; may be set until the episode ends.
        user: Who answers questions, as a function of the task; by default the rules of the task's package.
        judge: Who answers checks that need a judgement.

    Raises:
        UserError: The task, door or reward spec is unknown.
        PackageError: The package cannot be used.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "human"], "render_fps": 4}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self, task: str | Path | Task, *, render_mode: str | None = None, door: str = "direct", reward: str | None = None, agent: str = "agent",
        user: User = ruled, judge: Judge | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise UserError(f"unknown render_mode {render_mode!r}, {nearest(render_mode, self.metadata['render_modes'])}")
        if reward is not None and reward not in REWARD_SPECS:
            raise UserError(f"unknown reward {reward!r}, {nearest(reward, REWARD_SPECS)}")
        self.render_mode, self._door_kind, self._reward, self.agent = render_mode, door, reward, agent
        self._make_user, self._judge = user, judge
        self.task, self.blueprint = (task, blueprint_of(task, REGISTRY.services())) if isinstance(task, Task) else REGISTRY.load(task)
        self._user = user(self.task)
        self.action_space: ActionSpace = ActionSpace([one.tool for one in self.blueprint.tools.values()])
        self.observation_space = ObservationSpace()
        self._begin(World(self.blueprint, self.task.variant))

    def _begin(self, world: World) -> None:
        self.world, self.progress = world, Progress()
        self._caller = open_door(self._door_kind, world)
        self._dispatcher = Dispatcher(self._caller)
        self._started = time.monotonic()

    def _become(self, seed: int) -> None:
        """Take the form that the task has for a seed."""
        form = instance(self.task.base or self.task, seed)
        if form is not self.task:
            self.task, self.blueprint = form, blueprint_of(form, REGISTRY.services())
            self._user = self._make_user(form)

    @cached_property
    def _tools(self) -> list[dict[str, Any]]:
        """What `info` carries; forks share it."""
        return self.action_space.schemas

    @property
    def seed(self) -> int:
        """The seed of the episode."""
        return self.world.seed

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Decides everything that varies. Without one, seeds follow from the last one that was given.
            options: None are known yet.

        Returns:
            The request, and `info` with `tools`, `task`, `release_id` and `seed`.

        Raises:
            UserError: An option is unknown, or the seed out of range.
        """
        if options:
            raise UserError(f"unknown option {next(iter(options))!r} of reset: there is none to choose from")
        given = None if seed is None else _read_seed(seed)
        super().reset(seed=given)
        own = int(self.np_random.integers(2**31)) if given is None else given
        self._close_door()
        self._become(own)
        self._begin(World(self.blueprint, own))
        self._show(self.opening)
        return self.opening, self._info(())

    @property
    def opening(self) -> Observation:
        """What an episode begins with: the request."""
        return Observation((Message("user", self.task.request),))

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an assistant message.

        Returns:
            Tool results (or a typed error), the reward (0.0 until the end), terminated, truncated, and `info` with `tools`,
            `dispatches`, and at the end `grade` (and `fault`, when the episode is quarantined).
        """
        if self.progress.ending is not None:
            over = ToolError("the episode is over; call reset()", ErrorKind.EPISODE_OVER)
            return Observation((_error(over),)), 0.0, self.progress.terminated, self.progress.truncated, self._info(())
        turn = self._take(action)
        if self.progress.ending is not None:
            self._conclude()
        observation = Observation(turn.observation)
        self._show(observation, turn.action)
        grade = self.progress.grade
        return observation, (grade and grade.reward) or 0.0, self.progress.terminated, self.progress.truncated, self._info(turn.dispatches)

    def _take(self, action: Any) -> Turn:
        """Run one action and move the progress on."""
        dispatcher, tokens = self._dispatcher, self.progress.tokens - self.progress.attributed
        index, fault = len(self.progress.turns), None
        dispatcher.begin()
        try:
            message = read_action(action).with_ids(self.progress.calls + 1, dispatcher.taken)
        except ToolError as error:
            turn = Turn(index, None, (_error(error),), invalid=str(error), raw=as_text(action), tokens=tokens)
        else:
            try:
                fault = self._dispatch(message)
            except BaseException:  # an interrupt: what was executed until then belongs to the record
                done = tuple(dispatcher.done)
                self.progress = self.progress.after(Turn(index, recordable(message), (), done, tokens=tokens), self.task.budgets, self._seconds)
                raise
            results = [Message("tool", one.result, (), call.id, call.name) for call, one in zip(message.tool_calls, dispatcher.done, strict=False)]
            turn = Turn(index, recordable(message), tuple(results), tuple(dispatcher.done), tokens=tokens)
        self.progress = self.progress.after(turn, self.task.budgets, self._seconds)
        if fault is not None:
            self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault.record)
        elif turn.action is not None and not turn.action.tool_calls:
            turn = self._converse(turn, turn.action)
        return turn

    def _converse(self, turn: Turn, said: Message) -> Turn:
        """What a message without calls leads to: the user's reply, the next part of the task, or the end."""
        earlier, stages = self.progress.turns[:-1], self.progress.stages
        try:
            reply = self._user.reply(earlier, said) if self._user else None
            if reply is not None:
                turn = replace(turn, observation=(Message("user", reply.text),), heard=tuple(reply.facts))
            elif len(stages) < len(self.task.stages):
                if self.progress.ending is None:
                    turn = replace(turn, observation=(Message("user", self._move_on(said.content)),))
            else:
                self.progress = replace(self.progress, ending=Ending.FINAL, answer=said.content)
        except Fault as fault:
            self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault.record)
        except Exception as error:  # a user of somebody else's making
            self.progress = replace(self.progress, ending=Ending.FAULT, fault=FaultRecord(Blame.ENVIRONMENT, "user", told(error)))
        self.progress = replace(self.progress, turns=(*earlier, turn))
        return turn

    def _move_on(self, answer: str | None) -> str:
        """Close this part of the task and let the world move on to the next.

        Returns:
            The next request.
        """
        done, stage = self.progress, self.task.stages[len(self.progress.stages)]
        end = StageEnd(len(done.turns), len(self.world.ledger), answer, self.world.diff(), self.world.fingerprint())
        self.world.move_on(Clock.on(stage.day).start, stage.changes, foreseen=True)
        self.progress = replace(done, stages=(*done.stages, end))
        return stage.request

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _dispatch(self, message: Message) -> Fault | None:
        """Run a message's calls in order, up to the budget and the first fault."""
        left = self.task.budgets.calls - self.progress.calls
        try:
            for at, call in enumerate(message.tool_calls):
                if at < left:
                    self._dispatcher.run(call, self.world.ledger)
                else:
                    self._dispatcher.refuse(call, ToolError("the budget of tool calls is spent", ErrorKind.EPISODE_OVER))
        except Fault as fault:
            return fault
        return None

    def _conclude(self) -> None:
        """Seal the record, then grade it."""
        try:
            episode = self._sealed()
            graded = episode.with_grade(grade_episode(self.task, self.blueprint, episode, self._reward, self._judge))
        except Exception as error:  # a handler stored what cannot be read or hashed
            fault = FaultRecord(Blame.ENVIRONMENT, "seal", told(error))
            self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault)
            episode = self._sealed(readable=False)
            graded = episode.with_grade(grade_episode(self.task, self.blueprint, episode, self._reward))
        self.progress = replace(self.progress, record=graded)

    def _sealed(self, *, readable: bool = True) -> Episode:
        """The record as it stands; without its last state where that cannot be read."""
        done = self.progress
        changes, end = (self.world.diff(), self.world.fingerprint()) if readable else ((), "")
        return Episode(
            task=self.task.id, release_id=self.task.release_id, seed=self.seed, agent=self.agent, opening=self.opening, turns=done.turns,
            ledger=self.world.ledger, changes=changes, start=self.blueprint.origin, end=end,
            ending=done.ending or Ending.STOPPED, answer=done.answer, fault=done.fault, stages=done.stages,
        )

    def episode(self) -> Episode:
        """The record: sealed and graded once the episode has ended, before that as it stands, without a grade."""
        return self.progress.record or self._sealed()

    def finish(self) -> Episode:
        """End the episode here, as `stopped`, unless it has ended already.

        Returns:
            The sealed and graded record.
        """
        if self.progress.ending is None:
            self.progress = replace(self.progress, ending=Ending.STOPPED)
        if self.progress.record is None:  # so, too, when grading was interrupted
            self._conclude()
        return self.episode()

    def spend(self, tokens: int) -> None:
        """Count tokens that the policy produced; the token budget is looked at after the next step.

        Raises:
            UserError: It is no number of tokens.
        """
        if not isinstance(tokens, int) or tokens < 0:
            raise UserError(f"tokens are counted in whole numbers from 0, not {tokens!r}")
        self.progress = replace(self.progress, tokens=self.progress.tokens + tokens)

    def quarantine(self, fault: FaultRecord) -> None:
        """End the episode by a fault that happened outside of it: its reward is None, never 0."""
        self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault)
        self._conclude()

    def snapshot(self) -> Checkpoint:
        """This moment: world, progress, and what later resets follow from."""
        generator = None if self._np_random is None else self._np_random.bit_generator.state
        return Checkpoint(self.task.release_id, self.world.snapshot(), self.progress, self.agent, self._seconds, generator)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go back (or over) to a moment of this task.

        Raises:
            UserError: It is no checkpoint, or one of another task.
        """
        if not isinstance(checkpoint, Checkpoint):
            raise UserError(f"restore takes what snapshot gave, a Checkpoint, not {type(checkpoint).__name__}")
        if checkpoint.release_id != self.task.release_id:
            raise UserError(f"the checkpoint is of {checkpoint.release_id}, the task is {self.task.release_id}")
        if self.task.variation and checkpoint.world.seed != self.task.variant:  # two forms may have equal records, and not ask for the same
            self._close_door()
            self._become(checkpoint.world.seed)
            self._begin(World(self.blueprint))
        self.world.restore(checkpoint.world)
        self.progress, self.agent, self._started = checkpoint.progress, checkpoint.agent, time.monotonic() - checkpoint.seconds
        self._dispatcher = Dispatcher(self._caller, self.progress.turns)
        if checkpoint.generator is not None:
            bits = PCG64(0)  # a generator without a seed would ask the system for one, which takes longer than the rest
            bits.state = cast(Any, checkpoint.generator)
            self.np_random = Generator(bits)

    def fork(self, n: int = 1) -> list["CoworkEnv"]:
        """`n` environments that go on from here, each its own way."""
        here, forks = self.snapshot(), []
        for _ in range(n):
            one = CoworkEnv(
                self.task, render_mode=self.render_mode, door=self._door_kind, reward=self._reward, user=self._make_user, judge=self._judge,
            )
            one.restore(here)
            one._tools = self._tools
            forks.append(one)
        return forks

    def render(self) -> str | None:
        """The last turn as text in the mode `ansi`; in `human`, turns are printed as they happen."""
        if self.render_mode != "ansi":
            return None
        turn = self.progress.turns[-1] if self.progress.turns else None
        return _text(turn.observation, turn.action) if turn else _text(self.opening, None)

    def close(self) -> None:
        """Free the door and the database; the record can still be read."""
        self._close_door()
        self.world.close()

    def _close_door(self) -> None:
        if self._caller is not self.world:
            self._caller.close()

    def _show(self, observation: Iterable[Message], action: Message | None = None) -> None:
        if self.render_mode == "human":
            text, encoding = _text(observation, action), sys.stdout.encoding or "utf-8"
            print(text.encode(encoding, "backslashreplace").decode(encoding))

    def _info(self, dispatches: tuple[Dispatch, ...]) -> dict[str, Any]:
        info: dict[str, Any] = {
            "tools": self._tools, "task": self.task.id, "release_id": self.task.release_id, "seed": self.seed,
            "dispatches": dispatches, "invalid_actions": self.progress.invalid,
        }
        if self.progress.grade is not None:
            info["grade"] = self.progress.grade
        if fault := self.progress.fault or (self.progress.grade and self.progress.grade.fault):
            info["fault"] = fault
        return info

    def _repr_html_(self) -> str:
        grade_html = self.progress.grade._repr_html_() if self.progress.grade else ""
        return f"<h4>{escape(self.task.id)}: {escape(self.task.title)}</h4>{self.opening._repr_html_()}{self.world.ledger._repr_html_()}{grade_html}"


def _read_seed(seed: Any) -> int:
    """A seed as a plain whole number; those of NumPy are, too."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 2**63:
        raise UserError(f"a seed is a whole number from 0 to 2^63 - 1, not {show(seed)}")
    return number


def _error(error: ToolError) -> Message:
    return Message("user", encode(error.outcome()))


def _text(observation: Iterable[Message], action: Message | None) -> str:
    """A turn for people: what was said and called, then what came back."""
    lines: list[str] = []
    if action is not None:
        lines += [f"> {action.content}"] if action.content else []
        for one in action.tool_calls:
            lines.append(f"> {one.name}({one.arguments if isinstance(one.arguments, str) else encode(one.arguments)})")
    return "\n".join([*lines, str(Observation(observation))])
