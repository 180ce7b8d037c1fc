"""The gate `ledger`: ledger, dispatches and changed rows agree in every recorded episode, and would not if one of them were forged."""

from collections.abc import Iterator
from dataclasses import replace

from cowork_gym.core.episode import Episode
from cowork_gym.core.wording import counted
from cowork_gym.envs.evidence import evidence_of
from cowork_gym.graders.evidence import Evidence
from cowork_gym.graders.reconcile import contradiction
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["LEDGER"]


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    written = (*subject.references, *subject.negatives)
    problems, forged = list[Problem](), 0
    found = [(episode, contradiction(evidence_of(episode, subject.blueprint))) for episode in written]
    found += [(episode, _told(episode)) for episode in subject.episodes if not any(episode is one for one in written)]
    for episode, contradicted in found:
        if contradicted:
            advice = "a handler writes around the store, or a door drops calls: mend the service"
            problems.append(Problem(f"episode of {episode.agent}", contradicted, advice))
    for episode in subject.references:
        for what, evidence in _forgeries(evidence_of(episode, subject.blueprint)):
            forged += 1
            if contradiction(evidence) is None:
                advice = "mend `cowork_gym.graders.reconcile`: it must see this"
                problems.append(Problem(f"episode of {episode.agent}", f"{what}, and no contradiction was seen", advice))
    return tuple(problems), (f"looked at {counted(len(found), 'episode')}, tried {counted(forged, 'forgery', 'forgeries')}",)


def _told(episode: Episode) -> str | None:
    """What the grader found when it held the records against each other, as it does before it grades."""
    fault = episode.grade.fault if episode.grade else None
    return fault.message if fault and fault.where == "ledger" else None


def _forgeries(evidence: Evidence) -> Iterator[tuple[str, Evidence]]:
    """The evidence with a call dropped or added on one side."""
    real = [one for one in evidence.dispatches if one.sequence is not None and not one.replayed]
    if not real:
        return
    last = real[-1]
    yield "a dispatch was dropped", replace(evidence, dispatches=tuple(one for one in evidence.dispatches if one is not last))
    extra = replace(last, id=f"{last.id}+", sequence=len(evidence.ledger) + 1)
    yield "a dispatch was added", replace(evidence, dispatches=(*evidence.dispatches, extra))
    yield "the ledger's end was cut off", replace(evidence, ledger=evidence.ledger.until((last.sequence or 1) - 1))


LEDGER = Gate("ledger", "Ledger and dispatches agree both ways in every episode that was played, and a forged one is found out.", _examine)
