"""The environment: a Gymnasium face over a world. An action is an assistant message, an observation what came back."""

import time
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import gymnasium

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Dispatch, Ending, Episode, Turn
from cowork_gym.core.errors import ErrorKind, Fault, FaultRecord, ToolError, UserError, nearest
from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import Message
from cowork_gym.core.task import Task
from cowork_gym.envs.doors import open_door
from cowork_gym.envs.evidence import collect
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.progress import Checkpoint, Progress
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.envs.spaces import ActionSpace, ObservationSpace
from cowork_gym.envs.turns import dispatch_call, read_action, recordable, refusal
from cowork_gym.envs.world import World
from cowork_gym.graders.evidence import Evidence
from cowork_gym.graders.grader import grade, quarantine
from cowork_gym.graders.scoring import REWARD_SPECS

__all__ = ["CoworkEnv"]


class CoworkEnv(gymnasium.Env[Observation, Any]):
    """A co-work task as a Gymnasium environment.

    `step` takes an assistant message: a `Message`, a mapping in OpenAI's form, or its JSON text. A message that calls tools is
    answered with their results; one that calls none is the final answer and terminates the episode. Turn, call, token and time
    budgets truncate it. An action that is no message is answered with a typed error and costs a turn.

    Args:
        task: An environment id, a short name, the folder of a task package, or a loaded task.
        render_mode: `ansi` for a text of the last turn, `human` to print each turn.
        door: `direct`, or `asgi` to send every call through the services' HTTP application in this process.
        reward: The reward spec; None for the one that the task names.

    Raises:
        UserError: The task, door or reward spec is unknown.
        PackageError: The package cannot be used.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "human"], "render_fps": 4}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, task: str | Path | Task, *, render_mode: str | None = None, door: str = "direct", reward: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise UserError(f"unknown render_mode {render_mode!r}, {nearest(render_mode, self.metadata['render_modes'])}")
        if reward is not None and reward not in REWARD_SPECS:
            raise UserError(f"unknown reward {reward!r}, {nearest(reward, REWARD_SPECS)}")
        self.render_mode, self._door_kind, self._reward = render_mode, door, reward
        self.task, self.blueprint = (task, blueprint_of(task, REGISTRY.services())) if isinstance(task, Task) else REGISTRY.load(task)
        self.action_space: ActionSpace = ActionSpace([one.tool for one in self.blueprint.tools.values()])
        self.observation_space = ObservationSpace()
        self.seed = 0
        self._begin(World(self.blueprint))

    def _begin(self, world: World) -> None:
        self.world, self.progress = world, Progress()
        self._caller = open_door(self._door_kind, world)
        self._started = time.monotonic()
        self._evidence: Evidence | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Decides everything that varies. Without one, seeds follow from the last one that was given.
            options: None are known yet.

        Returns:
            The request, and `info` with `tools`, `task`, `release_id` and `seed`.

        Raises:
            UserError: An option is unknown.
        """
        if options:
            raise UserError(f"unknown option {next(iter(options))!r} of reset: there is none to choose from")
        super().reset(seed=seed)
        self.seed = seed if seed is not None else int(self.np_random.integers(2**31))
        self._close_world()
        self._begin(World(self.blueprint, self.seed))
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
            self.progress = replace(self.progress, grade=self._grade())
        observation = Observation(turn.observation)
        self._show(observation, turn.action)
        return observation, self._earned(), self.progress.terminated, self.progress.truncated, self._info(turn.dispatches)

    def _take(self, action: Any) -> Turn:
        """Run one action and move the progress on."""
        index, seconds = len(self.progress.turns), time.monotonic() - self._started
        try:
            message = read_action(action).with_ids(self.progress.calls + 1)
        except ToolError as error:
            turn = Turn(index, None, (_error(error),), invalid=str(error))
            self.progress = self.progress.after(turn, self.task.budgets, seconds)
            return turn
        if not message.tool_calls:
            turn = Turn(index, message, ())
            self.progress = replace(self.progress, turns=(*self.progress.turns, turn), ending=Ending.FINAL, answer=message.content)
            return turn
        dispatches, fault = self._dispatch(message)
        results = tuple(Message("tool", one.result, (), call.id, call.name) for call, one in zip(message.tool_calls, dispatches, strict=False))
        turn = Turn(index, recordable(message, dispatches), results, tuple(dispatches))
        self.progress = self.progress.after(turn, self.task.budgets, time.monotonic() - self._started)
        if fault is not None:
            self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault.record)
        return turn

    def _dispatch(self, message: Message) -> tuple[list[Dispatch], Fault | None]:
        """Run a message's calls in order, up to the budget and the first fault."""
        dispatches: list[Dispatch] = []
        left = self.task.budgets.calls - self.progress.calls
        for at, call in enumerate(message.tool_calls):
            if at >= left:
                dispatches.append(refusal(call, ToolError("the budget of tool calls is spent", ErrorKind.EPISODE_OVER)))
                continue
            try:
                dispatches.append(dispatch_call(call, self._caller, self.world.ledger))
            except Fault as fault:
                return dispatches, fault
        return dispatches, None

    def _earned(self) -> float:
        """What Gymnasium is told: the grade's reward at the end, 0.0 before it and for a quarantined episode."""
        grade = self.progress.grade
        if grade is None or grade.reward is None:
            return 0.0
        return grade.reward if self._reward is None else grade.rewards[self._reward]

    def _grade(self) -> Grade:
        if self.progress.fault is not None:
            return quarantine(self.task, self.progress.fault)
        return grade(self.task, self.evidence())

    def evidence(self) -> Evidence:
        """What a grader may look at, as of now."""
        if self._evidence is not None:
            return self._evidence
        dispatches = tuple(one for turn in self.progress.turns for one in turn.dispatches)
        evidence = collect(self.world, dispatches, self.progress.answer)
        if self.progress.ending is not None:  # nothing changes any more
            self._evidence = evidence
        return evidence

    def episode(self, agent: str = "agent") -> Episode:
        """The record of the episode so far; sealed as `stopped` when it has not ended.

        Args:
            agent: Who played.
        """
        start = World(self.blueprint, self.seed).fingerprint()
        return Episode(
            task=self.task.id, release_id=self.task.release_id, seed=self.seed, agent=agent, opening=self.opening, turns=self.progress.turns,
            ledger=self.world.ledger, changes=self.evidence().changes, start=start, end=self.world.fingerprint(),
            ending=self.progress.ending or Ending.STOPPED, answer=self.progress.answer, fault=self.progress.fault, grade=self.progress.grade,
        )

    def spend(self, tokens: int) -> None:
        """Count tokens that the policy produced; the token budget is looked at after the next step."""
        self.progress = replace(self.progress, tokens=self.progress.tokens + tokens)

    def quarantine(self, fault: FaultRecord) -> None:
        """End the episode by a fault that happened outside of it: its reward is None, never 0."""
        self.progress = replace(self.progress, ending=Ending.FAULT, fault=fault, grade=quarantine(self.task, fault))

    def snapshot(self) -> Checkpoint:
        """This moment: world and progress."""
        return Checkpoint(self.world.snapshot(), self.progress, self.seed)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go back (or over) to a moment of this task."""
        self.seed, self.progress, self._evidence = checkpoint.seed, checkpoint.progress, None
        self.world.seed = checkpoint.seed
        self.world.restore(checkpoint.world)

    def fork(self, n: int = 1) -> list["CoworkEnv"]:
        """`n` environments that go on from here, each its own way."""
        here, forks = self.snapshot(), []
        for _ in range(n):
            one = CoworkEnv(self.task, render_mode=self.render_mode, door=self._door_kind, reward=self._reward)
            one.restore(here)
            forks.append(one)
        return forks

    def render(self) -> str | None:
        """The last turn as text in the mode `ansi`; in `human`, turns are printed as they happen."""
        if self.render_mode != "ansi":
            return None
        turn = self.progress.turns[-1] if self.progress.turns else None
        return _text(turn.observation, turn.action) if turn else _text(self.opening, None)

    def close(self) -> None:
        """Free the world's database and the door."""
        self._close_world()

    def _close_world(self) -> None:
        if close := getattr(self._caller, "close", None):
            close()
        self.world.close()

    def _show(self, observation: Iterable[Message], action: Message | None = None) -> None:
        if self.render_mode == "human":
            print(_text(observation, action))

    def _info(self, dispatches: tuple[Dispatch, ...]) -> dict[str, Any]:
        info: dict[str, Any] = {
            "tools": self.action_space.schemas, "task": self.task.id, "release_id": self.task.release_id, "seed": self.seed,
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
