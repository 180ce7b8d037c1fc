"""The gate `allowlist`: side effects are confined, and to no more than the work needs."""

from collections.abc import Iterator, Sequence

from cowork_gym.core.ledger import Effect
from cowork_gym.core.snapshot import Change
from cowork_gym.core.wording import counted
from cowork_gym.envs.evidence import evidence_of
from cowork_gym.graders.checks import Allowance, Unchanged
from cowork_gym.graders.evidence import FILES, Evidence
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["ALLOWLIST"]

_GRADING = "private/grading.yaml"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    checks = [one for _, one in subject.contract.placed() if isinstance(one, Unchanged)]
    writers = [name for name, door in subject.blueprint.tools.items() if door.tool.effect is Effect.WRITE]
    if not checks:
        advice = "add {id: nothing_else_changed, kind: unchanged, allow: [{table: …, key: …, fields: […]}]} to the checks"
        missing = (Problem(f"{_GRADING}: checks", f"no `unchanged` check, though {', '.join(writers)} may write", advice),) if writers else ()
        return missing, ("no permitted tool writes",)
    evidences = [evidence_of(episode, subject.blueprint) for episode in subject.references]
    problems = (*_stray(subject, checks, evidences), *_broad(checks), *_whole(checks, evidences), *_unused(checks, evidences))
    allowed = sum(len(one.allow) for one in checks)
    changed = sum(len(one.own) for one in evidences)
    return problems, (
        f"{counted(allowed, 'allowance')}; {counted(changed, 'change')} of {counted(len(evidences), 'reference')}, "
        f"{counted(len(writers), 'tool')} that write",
    )


def _stray(subject: Subject, checks: Sequence[Unchanged], evidences: Sequence[Evidence]) -> Iterator[Problem]:
    for reference, evidence in zip(subject.task.references, evidences, strict=True):
        for check in checks:
            verdict = check.evaluate(evidence)
            if not verdict.passed:
                yield Problem(f"reference {reference.name}", f"{check.id}: {verdict.reason}", "allow this change, or let the reference not make it")


def _broad(checks: Sequence[Unchanged]) -> Iterator[Problem]:
    for check in checks:
        for one in check.allow:
            if one.key is None and one.fields is None and one.change != "created":
                advice = "name the key, or the fields, or say `change: created` where new rows are meant"
                yield Problem(f"check {check.id}", f"allows any change of every row of {one.table}", advice)


def _whole(checks: Sequence[Unchanged], evidences: Sequence[Evidence]) -> Iterator[Problem]:
    """Allowances of a record as a whole, though references change a part of it."""
    changes = [change for one in evidences for change in _changes(one) if change.before is not None and change.after is not None]
    for check in checks:
        for one in check.allow:
            touched = set[str]().union(*(change.fields() for change in changes if one.covers(change)))
            if one.key is not None and one.fields is None and touched and one.table != FILES:
                advice = f"name the fields: [{', '.join(sorted(touched))}]"
                yield Problem(f"check {check.id}", f"allows any change of {_named(one)}", advice)


def _unused(checks: Sequence[Unchanged], evidences: Sequence[Evidence]) -> Iterator[Problem]:
    changes = [change for one in evidences for change in _changes(one)]
    for check in checks:
        for one in check.allow:
            if not any(one.covers(change) and _touches(one, change) for change in changes):
                advice = "take the allowance out, or add a reference that needs it"
                yield Problem(f"check {check.id}", f"allows {_named(one)}, which no reference needs", advice)


def _changes(evidence: Evidence) -> tuple[Change, ...]:
    """The agent's changes, those included that a later part of the task undid."""
    return tuple(change for one in (*evidence.closed, evidence) for change in one.own)


def _touches(allowance: Allowance, change: Change) -> bool:
    return allowance.fields is None or bool(allowance.fields & change.fields())


def _named(allowance: Allowance) -> str:
    row = f"{allowance.table}/{allowance.key}" if allowance.key else f"rows of {allowance.table}"
    fields = f" ({', '.join(sorted(allowance.fields))})" if allowance.fields else ""
    return f"{row}{fields}" + (f" {allowance.change}" if allowance.change != "any" else "")


ALLOWLIST = Gate("allowlist", "What may change is confined to what the references need.", _examine)
