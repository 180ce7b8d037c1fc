"""What differs between a record and its replay: the first turn, the first result, and the first row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cowork_gym.core.canonical import canonical
from cowork_gym.core.episode import Dispatch, Turn
from cowork_gym.core.errors import Blame, FaultRecord, UserError
from cowork_gym.core.messages import ToolCall
from cowork_gym.core.snapshot import Change
from cowork_gym.core.wording import counted
from cowork_gym.graders.matchers import show

__all__ = ["Difference", "Mismatch", "Row", "compare", "first_row"]


class Row(NamedTuple):
    """A row that a replay leaves otherwise than the record has it."""

    table: str
    key: str
    recorded: Any
    """The record as agents see it; None when it is not there."""
    replayed: Any

    def __str__(self) -> str:
        if self.recorded is None or self.replayed is None:
            there, gone = ("replay", "record") if self.recorded is None else ("record", "replay")
            return f"{self.table}/{self.key} is there in the {there} and not in the {gone}"
        names = sorted({*self.recorded, *self.replayed})
        field = next(name for name in names if canonical(self.recorded.get(name)) != canonical(self.replayed.get(name)))
        recorded, replayed = show(self.recorded.get(field)), show(self.replayed.get(field))
        return f"{self.table}/{self.key} has {field} {recorded} in the record and {replayed} in the replay"


class Mismatch(UserError):
    """A replay that came to something else than the record. The environment is to blame: equal actions must lead to equal states.

    Args:
        turn: The first turn that differs; None where the beginning or the end of the episode does.
        what: What differs, as a word: `start`, `calls`, `result`, `observation`, `state`, `ledger`, `end`, `prompt`.
        text: The same as a sentence.
        row: The first row that differs once all actions were taken; None when none does, or when it cannot be found out.
    """

    def __init__(self, turn: int | None, what: str, text: str, row: Row | None = None) -> None:
        self.turn, self.what, self.row = turn, what, row
        super().__init__(text if row is None else f"{text}; the first row that differs in the end: {row}")

    @property
    def fault(self) -> FaultRecord:
        """The same as a fault."""
        return FaultRecord(Blame.ENVIRONMENT, "replay", str(self))


class Difference(NamedTuple):
    """Something that came out otherwise."""

    what: str
    """As `Mismatch` names it."""
    text: str
    """As a sentence."""


def first_row(recorded: Sequence[Change], replayed: Sequence[Change]) -> Row | None:
    """The first row that two episodes of one task left differently."""
    ours, theirs = ({(one.table, one.key): one for one in changes} for changes in (recorded, replayed))
    for table, key in sorted({*ours, *theirs}):
        one, other = ours.get((table, key)), theirs.get((table, key))
        row = Row(table, key, one.after if one else other and other.before, other.after if other else one and one.before)
        if canonical(row.recorded) != canonical(row.replayed):
            return row
    return None


def compare(turn: Turn, got: Turn) -> Difference | None:
    """What differs between a recorded turn and a replayed one. What was no action has done nothing, so that the record is right about it."""
    if (got.index, got.run, got.invalid is None) != (turn.index, turn.run, turn.invalid is None):
        return Difference("calls", "it is another turn")
    if len(got.dispatches) != len(turn.dispatches):
        return Difference("calls", f"{counted(len(got.dispatches), 'call')} of {len(turn.dispatches)} came about")
    calls = turn.action.tool_calls if turn.action else ()
    for call, recorded, replayed in zip(calls, turn.dispatches, got.dispatches, strict=False):
        if recorded != replayed and not _is_free(call, recorded, replayed):
            return Difference("result", f"{call.name} gave {_told(replayed)}, not {_told(recorded)}")
    if turn.invalid is None and len(got.observation) != len(turn.observation):
        return Difference("observation", f"{counted(len(got.observation), 'message')} came back, not {len(turn.observation)}")
    for old, new in zip(turn.observation, got.observation, strict=False):
        if old != new and new.role == "user" and turn.invalid is None:
            return Difference("observation", f"{show(new.content)} came back, not {show(old.content)}")
    if turn.state and got.state != turn.state:
        return Difference("state", "the state after it is another one")
    return None


def _is_free(call: ToolCall, recorded: Dispatch, replayed: Dispatch) -> bool:
    """Whether a call was refused before it reached a service for what no JSON text can hold: the replay refuses it in other words."""
    refused = recorded.sequence is None and replayed.sequence is None and recorded.status >= 400 and replayed.status >= 400
    return refused and isinstance(call.arguments, str) and call.arguments.startswith('{"$refused":')


def _told(dispatch: Dispatch) -> str:
    entry = "no entry" if dispatch.sequence is None else f"entry {dispatch.sequence}"
    return f"{dispatch.status} {show(dispatch.result)} with {entry} under {dispatch.id!r}"
