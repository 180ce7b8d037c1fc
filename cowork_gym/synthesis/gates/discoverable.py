"""The gate `discoverable`: whatever a reference writes that has to be known was shown to it before."""

from cowork_gym.core.wording import counted
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.provenance import USER, uses

__all__ = ["DISCOVERABLE"]


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    problems, evidence = list[Problem](), list[str]()
    for reference, episode in zip(subject.task.references, subject.references, strict=True):
        found, told = uses(episode, subject.identifiers), set[str]()
        for use in found:
            if use.source is None and use.identifier not in told:
                told.add(use.identifier)
                place = f"reference {reference.name}, message {use.turn + 1}, {use.where}"
                advice = "let the reference first call what shows it, in an earlier message; or let a record, the request or the user tell it"
                problems.append(Problem(place, f"uses {use.identifier}, which nothing has shown until then", advice))
        by_user = sum(one.source == USER for one in found)
        number = counted(len(found), "use")
        evidence.append(f"reference {reference.name}: {number} of identifiers, {by_user} from what the user says, the rest from results")
    return tuple(problems), tuple(evidence)


DISCOVERABLE = Gate("discoverable", "Every identifier that a reference writes was shown to it before, by the user or by a result.", _examine)
