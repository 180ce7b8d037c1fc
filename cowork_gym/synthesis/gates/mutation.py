"""The gate `mutation`: no part of the grading is idle. Without it, or turned round, some recorded execution would get another grade."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from cowork_gym.core.episode import Episode
from cowork_gym.core.grade import CheckResult
from cowork_gym.core.wording import counted
from cowork_gym.envs.evidence import evidence_of
from cowork_gym.graders.checks import Check
from cowork_gym.graders.evidence import Evidence
from cowork_gym.synthesis.derived import calls_of
from cowork_gym.synthesis.gates.degenerate import play_agents
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.mutants import Mutant, weakened
from cowork_gym.synthesis.recorded import (
    NONE_WHOLE,
    doubles,
    drops,
    extras,
    overreaches,
    script_of,
    spoils,
    strays,
    whole,
    without_writes,
    writes_of,
)
from cowork_gym.synthesis.regrade import Mark, mark_of, regrade

__all__ = ["MUTATION"]

_Change: TypeAlias = Callable[[CheckResult], Iterable[CheckResult]]
_DELETED = "add a negative that fails this alone, or take it out: the other checks say the same"
_NEGATED = "take it out: whether it holds makes no difference"
_FIELD = "add a negative that has only this wrong, or take the field out: nothing has shown that it is looked at"


class _Recorded(NamedTuple):
    """One recorded execution: its evidence and its verdicts."""

    evidence: Evidence
    checks: tuple[CheckResult, ...]
    robustness: float
    spec: str
    mark: Mark | None

    def changed(self, id: str, change: _Change) -> bool:
        """Whether the grade is another one when the verdict of one check is."""
        checks = [other for one in self.checks for other in (change(one) if one.id == id else (one,))]
        return regrade(checks, self.robustness, self.spec) != self.mark


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    if not whole(subject):
        return (), NONE_WHOLE
    recorded = _recorded(subject)
    problems, survivors, count = list[Problem](), list[str](), 0
    unreachable = {f"forbidden:{tool}" for tool in subject.contract.forbidden_tools if tool not in subject.blueprint.tools}
    ids = [one.id for one in recorded[0].checks if one.id not in unreachable]
    for id in ids:
        if not any(one.changed(id, lambda _: ()) for one in recorded):
            problems.append(Problem(id, f"without it, none of {len(recorded)} recorded executions has another grade", _DELETED))
        elif not any(one.changed(id, _negated) for one in recorded):
            problems.append(Problem(id, f"turned round, none of {len(recorded)} recorded executions has another grade", _NEGATED))
    outcomes = {one.id for one in subject.contract.outcomes}
    for _, check in subject.contract.placed():
        for mutant in weakened(check):
            count += 1
            if _survives(mutant, check, recorded):
                survivors.append(f"{check.id}: {mutant.what}")
                if mutant.whole and check.id in outcomes:
                    found = f"without {mutant.what}, none of {len(recorded)} recorded executions has another grade"
                    problems.append(Problem(f"outcome {check.id}", found, _FIELD))
    told = (
        f"{counted(len(recorded), 'recorded execution')}, {counted(len(ids), 'check')} deleted and negated",
        f"{counted(count, 'check')} weakened, {len(survivors)} unnoticed",
    )
    return tuple(problems), (*told, *(f"unnoticed: {one}" for one in survivors))


def _negated(result: CheckResult) -> Sequence[CheckResult]:
    return (replace(result, passed=not result.passed),)


def _survives(mutant: Mutant, check: Check, recorded: Sequence[_Recorded]) -> bool:
    """Whether every recorded execution has the grade that it would have if the mutant stood in the check's place."""
    for one in recorded:
        verdict = mutant.check.evaluate(one.evidence).passed
        held = next(result.passed for result in one.checks if result.id == check.id)
        if verdict is not held and one.changed(check.id, _negated):
            return False
    return True


def _recorded(subject: Subject) -> list[_Recorded]:
    """Every recorded execution that has a grade, those first that tell mutants apart most often."""
    found = dict[int, _Recorded]()
    for episode in _episodes(subject):
        grade = episode.grade
        if grade is not None and grade.robustness is not None and id(episode) not in found:
            evidence = evidence_of(episode, subject.blueprint)
            found[id(episode)] = _Recorded(evidence, grade.checks, grade.robustness, grade.spec, mark_of(grade))
    return [*found.values()]


def _episodes(subject: Subject) -> list[Episode]:
    played = [*subject.negatives, *subject.references]
    for at in whole(subject):
        script = script_of(subject, at)
        writes, steps = writes_of(subject, script), range(len(calls_of(script)))
        played += drops(subject, script, steps if at == 0 else writes).values()
        played += doubles(subject, script, writes).values()
        played += [episode for one in strays(subject, script, writes) for episode in (one.instead, one.besides)]
        emptied = without_writes(subject, script)
        played += [] if emptied is None else [emptied]
    first = script_of(subject, whole(subject)[0])
    played += [*overreaches(subject, first), *extras(subject, first).values(), *play_agents(subject).values()]
    return [*played, *(episode for _, episode in spoils(subject, first))]


MUTATION = Gate("mutation", "Deleting or negating any check or forbidden tool changes the grade of some recorded execution.", _examine, once=True)
