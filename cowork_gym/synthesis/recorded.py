"""What is made from a task's references, played: with calls dropped, doubled, aimed elsewhere, spoiled, and with forbidden ones added."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Episode
from cowork_gym.core.ids import generator
from cowork_gym.core.ledger import Effect
from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import Execution
from cowork_gym.envs.sampling import sample_arguments
from cowork_gym.synthesis.derived import appended, astray, beside, calls_of, doubled, dropped, leaves, spoken
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.lookalikes import Lookalikes
from cowork_gym.synthesis.rewards import reward_of
from cowork_gym.synthesis.spoils import Spoil, spoiled

__all__ = [
    "NONE_WHOLE",
    "Stray",
    "doubles",
    "drops",
    "extras",
    "is_write",
    "overreaches",
    "script_of",
    "spoils",
    "strays",
    "whole",
    "without_writes",
    "writes_of",
]


NONE_WHOLE = ("no reference earns everything, so that nothing can be told from what is made of it",)
"""Evidence where `whole` finds none."""
_EXTRAS = 3


class Stray(NamedTuple):
    """Two episodes in which one write went to a look-alike."""

    call: int
    where: str
    """The argument, such as `attendees.0`."""
    meant: str
    met: str
    """The look-alike."""
    instead: Episode
    besides: Episode
    """The right one was written to as well."""


def whole(subject: Subject) -> tuple[int, ...]:
    """The places of the references that earn everything. What is made from another one would say nothing; the gate `reference` tells of it."""
    return tuple(at for at, episode in enumerate(subject.references) if reward_of(episode) == 1)


def script_of(subject: Subject, reference: int) -> Execution:
    """What a reference says, to the letter."""
    return spoken(subject.references[reference], subject.task.references[reference].name)


def is_write(subject: Subject, tool: str) -> bool:
    """Whether a tool is one of the task's and writes."""
    door = subject.blueprint.tools.get(tool)
    return door is not None and door.tool.effect is Effect.WRITE


def writes_of(subject: Subject, script: Execution) -> tuple[int, ...]:
    """The numbers of the calls that write."""
    return tuple(number for number, call in enumerate(calls_of(script)) if is_write(subject, call.name))


def drops(subject: Subject, script: Execution, calls: Iterable[int]) -> Mapping[int, Episode]:
    """Each of these calls left out, by its number."""
    return {number: subject.play(dropped(script, [number])) for number in calls}


def without_writes(subject: Subject, script: Execution) -> Episode | None:
    """Every write left out; None where nothing is written."""
    writes = writes_of(subject, script)
    return subject.play(dropped(script, writes, "drop:every write")) if writes else None


def doubles(subject: Subject, script: Execution, calls: Iterable[int]) -> Mapping[int, Episode]:
    """Each of these calls made twice, by its number."""
    return {number: subject.play(doubled(script, number)) for number in calls}


def strays(subject: Subject, script: Execution, writes: Iterable[int]) -> tuple[Stray, ...]:
    """Each of these calls aimed at a look-alike, one argument at a time."""
    lookalikes, calls, found = Lookalikes(subject.blueprint.start_rows), calls_of(script), list[Stray]()
    for number in writes:
        for path, value in leaves(calls[number].decoded()):
            if (other := lookalikes.of(value)) is not None:
                instead, besides = subject.play(astray(script, number, path, other)), subject.play(beside(script, number, path, other))
                found.append(Stray(number, ".".join(map(str, path)), value, other, instead, besides))
    return tuple(found)


def spoils(subject: Subject, script: Execution) -> tuple[tuple[Spoil, Episode], ...]:
    """Each value that is written, and each line of a message, replaced by a wrong one."""
    schemas = {name: door.tool.parameters for name, door in subject.blueprint.tools.items()}
    return tuple((one, subject.play(one.execution)) for one in spoiled(script, writes_of(subject, script), schemas))


def extras(subject: Subject, script: Execution) -> Mapping[str, Episode]:
    """Everything done, and then one call more of a tool that writes; some for each tool, by what was called."""
    episodes = dict[str, Episode]()
    for tool, door in subject.blueprint.tools.items():
        for at in range(_EXTRAS) if is_write(subject, tool) else ():
            call = ToolCall(tool, sample_arguments(door.tool.parameters, generator(subject.seed, f"{tool}{at}")))
            episodes[f"{tool} {encode(call.decoded())}"] = subject.play(appended(script, call, f"extra:{tool} {at}"))
    return episodes


def overreaches(subject: Subject, script: Execution) -> tuple[Episode, ...]:
    """Everything done, and then one call of a forbidden tool; for each that the task permits."""
    episodes = list[Episode]()
    for tool in subject.contract.forbidden_tools:
        if (door := subject.blueprint.tools.get(tool)) is not None:
            call = ToolCall(tool, sample_arguments(door.tool.parameters, generator(subject.seed, tool)))
            episodes.append(subject.play(appended(script, call, f"overreach:{tool}")))
    return tuple(episodes)
