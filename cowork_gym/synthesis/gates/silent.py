"""The gate `silent`: whoever does not look again after the world has moved fails, and the reference, which does, passes."""

from cowork_gym.core.grade import PASS
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.recorded import is_write, script_of
from cowork_gym.synthesis.rewards import reward_of, ungraded
from cowork_gym.synthesis.stale import Moved, moved_between, stale

__all__ = ["SILENT"]

_STALE = "let a later part need a value that has changed, or let an outcome ask that it was read (`tool_called_with` with `stage`)"
_SHORT = "let the reference look again after each move of the world"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    if not any(stage.changes for stage in subject.task.stages):
        return (), ("the world does not move",)
    problems, told, moved = list[Problem](), list[str](), _moved(subject)
    for at, original in enumerate(subject.references):
        script = script_of(subject, at)
        full = reward_of(original) or 0.0
        if full < PASS:
            problems.append(Problem(f"reference {script.name}", f"it earns {full}, expected a pass", _SHORT))
        episode = subject.play(stale(script, original, moved, lambda tool: not is_write(subject, tool)))
        where, reward = f"reference {script.name} without looking again", reward_of(episode)
        if reward is None:
            problems.append(ungraded(where, episode))
        elif reward >= PASS:
            problems.append(Problem(where, f"it passes with {reward}", _STALE))
        told.append(f"reference {script.name}: {full}, without looking again {reward}; {sum(map(len, moved))} silent changes")
    return tuple(problems), tuple(told)


def _moved(subject: Subject) -> list[Moved]:
    """What each move of the world changed that the user had not told of by then."""
    start, given, moved = subject.blueprint.start_rows, subject.blueprint.given, list[Moved]()
    texts = [subject.task.request]
    for at, (stage, changes) in enumerate(zip(subject.task.stages, given, strict=True)):
        earlier = {(one.table, one.key): one.after for one in given[at - 1]} if at else {}
        before = {(one.table, one.key): start[one.table].get(one.key) for one in changes} | earlier
        texts.append(stage.request)
        moved.append(moved_between(before, changes, "\n".join(texts)))
    return moved


SILENT = Gate("silent", "Where the world moves between two parts, an agent that does not look again fails, and the reference passes.", _examine)
