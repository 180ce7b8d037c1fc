"""The gate `faults`: the references meet every planned fault and survive it, and who repeats a lost write blindly does not get away with it."""

from collections.abc import Iterator

from cowork_gym.core.episode import Episode
from cowork_gym.core.task import Execution, PlannedFault
from cowork_gym.core.wording import counted
from cowork_gym.synthesis.ends import end_of
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.recorded import doubles, is_write, script_of
from cowork_gym.synthesis.rewards import reward_of, ungraded

__all__ = ["FAULTS", "lost_calls"]

_UNMET = "let a reference make this call, or plan the fault for another call"
_SHORT = "let the reference see whether the call did its work, and repeat it only if not"
_BLIND = "let a check count what the write makes (`max: 1`), or let `unchanged` allow no second one"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    problems, told = list[Problem](), list[str]()
    for fault in subject.task.faults:
        met = {at: call for at, episode in enumerate(subject.references) if (call := _met(episode, fault)) is not None}
        where = f"fault of call {fault.call} of {fault.tool}"
        if not met:
            problems.append(Problem(where, "no reference meets it", _UNMET))
        for at, call in met.items():
            script, original = script_of(subject, at), subject.references[at]
            if (reward := reward_of(original)) != 1:
                problems.append(Problem(where, f"reference {script.name} earns {reward}, expected 1", _SHORT))
            if fault.kind == "timeout_after" and is_write(subject, fault.tool):
                problems += _blind(subject, script, original, call)
        told.append(f"{where}: {fault.kind}, met by {len(met)} of {counted(len(subject.references), 'reference')}")
    return tuple(problems), tuple(told) or ("no fault is planned",)


def lost_calls(subject: Subject, reference: int) -> frozenset[int]:
    """The numbers of a reference's calls that do their work while their answer is lost."""
    episode = subject.references[reference]
    met = (_met(episode, fault) for fault in subject.task.faults if fault.kind == "timeout_after")
    return frozenset(call for call in met if call is not None)


def _met(episode: Episode, fault: PlannedFault) -> int | None:
    """The number of the call that a fault hit."""
    executed = [at for at, one in enumerate(episode.dispatches) if one.tool == fault.tool and one.sequence is not None and not one.replayed]
    return executed[fault.call - 1] if len(executed) >= fault.call else None


def _blind(subject: Subject, script: Execution, original: Episode, call: int) -> Iterator[Problem]:
    """Whoever repeats a write whose answer was lost leaves the same world, or pays for it."""
    episode, marks = doubles(subject, script, [call])[call], subject.blueprint.marks
    where, reward, full = f"reference {script.name} with call {call} repeated blindly", reward_of(episode), reward_of(original)
    if reward is None:
        yield ungraded(where, episode)
    elif full is not None and reward >= full and end_of(episode, marks) != end_of(original, marks):
        yield Problem(where, f"the write was done twice, and it still earns {reward}", _BLIND)


FAULTS = Gate("faults", "References survive every planned fault, and repeating a write blindly costs something, unless it changes nothing.", _examine)
