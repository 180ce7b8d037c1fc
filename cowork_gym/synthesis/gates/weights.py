"""The gate `weights`: what earns a reward is work, and what is required does not contradict what is forbidden."""

from collections.abc import Iterator
from decimal import Decimal

from cowork_gym.core.ledger import Effect
from cowork_gym.core.wording import counted
from cowork_gym.graders.checks import Check, Order, ToolCalled, ToolCalledWith
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["WEIGHTS"]

_ONE_READ = Decimal("0.5")
_ALL_READS = Decimal("0.7")
_CALLS = (Order, ToolCalled, ToolCalledWith)
_GRADING = "private/grading.yaml"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    contract, acts = subject.contract, _acts(subject)
    reads = [check for check in contract.checks if _only_reads(subject, check)]
    problems = (*_forbidden(subject), *_reads(reads, acts), *(_outcomes(subject) if acts else ()))
    share, kind = sum((one.weight for one in reads), Decimal(0)), "with" if acts else "without"
    return problems, (
        f"{counted(len(contract.checks), 'check')}, {counted(len(contract.outcomes), 'outcome')}, "
        f"{counted(len(contract.forbidden_tools), 'forbidden tool')}",
        f"a task {kind} writes; reading alone is worth {share:g} of 1",
    )


def _forbidden(subject: Subject) -> Iterator[Problem]:
    forbidden = subject.contract.forbidden_tools
    for tool in forbidden:
        if tool not in subject.blueprint.tools:
            advice = "permit it in task.yaml, or forbid nothing that cannot be called"
            yield Problem(f"{_GRADING}: forbidden_tools", f"{tool} is forbidden and not permitted, so that it tempts nobody", advice)
    for reference in subject.task.references:
        called = {call.name for action in reference.actions for call in action.tool_calls}
        for tool in sorted(called.intersection(forbidden)):
            yield Problem(f"reference {reference.name}", f"calls {tool}, which is forbidden", "take the call out, or do not forbid the tool")


def _reads(reads: list[Check], acts: bool) -> Iterator[Problem]:
    for check in reads:
        if check.weight > _ONE_READ:
            advice = "give the weight to what is done with what was read"
            yield Problem(f"check {check.id}", f"reading alone earns {check.weight:g}, at most {_ONE_READ:g} may be", advice)
    share = sum((one.weight for one in reads), Decimal(0))
    if acts and share > _ALL_READS:
        found = f"checks of reading weigh {share:g} together, at most {_ALL_READS:g} may be where something is to be done"
        yield Problem(f"{_GRADING}: checks", found, f"move weight from {', '.join(one.id for one in reads)} to checks of the result")


def _outcomes(subject: Subject) -> Iterator[Problem]:
    outcomes = subject.contract.outcomes
    if all(_only_reads(subject, one) for one in outcomes):
        ids = ", ".join(one.id for one in outcomes)
        advice = "require a row, an audit record, a file or an answer"
        yield Problem(f"outcome {ids}", "the task is to change something, and its outcomes only ask whether something was read", advice)


def _only_reads(subject: Subject, check: Check) -> bool:
    """Whether a check can be satisfied by reading calls alone."""
    if not isinstance(check, _CALLS):
        return False
    tools = [event.tool for event in check.events] if isinstance(check, Order) else [check.tool]
    return all(subject.blueprint.tools[tool].tool.effect is Effect.READ for tool in tools)


def _acts(subject: Subject) -> bool:
    """Whether doing the task well changes something: a task of refusal asks for reading and an answer."""
    calls = (call.name for one in subject.task.references for action in one.actions for call in action.tool_calls)
    return any(subject.blueprint.tools[name].tool.effect is Effect.WRITE for name in calls)


WEIGHTS = Gate("weights", "Weights reward work rather than reading, and nothing forbidden is required or out of reach.", _examine)
