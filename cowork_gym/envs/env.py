"""The environment: a Gymnasium face over a world. An action is an assistant message, an observation what came back."""

import operator
import sys
from collections.abc import Iterable
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, cast

import gymnasium
from numpy.random import PCG64, Generator

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Dispatch, Episode
from cowork_gym.core.errors import ErrorKind, FaultRecord, ToolError, UserError, nearest
from cowork_gym.core.messages import Message
from cowork_gym.core.task import Task
from cowork_gym.envs.conversation import User, ruled
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.progress import Checkpoint, Progress
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.envs.session import Grading, Session, refusal
from cowork_gym.envs.spaces import ActionSpace, ObservationSpace
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
        self.render_mode, self._door_kind = render_mode, door
        self._make_user, self.grading = user, Grading(reward, judge)
        loaded, self.blueprint = (task, blueprint_of(task, REGISTRY.services())) if isinstance(task, Task) else REGISTRY.load(task)
        self._user = user(loaded)
        self.action_space: ActionSpace = ActionSpace([one.tool for one in self.blueprint.tools.values()])
        self.observation_space = ObservationSpace()
        self.session = self._begin(loaded, World(self.blueprint, loaded.variant), agent)

    def _begin(self, task: Task, world: World, agent: str) -> Session:
        return Session(task, self.blueprint, world, door=self._door_kind, user=self._user, grading=self.grading, agent=agent)

    def _become(self, seed: int) -> Task:
        """The form that the task has for a seed, and all that hangs on it."""
        form = instance(self.task.base or self.task, seed)
        if form is not self.task:
            self.blueprint, self._user = blueprint_of(form, REGISTRY.services()), self._make_user(form)
        return form

    @property
    def task(self) -> Task:
        """In the form of the episode's seed."""
        return self.session.task

    @property
    def world(self) -> World:
        """The live services."""
        return self.session.world

    @property
    def progress(self) -> Progress:
        """How far the episode has come."""
        return self.session.progress

    @property
    def agent(self) -> str:
        """Who plays, for the record."""
        return self.session.agent

    @agent.setter
    def agent(self, name: str) -> None:
        """Say who plays; until the episode ends."""
        self.session.agent = name

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
        self.session.close()
        form = self._become(own)
        self.session = self._begin(form, World(self.blueprint, own), self.agent)
        self._show(self.opening)
        return self.opening, self._info(())

    @property
    def opening(self) -> Observation:
        """What an episode begins with: the request."""
        return Observation((self.session.opening,))

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an assistant message.

        Returns:
            Tool results (or a typed error), the reward (0.0 until the end), terminated, truncated, and `info` with `tools`,
            `dispatches`, and at the end `grade` (and `fault`, when the episode is quarantined).
        """
        if self.progress.ending is not None:
            over = ToolError("the episode is over; call reset()", ErrorKind.EPISODE_OVER)
            return Observation((refusal(over),)), 0.0, self.progress.terminated, self.progress.truncated, self._info(())
        turn = self.session.take(action)
        if self.progress.ending is not None:
            self.session.conclude()
        observation = Observation(turn.observation)
        self._show(observation, turn.action)
        grade = self.progress.grade
        return observation, (grade and grade.reward) or 0.0, self.progress.terminated, self.progress.truncated, self._info(turn.dispatches)

    def episode(self) -> Episode:
        """The record: sealed and graded once the episode has ended, before that as it stands, without a grade."""
        return self.progress.record or self.session.sealed()

    def finish(self) -> Episode:
        """End the episode here, as `stopped`, unless it has ended already.

        Returns:
            The sealed and graded record.
        """
        self.session.stop()
        return self.session.conclude()  # so, too, when grading was interrupted

    def spend(self, tokens: int) -> None:
        """Count tokens that the policy produced; the token budget is looked at after the next step.

        Raises:
            UserError: It is no number of tokens.
        """
        self.session.spend(tokens)

    def quarantine(self, fault: FaultRecord) -> None:
        """End the episode by a fault that happened outside of it: its reward is None, never 0."""
        self.session.fail(fault)
        self.session.conclude()

    def snapshot(self) -> Checkpoint:
        """This moment: world, progress, and what later resets follow from."""
        generator = None if self._np_random is None else self._np_random.bit_generator.state
        return Checkpoint(self.task.release_id, self.world.snapshot(), self.progress, self.agent, self.session.seconds, generator)

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
            self.session.close()
            form = self._become(checkpoint.world.seed)
            self.session = self._begin(form, World(self.blueprint), self.agent)
        self.world.restore(checkpoint.world)
        self.agent = checkpoint.agent
        self.session.resume(checkpoint.progress, checkpoint.seconds)
        if checkpoint.generator is not None:
            bits = PCG64(0)  # a generator without a seed would ask the system for one, which takes longer than the rest
            bits.state = cast(Any, checkpoint.generator)
            self.np_random = Generator(bits)

    def fork(self, n: int = 1) -> list["CoworkEnv"]:
        """`n` environments that go on from here, each its own way."""
        here, forks = self.snapshot(), []
        for _ in range(n):
            one = CoworkEnv(self.task, render_mode=self.render_mode, door=self._door_kind, user=self._make_user)
            one.session.grading = one.grading = self.grading
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
        self.session.close()
        self.world.close()

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


def _text(observation: Iterable[Message], action: Message | None) -> str:
    """A turn for people: what was said and called, then what came back."""
    lines: list[str] = []
    if action is not None:
        lines += [f"> {action.content}"] if action.content else []
        for one in action.tool_calls:
            lines.append(f"> {one.name}({one.arguments if isinstance(one.arguments, str) else encode(one.arguments)})")
    return "\n".join([*lines, str(Observation(observation))])
