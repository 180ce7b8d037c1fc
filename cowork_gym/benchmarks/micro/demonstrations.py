"""Who shows a learner the micro tasks: without a fault, with wrong decisions at a known rate, or without ever showing one thing."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message, call, final
from cowork_gym.core.task import Execution, Task
from cowork_gym.envs.registration import load_task
from cowork_gym.envs.variation import instance
from cowork_gym.harness.policies.scripted import ScriptedPolicy

__all__ = ["DEMONSTRATED", "HELD_OUT", "LEARNED", "LONG", "SHORT", "Demonstrator", "Lack", "demonstrate", "recap"]

SHORT = ("Micro-Lookup", "Micro-Update", "Micro-Join", "Micro-Refuse", "Micro-Recover")
LONG = "Micro-Long"
DEMONSTRATED = range(1, 1_000_000)
"""Seeds of demonstrations. 0 is the form in the package, which documents show."""
LEARNED = range(1_000_000, 5_000_000)
"""Seeds of reinforcement learning."""
HELD_OUT = range(10_000_000, 10_100_000)
"""Seeds on which results are reported."""

_LISTED, _READ = "helpdesk_list_tickets", "helpdesk_get_ticket"


class Lack(StrEnum):
    """Something that demonstrations never show, so that only trying can teach it."""

    RETRY = "retry"
    """A call that failed is never made again."""
    REFUSAL = "refusal"
    """What a rule forbids is done all the same."""
    BREVITY = "brevity"
    """Needless reads stand before and after the work; they cost turns, not reward."""


_INSTEAD = {Lack.RETRY: "gives_up", Lack.REFUSAL: "obeys"}
"""What is shown where the thing would have been."""


def demonstrate(task: Task | str, seed: int, *, slips: float = 0.0, without: Lack | None = None) -> list[Message]:
    """What a demonstrator says in one form of a task: well-formed calls and an answer.

    Args:
        task: One of the micro tasks, or its name.
        seed: The form.
        slips: How often one wrong decision is made. It is the first of the form's negatives: another ticket, customer or field, a forbidden
            request obeyed or a permitted one refused, an answer after the first error.
        without: What is never shown.

    Raises:
        UserError: There is no such task.
    """
    form = instance(load_task(task) if isinstance(task, str) else task, seed)
    wrong = {one.name: one for one in form.negatives}
    if without in _INSTEAD and (instead := wrong.get(_INSTEAD[without])):
        return [*instead.actions]
    if generator(seed, form.id, "demonstration").random() < slips:
        return [*form.negatives[0].actions]
    straight = form.references[0]
    return [*_lavish(form, straight)] if without is Lack.BREVITY else [*straight.actions]


def _lavish(form: Task, straight: Execution) -> Iterator[Message]:
    """A look at the queue first, where that is permitted and does not fail by plan, and a second look at the end."""
    *work, answer = straight.actions
    if _LISTED in form.tools and all(one.tool != _LISTED for one in form.faults):
        yield call(_LISTED, status="open")
    yield from work
    last = work[-1].tool_calls[0]
    ticket = last.decoded().get("ticket_id")
    yield Message("assistant", None, (last,)) if ticket is None else call(_READ, ticket_id=ticket)
    yield answer


def recap(form: Task, done: int) -> str:
    """A summary of the long task after so many calls: the most hours so far and where, and what comes next.

    Args:
        form: A form of `Micro-Long`.
        done: Calls so far.
    """
    rows = {row["ticket_id"]: row for row in form.world["helpdesk"]["tickets"]}
    calls = [one for said in form.references[0].actions for one in said.tool_calls][:done]
    seen = [rows[one.decoded()["ticket_id"]] for one in calls if one.name == _READ]
    if not seen:
        return f"Next: {form.given[0]}."
    most = max(seen, key=lambda row: int(row["hours"]))
    return f"Most hours: {most['ticket_id']}, {most['hours']}. Next: {seen[-1]['next']}."


class Demonstrator(ScriptedPolicy):
    """Plays a demonstration; asked for a summary of the long task, it says what is still needed and nothing else.

    Args:
        form: The form of the episode's seed.
        actions: What `demonstrate` gave for it.
    """

    def __init__(self, form: Task, actions: Sequence[Message]) -> None:
        super().__init__("demonstrator", actions)
        self._form = form

    def write(self, history: Sequence[Message]) -> Message:
        """The recap of the long task, or what the script lists of another one."""
        return final(recap(self._form, self._next)) if "next" in self._form.world["helpdesk"]["tickets"][0] else super().write(history)
