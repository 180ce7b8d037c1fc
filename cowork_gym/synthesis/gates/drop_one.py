"""The gate `drop_one`: no step of a reference can be left out for nothing."""

from cowork_gym.core.episode import Episode
from cowork_gym.core.task import Execution
from cowork_gym.synthesis.derived import calls_of, dropped
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.provenance import uses
from cowork_gym.synthesis.recorded import NONE_WHOLE, drops, is_write, script_of, whole, writes_of
from cowork_gym.synthesis.rewards import reward_of, ungraded

__all__ = ["DROP_ONE", "PADDING"]

PADDING = 0.25
"""The most of the first reference's steps that may be looks around: reads that no check names and that show nothing which is used later."""
_WRITE = "let a check or outcome ask for what this write brings about, or take it out of the reference"
_PADDED = "let checks name what has to be read, or take these steps out of the first reference; other references may look around as they like"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    problems, told = list[Problem](), list[str]()
    for at in whole(subject):
        script = script_of(subject, at)
        looks, found = _looks(subject, script, subject.references[at], first=at == 0)
        problems += found
        if at == 0:
            calls = calls_of(script)
            listed = ", ".join(f"{number} {calls[number].name}" for number in looks)
            told.append(f"reference {script.name}: {len(calls) - len(looks)} of {len(calls)} steps bear; looks around: {listed or 'none'}")
            if len(looks) > PADDING * len(calls):
                found_padding = f"{len(looks)} of {len(calls)} steps can be left out for nothing, at most a quarter may be: {listed}"
                problems.append(Problem(f"reference {script.name}", found_padding, _PADDED))
    return tuple(problems), tuple(told) or NONE_WHOLE


def _looks(subject: Subject, script: Execution, original: Episode, *, first: bool) -> tuple[list[int], list[Problem]]:
    """The steps that only look around, and what is wrong with the others: of the first reference all steps count, of the others the writes.

    A step bears when the grade falls without it, or when it is the only one to show an identifier that is used later: an honest agent
    could not have used it. Of steps that can stand in for each other, one bears.
    """
    calls, looks, problems = calls_of(script), list[int](), list[Problem]()
    full, known = reward_of(original) or 0.0, {one.identifier for one in uses(original, subject.identifiers) if one.source is not None}

    def bears(episode: Episode) -> bool:
        return (reward_of(episode) or 0.0) < full or any(one.source is None and one.identifier in known for one in uses(episode, subject.identifiers))

    for number, episode in drops(subject, script, range(len(calls)) if first else writes_of(subject, script)).items():
        where = f"reference {script.name} without call {number} ({calls[number].name})"
        if reward_of(episode) is None:
            problems.append(ungraded(where, episode))
        elif bears(episode):
            continue
        elif is_write(subject, calls[number].name):
            problems.append(Problem(where, f"it still earns {reward_of(episode)}", _WRITE))
        elif not looks or not bears(subject.play(dropped(script, [*looks, number], f"drop:{', '.join(map(str, [*looks, number]))}"))):
            looks.append(number)
    return looks, problems


DROP_ONE = Gate("drop_one", "Leaving out any step costs something, or hides what a later step needs; a few looks around are free.", _examine)
