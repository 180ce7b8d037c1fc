"""What a check is for: asked about the untouched world, it is an objective when it fails there and a guardrail when it holds."""

from collections.abc import Mapping

from cowork_gym.core.errors import Fault, PackageError
from cowork_gym.core.grade import Part
from cowork_gym.graders.contract import Contract
from cowork_gym.graders.evidence import Evidence

__all__ = ["classify"]


def classify(contract: Contract, evidence: Evidence) -> Mapping[str, Part]:
    """The part of every check and outcome, by id.

    Args:
        contract: What a task is graded by.
        evidence: Of any episode of the task: only its starting world counts.

    Raises:
        PackageError: A check fails to run, a required outcome holds before anyone has done anything, an objective has no weight,
            or there is no objective.
    """
    untouched, parts, required = evidence.untouched(), dict[str, Part](), {check.id for check in contract.outcomes}
    for where, check in contract.placed():
        try:
            holds = check.evaluate(untouched).passed
        except Fault as fault:
            raise PackageError(contract.path, where, f"fails to run on the starting world: {fault.record.message}") from fault
        if check.id in required:
            if holds:
                raise PackageError(contract.path, where, "the outcome already holds in the starting world")
            parts[check.id] = Part.OUTCOME
            continue
        parts[check.id] = Part.GUARDRAIL if holds else Part.OBJECTIVE
        if not holds and not check.weight:
            raise PackageError(contract.path, f"{where}.weight", "an objective needs a weight: it does not hold in the starting world")
    if Part.OBJECTIVE not in parts.values():
        raise PackageError(contract.path, "checks", "there is no objective: every check already holds in the starting world")
    return parts
