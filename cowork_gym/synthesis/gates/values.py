"""The gate `values`: whoever writes or says one thing wrong, or makes one thing more, does not earn what the reference earns."""

from collections.abc import Iterator

from cowork_gym.core.episode import Episode
from cowork_gym.core.task import Execution, Task
from cowork_gym.synthesis.derived import beside
from cowork_gym.synthesis.ends import end_of
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.identifiers import texts_in
from cowork_gym.synthesis.recorded import NONE_WHOLE, extras, script_of, spoils, whole
from cowork_gym.synthesis.rewards import reward_of
from cowork_gym.synthesis.spoils import Spoil

__all__ = ["VALUES"]

_UNSEEN = "let an outcome ask for it; what nobody asks for, a reference need not take from the request or the world"
_MORE = "let an outcome count what is made (`max`), or let `unchanged` allow no more than this"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    if not whole(subject):
        return (), NONE_WHOLE
    at = whole(subject)[0]
    script, original = script_of(subject, at), subject.references[at]
    asked, wrong = _Asked(subject), spoils(subject, script)
    bearing = [(spoil, episode) for spoil, episode in wrong if asked.bears(spoil)]
    problems = [*_unseen(subject, script.name, original, bearing), *_more(subject, script, original, [spoil for spoil, _ in wrong])]
    return tuple(problems), (f"reference {script.name}: {len(bearing)} of {len(wrong)} wrong values stand for something that is asked for",)


class _Asked:
    """What the request, the world and the user say; what a reference says beyond it is its own wording."""

    def __init__(self, subject: Subject) -> None:
        self._requests = _folded("\n".join(_requests(subject.task)))
        moves = [change.fields for stage in subject.task.stages for change in stage.changes]
        told = texts_in([subject.task.dialogue, *subject.blueprint.start_rows.values(), *moves])
        self._all = _folded("\n".join([*_requests(subject.task), *told]))

    def bears(self, spoil: Spoil) -> bool:
        """Whether what was replaced is no matter of wording. In messages only the lines count that a request asks for."""
        if spoil.call is None:
            return spoil.replaced is not None and spoil.replaced.endswith(":") and _folded(spoil.replaced) in self._requests
        return spoil.replaced is None or _folded(spoil.replaced) in self._all


def _requests(task: Task) -> Iterator[str]:
    yield task.request
    yield from (stage.request for stage in task.stages)


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("：", ":").split())


def _unseen(subject: Subject, name: str, original: Episode, wrong: list[tuple[Spoil, Episode]]) -> Iterator[Problem]:
    """Wrong values leave the same world, or cost something."""
    marks = subject.blueprint.marks
    for spoil, episode in wrong:
        if _full(episode) and (spoil.call is None or end_of(episode, marks) != end_of(original, marks)):
            found = f"with something else in place of {spoil.replaced or 'its value'!r}, it still earns everything"
            yield Problem(f"reference {name}, {spoil.where}", found, _UNSEEN)


def _more(subject: Subject, script: Execution, original: Episode, wrong: list[Spoil]) -> Iterator[Problem]:
    """Everything done, and one thing more: a write with a wrong value beside the right one, or any call that writes."""
    more = dict(extras(subject, script))
    for one in wrong:
        if one.call is not None:
            more[f"{one.where}: {one.value!r}"] = subject.play(beside(script, one.call, one.path, one.value))
    marks = subject.blueprint.marks
    end = end_of(original, marks)
    for what, episode in more.items():
        if _full(episode) and end_of(episode, marks) != end:
            yield Problem(f"reference {script.name} and one thing more: {what}", "the world is another one, and it still earns everything", _MORE)


def _full(episode: Episode) -> bool:
    return reward_of(episode) == 1


VALUES = Gate("values", "Each wrong value, and one thing more than was asked for, costs something.", _examine, once=True)
