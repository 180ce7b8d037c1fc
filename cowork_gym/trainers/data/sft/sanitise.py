"""Hierarchical sanitisation (Occamy-1.0, section 7.2): discard, truncate, mask, repair; the first that is called for is done."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from cowork_gym.trainers.data.dialogue import Dialogue, Utterance

__all__ = ["Action", "Finding", "Repair", "Sanitised", "Verify", "decide", "sanitise"]


class Action(StrEnum):
    """What is done about a dialogue, in the order in which it is asked."""

    DISCARD = "discard"
    TRUNCATE = "truncate_to_prefix"
    MASK = "mask_span"
    REPAIR = "repair"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found wrong with a dialogue. Answers are counted from 0 among its assistant messages. Without any, it is kept as it is."""

    unreliable: bool = False
    """Nothing in it can be trusted to be worth learning."""
    first_bad_turn: int | None = None
    """The first answer that is wrong."""
    prefix_valid: bool = True
    """Whether what stands before that answer is worth learning."""
    rest_valid: bool = False
    """Whether what follows it is."""
    bad_spans: tuple[int, ...] = ()
    """Single answers that are wrong."""
    surroundings_valid: bool = True
    """Whether what stands around them is worth learning."""
    bad_step: int | None = None
    """An answer that another one should stand in the place of."""
    verified_repair: bool = False
    """Whether there is a corrected continuation that was verified."""
    why: str = ""
    """In a word or two, such as `forbidden call`."""


Verify: TypeAlias = Callable[[Dialogue], str | None]
"""Says why a repaired dialogue does not hold; None when it does."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A corrected continuation, which stands in the place of the bad step and all that follows it."""

    utterances: tuple[Utterance, ...]
    verify: Verify
    """Such as the one that `verification.repair_from` makes."""
    agent: str = ""
    """Who wrote it; empty for the author of the dialogue."""


class Sanitised(NamedTuple):
    """What became of a dialogue."""

    dialogue: Dialogue | None
    """None when it is discarded."""
    action: Action
    why: str = ""


def decide(finding: Finding) -> Action:
    """The action that a finding calls for.

    A defect that nothing here can mend, such as a bad step without a verified repair, discards the dialogue: nobody learns from what is known
    to be wrong. A single bad turn between valid ones is a span to be masked.
    """
    bad_turn = finding.first_bad_turn is not None
    if finding.unreliable:
        return Action.DISCARD
    if bad_turn and not finding.rest_valid:
        return Action.TRUNCATE if finding.prefix_valid else Action.DISCARD
    if finding.bad_spans or bad_turn:
        return Action.MASK if finding.surroundings_valid and finding.prefix_valid else Action.DISCARD
    if finding.bad_step is not None:
        return Action.REPAIR if finding.verified_repair else Action.DISCARD
    return Action.KEEP


def sanitise(dialogue: Dialogue, finding: Finding, repair: Repair | None = None) -> Sanitised:
    """A dialogue with what a finding calls for done to it.

    Args:
        dialogue: As it was built.
        finding: What is wrong with it.
        repair: For a bad step; it is verified here, whatever the finding says of it.

    Raises:
        ValueError: The finding is about an answer that there is not, or claims a verified repair and none is given.
    """
    answers = [at for at, one in enumerate(dialogue.utterances) if one.message.role == "assistant"]
    named = [one for one in (finding.first_bad_turn, finding.bad_step, *finding.bad_spans) if one is not None]
    if wrong := [one for one in named if not 0 <= one < len(answers)]:
        raise ValueError(f"a finding is about answer {wrong[0]} of a dialogue with {len(answers)}")
    if finding.verified_repair and repair is None:
        raise ValueError("a finding claims a verified repair, and none is given")
    repaired = None
    if finding.bad_step is not None and repair is not None:
        repaired = _repaired(dialogue, answers[finding.bad_step], repair)
        finding = replace(finding, verified_repair=False)
        if decide(replace(finding, verified_repair=True)) is Action.REPAIR:  # verifying may be dear: only where it decides
            problem = repair.verify(repaired)
            finding = replace(finding, verified_repair=problem is None, why=finding.why if problem is None else f"repair refused: {problem}")
    action = decide(finding)
    return _checked(_done(dialogue, finding, action, answers, repaired), action, finding.why)


def _done(dialogue: Dialogue, finding: Finding, action: Action, answers: list[int], repaired: Dialogue | None) -> Dialogue | None:
    if action is Action.TRUNCATE and finding.first_bad_turn is not None:
        return _until(dialogue, answers[finding.first_bad_turn])
    if action is Action.MASK:
        spans = finding.bad_spans if finding.first_bad_turn is None else (finding.first_bad_turn, *finding.bad_spans)
        return _masked(dialogue, (answers[one] for one in spans), finding.why or "bad span")
    if action is Action.REPAIR:
        return repaired
    return dialogue if action is Action.KEEP else None


def _checked(made: Dialogue | None, action: Action, why: str) -> Sanitised:
    if made is None or made.supervised or action is Action.KEEP:
        return Sanitised(made, action, why)
    return Sanitised(None, Action.DISCARD, f"{why}: nothing is left to learn" if why else "nothing is left to learn")


def _until(dialogue: Dialogue, end: int) -> Dialogue:
    """What stands before an answer, up to the last answer before it: what came back after that has nobody left to read it."""
    kept = list(dialogue.utterances[:end])
    while kept and kept[-1].message.role != "assistant":
        kept.pop()
    return replace(dialogue, utterances=tuple(kept))


def _repaired(dialogue: Dialogue, begin: int, repair: Repair) -> Dialogue:
    """The valid prefix with the correction behind it, by both of its authors."""
    names = dict.fromkeys(one for one in (dialogue.source.agent, repair.agent) if one)
    utterances = (*dialogue.utterances[:begin], *repair.utterances)
    return replace(dialogue, utterances=utterances, source=replace(dialogue.source, agent="+".join(names)))


def _masked(dialogue: Dialogue, answers: Iterable[int], why: str) -> Dialogue:
    bad = {*answers}
    return replace(dialogue, utterances=tuple([
        replace(one, trained=False, why=one.why or why) if at in bad else one for at, one in enumerate(dialogue.utterances)
    ]))
