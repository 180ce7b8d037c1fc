"""The gate `silent`: whoever does not look again after the world has moved fails, and the reference, which does, passes."""

from cowork_gym.core.episode import Episode
from cowork_gym.core.grade import PASS
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.recorded import NONE_WHOLE, is_write, script_of, whole
from cowork_gym.synthesis.rewards import reward_of, ungraded
from cowork_gym.synthesis.stale import Moved, moved_between, stale

__all__ = ["SILENT"]

_STALE = "let a later part need a value that has changed, or let an outcome ask that it was read (`tool_called_with` with `stage`)"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    if not any(stage.changes for stage in subject.task.stages):
        return (), ("the world does not move",)
    problems, told = list[Problem](), list[str]()
    for at in whole(subject):
        script, original = script_of(subject, at), subject.references[at]
        moved = _moved(subject, original)
        episode = subject.play(stale(script, original, moved, lambda tool: not is_write(subject, tool)))
        where, reward = f"reference {script.name} without looking again", reward_of(episode)
        if reward is None:
            problems.append(ungraded(where, episode))
        elif reward >= PASS:
            problems.append(Problem(where, f"it passes with {reward}", _STALE))
        told.append(f"reference {script.name}: 1, without looking again {reward}; {sum(map(len, moved))} things it would not know")
    return tuple(problems), tuple(told) or NONE_WHOLE


def _moved(subject: Subject, original: Episode) -> list[Moved]:
    """What each move of the world changed and the agent would not know without looking again."""
    start, given, moved, told = subject.blueprint.start_rows, subject.blueprint.given, list[Moved](), [subject.task.request]
    for at, (stage, end, changes) in enumerate(zip(subject.task.stages, original.stages, given, strict=False)):
        earlier = {(one.table, one.key): one.after for one in given[at - 1]} if at else {}
        before = {(one.table, one.key): start[one.table].get(one.key) for one in changes} | earlier
        seen = "\n".join(one.content or "" for turn in original.turns[: end.turns] for one in turn.observation)
        told.append(stage.request)
        moved.append(moved_between(before, changes, "\n".join(told), seen))
    return moved


SILENT = Gate("silent", "Where the world moves between two parts, an agent that does not look again fails, and the reference passes.", _examine)
