"""The gate `copycat`: a reference with its writes left out, made twice, or aimed at a look-alike does not earn what the reference earns."""

from collections.abc import Iterator

from cowork_gym.core.episode import Episode
from cowork_gym.core.grade import PASS
from cowork_gym.core.task import Execution
from cowork_gym.core.wording import counted
from cowork_gym.synthesis.derived import calls_of
from cowork_gym.synthesis.ends import end_of
from cowork_gym.synthesis.gates.faults import lost_calls
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.recorded import NONE_WHOLE, doubles, drops, script_of, strays, whole, without_writes, writes_of
from cowork_gym.synthesis.rewards import reward_of, ungraded

__all__ = ["COPYCAT"]

_DOUBLED = "let a check count it (`max: 1`), or let `unchanged` allow no second one"
_ASTRAY = "let an outcome ask for the row as it ends, or for this value and no second record (`max: 1`, `audit_absent`, a narrower `allow`)"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    problems, told = list[Problem](), list[str]()
    for at in whole(subject):
        script, original = script_of(subject, at), subject.references[at]
        writes = writes_of(subject, script)
        left_out = drops(subject, script, writes)
        bearing = [number for number in writes if _short(left_out[number], original)]
        repeatable = [number for number in bearing if number not in lost_calls(subject, at)]
        problems += _left_out(subject, script)
        problems += [one for number in bearing for one in _passing(f"{script.name} without call {number}", left_out[number])]
        problems += _twice(subject, script, original, repeatable)
        found, count = _elsewhere(subject, script, original, bearing)
        problems += found
        told.append(f"reference {script.name}: {counted(len(writes), 'write')}, {len(bearing)} of them bearing, {count} aimed at look-alikes")
    return tuple(problems), tuple(told) or NONE_WHOLE


def _left_out(subject: Subject, script: Execution) -> Iterator[Problem]:
    episode = without_writes(subject, script)
    if episode is None:
        return
    where, reward = f"reference {script.name} without its writes", reward_of(episode)
    if reward is None:
        yield ungraded(where, episode)
    elif reward >= PASS:
        yield Problem(where, f"it passes with {reward}", "make what the writes bring about an outcome")


def _twice(subject: Subject, script: Execution, original: Episode, bearing: list[int]) -> Iterator[Problem]:
    """Writes made twice leave the same world, or cost something."""
    marks, calls = subject.blueprint.marks, calls_of(script)
    for number, episode in doubles(subject, script, bearing).items():
        where, reward = f"reference {script.name} with call {number} ({calls[number].name}) made twice", reward_of(episode)
        if reward is None:
            yield ungraded(where, episode)
        elif not _short(episode, original) and end_of(episode, marks) != end_of(original, marks):
            yield Problem(where, f"the world is another one, and it still earns {reward}", _DOUBLED)


def _elsewhere(subject: Subject, script: Execution, original: Episode, bearing: list[int]) -> tuple[list[Problem], int]:
    """Writes aimed at a look-alike, instead of the right one or besides it, cost something."""
    marks, calls, problems = subject.blueprint.marks, calls_of(script), list[Problem]()
    found, end = strays(subject, script, bearing), end_of(original, marks)
    for one in found:
        for word, episode in (("instead of", one.instead), ("besides", one.besides)):
            where = f"reference {script.name}, call {one.call} ({calls[one.call].name}) with {one.met} {word} {one.meant} in {one.where}"
            problems += _passing(where, episode)
            if not _short(episode, original) and end_of(episode, marks) != end:
                problems.append(Problem(where, f"the world is another one, and it still earns {reward_of(episode)}", _ASTRAY))
    return problems, len(found)


def _short(episode: Episode, original: Episode) -> bool:
    """Whether an episode earned less than the reference, or ended by a fault."""
    reward, full = reward_of(episode), reward_of(original)
    return reward is None or full is None or reward < full


def _passing(where: str, episode: Episode) -> Iterator[Problem]:
    """What passes without its outcome, or has no grade."""
    grade = episode.grade
    if grade is None or grade.reward is None:
        yield ungraded(where, episode)
    elif grade.passed and grade.outcome != 1:
        failed = ", ".join(one.id for one in grade.checks if not one.passed)
        advice = "let cowork-v1 count, or give less weight to what can be had without it"
        yield Problem(where, f"it passes with {grade.reward}, though {failed} fails", advice)


COPYCAT = Gate("copycat", "Writes left out, made twice or aimed at look-alikes cost something, unless the world is the same.", _examine)
