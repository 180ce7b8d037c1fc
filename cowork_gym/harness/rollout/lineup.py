"""Who plays a rollout's slots, under which harness: what can be known of it before anything is begun, and what is wrong with it."""

from collections.abc import Iterable, Mapping

from cowork_gym.core.canonical import digest
from cowork_gym.core.errors import Blame, FaultRecord, UserError
from cowork_gym.core.task import Task
from cowork_gym.envs.variation import instance
from cowork_gym.harness.compose import Harness
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.rollout.plan import Plan, Slot
from cowork_gym.harness.rollout.quarantine import as_fault
from cowork_gym.harness.rollout.settings import MakePolicy, Settings

__all__ = ["Lineup"]

_FACTORY, _SOURCE, _FORM = "policy factory", "harness source", "form of the task"


class Lineup:
    """The harness of each task's trial, drawn once, and the policy of each slot, made when it is played.

    What a factory or a source raises is a fault of the episodes that it was asked for. A `UserError` that it raises for all of them is the
    person's to mend.

    Args:
        tasks: By id.
        policy: Gives the policies.
        plan: What is played.
        settings: How.

    Raises:
        UserError: There is no harness for any trial of any task.
    """

    def __init__(self, tasks: Mapping[str, Task], policy: MakePolicy, plan: Plan, settings: Settings) -> None:
        self.agent = plan.player or plan.agent
        """Who plays, as far as it is known without a policy."""
        self._tasks, self._make, self._settings = tasks, policy, settings
        self._made: dict[Slot, Policy | FaultRecord] = {}
        self._drawn: dict[tuple[str, int], Harness | FaultRecord] = {}
        refused = list[UserError]()
        for task in plan.releases:
            for trial in range(plan.n):
                try:
                    self._drawn[task, trial] = self._draw(task, trial)
                except UserError as error:
                    refused.append(error)
                    self._drawn[task, trial] = as_fault(error, _SOURCE)
        if len(refused) == len(self._drawn):
            raise refused[0]

    def policy(self, slot: Slot) -> Policy | FaultRecord:
        """A slot's policy, for its episode alone, or why there is none."""
        if (made := self._made.pop(slot, None)) is not None:
            return made
        try:
            return self._new(slot)
        except UserError as error:
            return as_fault(error, _FACTORY)

    def harness(self, slot: Slot) -> Harness | FaultRecord:
        """A slot's harness, or why there is none."""
        return self._drawn[slot.task, slot.trial]

    def composition(self, slot: Slot) -> str | None:
        """The sha256 of a slot's harness, where there is one."""
        harness = self.harness(slot)
        return harness.composition.sha256 if isinstance(harness, Harness) else None

    @property
    def sha256(self) -> str | None:
        """Stands for all compositions: the one that all have, or a hash over them; None where there is one that cannot be had."""
        each = {at: one.composition.sha256 if isinstance(one, Harness) else None for at, one in self._drawn.items()}
        if None in each.values():
            return None
        first = next(iter(each.values()))
        return first if len({*each.values()}) == 1 else digest([[*at, one] for at, one in each.items()])

    def check(self, slots: Iterable[Slot]) -> None:
        """Make the first policy, and hold every harness against it and against the tools of its task, before anything is played.

        Args:
            slots: Those that are to be played.

        Raises:
            UserError: No policy can be made for any slot, a harness lacks something, or a task cannot be opened with these settings.
        """
        policy = self._first(slots)
        harnesses: dict[str, dict[str, Harness]] = {id: {} for id in self._tasks}
        for (id, _), one in self._drawn.items():
            if isinstance(one, Harness):
                harnesses[id][one.composition.sha256] = one
        for id, task in self._tasks.items():
            try:
                self._hold(task, harnesses[id].values(), policy)
            except UserError:
                raise
            except Exception as error:  # its episodes are played nonetheless: each says in its record what is wrong
                as_fault(error, id)

    def _draw(self, task: str, trial: int) -> Harness | FaultRecord:
        """A harness whose manifest can be had."""
        try:
            harness = self._settings.harness(task, trial)
            if not isinstance(harness, Harness):
                raise TypeError(f"a harness is what compose gives, not {type(harness).__name__}")
            harness.composition  # noqa: B018 - it is cached, or it raises here
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            return as_fault(error, _SOURCE)
        return harness

    def _first(self, slots: Iterable[Slot]) -> Policy | None:
        """The first policy that can be made. It waits for its slot, and so do the failures before it."""
        refused = list[UserError]()
        for slot in slots:
            try:
                made = self._made[slot] = self._new(slot)
                if not isinstance(made, FaultRecord):
                    return made
            except UserError as error:
                refused.append(error)
                self._made[slot] = as_fault(error, _FACTORY)
        if refused and len(refused) == len(self._made):
            raise refused[0]
        return None

    def _new(self, slot: Slot) -> Policy | FaultRecord:
        try:
            form = instance(self._tasks[slot.task], slot.seed)
        except (Exception, SystemExit) as error:
            return as_fault(error, _FORM, Blame.ENVIRONMENT)
        try:
            made = self._make(form)
            if not isinstance(getattr(made, "name", None), str):
                raise TypeError(f"a policy has a name, {type(made).__name__} has none")
            return made
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            return as_fault(error, _FACTORY)

    def _hold(self, task: Task, harnesses: Iterable[Harness], policy: Policy | None) -> None:
        env = self._settings.open(task)
        try:
            for one in harnesses:
                if policy is None:
                    one.offered(env.action_space.schemas)
                else:
                    one.check(policy, env.action_space.schemas)
        finally:
            env.close()
