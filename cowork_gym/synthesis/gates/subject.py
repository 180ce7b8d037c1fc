"""What gates look at: one form of a task, and the episodes played in it. Each is played once, whichever gates ask for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cowork_gym.core.episode import Episode
from cowork_gym.core.task import Execution, Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.envs.variation import instance
from cowork_gym.graders.contract import Contract
from cowork_gym.harness import play
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.synthesis.identifiers import Identifiers

__all__ = ["Subject"]


@dataclass(frozen=True, eq=False)
class Subject:
    """A task under examination, in the form of one seed.

    Args:
        base: The task as its author wrote it.
        seed: The form that is examined.
    """

    base: Task
    seed: int = 0
    _played: dict[str, Episode] = field(default_factory=dict, repr=False)

    @cached_property
    def task(self) -> Task:
        """The form of this seed: its executions, world and grading."""
        return instance(self.base, self.seed)

    @cached_property
    def blueprint(self) -> Blueprint:
        """Of the form's worlds."""
        return blueprint_of(self.task, REGISTRY.services())

    @cached_property
    def contract(self) -> Contract:
        """What the form is graded by."""
        return Contract.parse(self.task.grading)

    @cached_property
    def identifiers(self) -> Identifiers:
        """The keys of the form's records, those that come between two parts of the task included."""
        rows, moves = self.blueprint.start_rows, (change.key for stage in self.task.stages for change in stage.changes)
        return Identifiers([*(key for table in rows.values() for key in table), *moves])

    def play(self, execution: Execution, door: str = "direct") -> Episode:
        """The episode in which an execution is followed to the letter. One name stands for one execution."""
        return self._once(f"{door}:{execution.name}", lambda: ScriptedPolicy(execution.name, execution.actions), door)

    def play_agent(self, spec: str) -> Episode:
        """The episode of an agent by its name, such as `spray`."""
        return self._once(f"agent:{spec}", lambda: make_agent(spec, self.task), "direct")

    def play_policy(self, policy: Policy) -> Episode:
        """The episode of a policy. One name stands for one policy."""
        return self._once(f"policy:{policy.name}", lambda: policy, "direct")

    @property
    def episodes(self) -> Sequence[Episode]:
        """Every episode that was played until now."""
        return tuple(self._played.values())

    def _once(self, key: str, policy: Callable[[], Policy], door: str) -> Episode:
        if key not in self._played:
            self._played[key] = self._run(policy(), door)
        return self._played[key]

    def _run(self, policy: Policy, door: str) -> Episode:
        env = CoworkEnv(self.base, door=door)
        try:
            return play(env, policy, seed=self.seed)
        finally:
            env.close()

    @cached_property
    def references(self) -> tuple[Episode, ...]:
        """The references' episodes, in order."""
        return self.references_through("direct")

    def references_through(self, door: str) -> tuple[Episode, ...]:
        """The references' episodes, in order, with calls that take a certain door."""
        return tuple(self.play(_prefixed("reference", one), door) for one in self.task.references)

    @cached_property
    def negatives(self) -> tuple[Episode, ...]:
        """The negatives' episodes, in order."""
        return tuple(self.play(_prefixed("negative", one)) for one in self.task.negatives)


def _prefixed(kind: str, execution: Execution) -> Execution:
    return replace(execution, name=f"{kind}:{execution.name}")
