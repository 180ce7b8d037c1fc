"""What a record itself tells of its answers: enough for sanitisation where nobody else has looked."""

from collections.abc import Callable
from typing import TypeAlias

from cowork_gym.core.episode import Episode
from cowork_gym.core.grade import Part
from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sft.sanitise import Finding, Repair

__all__ = ["Examine", "examine_record"]

Examine: TypeAlias = Callable[[Episode, Dialogue], "Finding | tuple[Finding, Repair]"]
"""Says what is wrong with a dialogue of an episode, and may bring a repair."""

_FLAWS = frozenset({"cut off", "empty answer", "invalid action", "refused call"})
_MOST = 0.5
"""The share of new answers that may be flawed before none of them is an example; ours."""


def examine_record(episode: Episode, dialogue: Dialogue) -> Finding:
    """What the record tells of a dialogue.

    Where more than half of the new answers are invalid, refused, empty or cut off, all of it is unreliable. From the first call of a forbidden
    tool on, nothing is valid. Single flawed answers were masked when the dialogue was built.
    """
    answers = [one for one in dialogue.utterances if one.message.role == "assistant"]
    flawed = sum(one.why in _FLAWS for one in answers)
    if flawed > _MOST * (flawed + dialogue.supervised):
        return Finding(unreliable=True, why="mostly flawed answers")
    broken = _forbidden(episode)
    first = next((at for at, one in enumerate(answers) if any(call.name in broken for call in one.message.tool_calls)), None)
    return Finding() if first is None else Finding(first_bad_turn=first, why="forbidden call")


def _forbidden(episode: Episode) -> set[str]:
    """The tools whose call broke the safety gate."""
    checks = episode.grade.checks if episode.grade else ()
    return {one.id.partition(":")[2] for one in checks if one.part is Part.FORBIDDEN and not one.passed}
