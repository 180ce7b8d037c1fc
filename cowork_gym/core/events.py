"""An episode as events, one for each line of its file, and back. The way back trusts nothing: it is the form of the file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from cowork_gym.core.canonical import canonical, decode, exact
from cowork_gym.core.episode import SCHEMA_VERSION, Dispatch, Ending, Episode, StageEnd, Turn
from cowork_gym.core.errors import Blame, FaultRecord
from cowork_gym.core.grade import CheckResult, Grade, JudgeMark, Part
from cowork_gym.core.ledger import Effect, Ledger
from cowork_gym.core.messages import Message, Role, ToolCall
from cowork_gym.core.snapshot import Change

__all__ = ["Event", "events_of", "grade_event", "read_events", "read_grade"]

Event = Mapping[str, Any]
"""What a line says; `event` is its kind."""

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_NUMBERS = ("reward", "completion", "safety", "robustness", "outcome")


def events_of(episode: Episode) -> Iterator[Event]:
    """What is sealed: all of an episode but its grade."""
    yield {
        "event": "episode", "schema_version": SCHEMA_VERSION, "task": episode.task, "release_id": episode.release_id, "seed": episode.seed,
        "agent": episode.agent, "start": episode.start, "opening": [one.wire() for one in episode.opening],
    }
    yield from map(_turn_event, episode.turns)
    for link in reversed([*episode.ledger.links()]):
        yield {"event": "ledger", "body": link.body, "hash": link.hash}
    for stage in episode.stages:
        yield {
            "event": "stage", "turns": stage.turns, "entries": stage.entries, "answer": stage.answer, "fingerprint": stage.fingerprint,
            "changes": [_row(one) for one in stage.changes],
        }
    for change in episode.changes:
        yield {"event": "change", **_row(change)}
    yield {
        "event": "end", "ending": episode.ending, "answer": episode.answer, "fault": asdict(episode.fault) if episode.fault else None,
        "fingerprint": episode.end, "ledger": episode.ledger.hash,
    }


def _turn_event(turn: Turn) -> Event:
    heard = {"heard": [*turn.heard]} if turn.heard else {}  # where no user answers, a turn has no such field
    return {
        "event": "turn", "index": turn.index, "action": turn.action.wire() if turn.action else None,
        "observation": [one.wire() for one in turn.observation], "dispatches": [_fields(one) for one in turn.dispatches],
        "invalid": turn.invalid, "raw": turn.raw, "tokens": turn.tokens, **heard,
    }


def _row(change: Change) -> Event:
    """A change, exact, as a reader will have it: a copy has the same seal."""
    return {"table": change.table, "key": change.key, "before": exact(change.before), "after": exact(change.after)}


def grade_event(grade: Grade) -> Event:
    """A grade, which stands after the seal."""
    return {"event": "grade", **grade.to_dict()}


def read_events(events: Sequence[Event]) -> Episode:
    """The episode that these events tell, without a grade.

    Raises:
        ValueError: One has other fields than `events_of` gives it, or a value that cannot be there; or they contradict each other.
    """
    head = _take(events[0], event=str, schema_version=int, task=str, release_id=str, seed=int, agent=str, start=str, opening=list)
    end = _take(events[-1], event=str, ending=str, answer=str | None, fault=dict | None, fingerprint=str, ledger=str)
    by: dict[str, list[Event]] = {"turn": [], "ledger": [], "change": [], "stage": []}
    for event in events[1:-1]:
        by.setdefault(event["event"], []).append(event)
    episode = Episode(
        task=head["task"], release_id=head["release_id"], seed=head["seed"], agent=head["agent"], start=head["start"],
        opening=_messages(head["opening"]), turns=tuple([_turn(one) for one in by["turn"]]), ledger=_ledger(by["ledger"], end["ledger"]),
        stages=tuple([_stage(one) for one in by["stage"]]),
        changes=tuple([_change(one) for one in by["change"]]), end=end["fingerprint"], ending=Ending(end["ending"]), answer=end["answer"],
        fault=_fault(end["fault"]),
    )
    if [turn.index for turn in episode.turns] != [*range(len(episode.turns))]:
        raise ValueError("a turn is missing, or comes twice")
    if episode.ending is Ending.FINAL and episode.answer != (episode.turns[-1].said.content if episode.turns else None):
        raise ValueError("the answer is not what the last turn says")
    _check_parts(episode)
    return episode


def _check_parts(episode: Episode) -> None:
    """See that each part was closed where the turns and the ledger say so, by the message that it names."""
    turns, entries = 0, 0
    for stage in episode.stages:
        if not (turns < stage.turns <= len(episode.turns) and entries <= stage.entries <= len(episode.ledger)):
            raise ValueError("a part is closed where no turn or entry is, or before the part that it follows")
        turns, entries, closing = stage.turns, stage.entries, episode.turns[stage.turns - 1]
        if closing.action is None or closing.action.tool_calls or closing.action.content != stage.answer:
            raise ValueError("a part is closed by another message than its turn says")
        for turn in episode.turns:
            if any(one.sequence is not None and not one.replayed and (one.sequence <= entries) is (turn.index >= turns) for one in turn.dispatches):
                raise ValueError("a part is closed before a call that was made in it, or after one of the next")


def read_grade(event: Event) -> Grade:
    """The grade that an event tells.

    Raises:
        ValueError: It has other fields than `grade_event` gives it, or a value that cannot be there.
    """
    texts: dict[str, Any] = dict.fromkeys(("event", "task", "release_id", "grader_version", "spec", "seal"), str)
    numbers: dict[str, Any] = dict.fromkeys(_NUMBERS, object)
    form = _take(event, **texts, **numbers, rewards=dict, checks=list, fault=dict | None, passed=bool)
    return Grade(
        task=form["task"], release_id=form["release_id"], grader_version=form["grader_version"], spec=form["spec"],
        **{name: None if form[name] is None else _share(form[name]) for name in _NUMBERS},
        rewards={name: _share(value) for name, value in form["rewards"].items()}, checks=tuple([_check(one) for one in form["checks"]]),
        seal=form["seal"], fault=_fault(form["fault"]),
    )


def _fields(dispatch: Dispatch) -> Event:
    return {name: getattr(dispatch, name) for name in Dispatch.__slots__}


def _take(form: Any, /, optional: Sequence[str] = (), **kinds: Any) -> dict[str, Any]:
    """A form whose fields are exactly these, and of these kinds; a truth value is no number. Optional fields are None when left out."""
    if isinstance(form, dict):
        form = {**dict.fromkeys(optional), **form}
    if not isinstance(form, dict) or form.keys() != kinds.keys():
        raise ValueError(f"expected the fields {', '.join(kinds)}")
    for name, kind in kinds.items():
        value = form[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{name} cannot be of type {type(value).__name__}")
    return form


def _messages(forms: Sequence[Any]) -> tuple[Message, ...]:
    return tuple([_message(form) for form in forms])


def _message(form: Any) -> Message:
    """A message in exactly the form in which `Message.wire` gives it."""
    it = _take(
        form, ("tool_calls", "tool_call_id", "name"), role=str, content=str | None, tool_calls=list | None, tool_call_id=str | None, name=str | None,
    )
    if it["role"] not in _ROLES:
        raise ValueError(f"no role {it['role']!r:.40}")
    return Message(_ROLES[it["role"]], it["content"], tuple([_call(one) for one in it["tool_calls"] or ()]), it["tool_call_id"], it["name"])


def _call(form: Any) -> ToolCall:
    it = _take(form, id=str | None, type=str, function=dict)
    function = _take(it["function"], name=str, arguments=str)
    return ToolCall(function["name"], function["arguments"], it["id"])


def _turn(event: Event) -> Turn:
    it = _take(
        event, ("heard",), event=str, index=int, action=dict | None, observation=list, dispatches=list, invalid=str | None, raw=str | None,
        tokens=int, heard=list | None,
    )
    if not all(isinstance(one, str) for one in it["heard"] or ()):
        raise ValueError("what was heard is a list of texts")
    action = None if it["action"] is None else _message(it["action"])
    return Turn(it["index"], action, _messages(it["observation"]), tuple([_dispatch(one) for one in it["dispatches"]]), it["invalid"], it["raw"],
                it["tokens"], tuple(it["heard"] or ()))


def _dispatch(form: Any) -> Dispatch:
    return Dispatch(**_take(form, id=str, tool=str, status=int, result=str, sequence=int | None, replayed=bool))


def _ledger(events: Sequence[Event], head: str) -> Ledger:
    """The ledger, of which every entry and every hash is right."""
    links = [_take(one, event=str, body=str, hash=str) for one in events]
    for link in links:
        entry = _take(
            decode(link["body"]), ("refusal", "actor"), sequence=int, time=str, dispatch=str, service=str, tool=str, effect=str, arguments=dict,
            status=int, outcome=object, audit=str | None, record=dict | None, refusal=str | None, actor=str | None,
        )
        Effect(entry["effect"])
        canonical(entry)  # refuses numbers that are too large to be written out
    ledger = Ledger.read(link["body"] for link in links)
    if [link.hash for link in ledger.links()] != [link["hash"] for link in reversed(links)] or ledger.hash != head or not ledger.verify():
        raise ValueError("the ledger's chain is broken")
    return ledger


def _stage(event: Event) -> StageEnd:
    it = _take(event, event=str, turns=int, entries=int, answer=str | None, fingerprint=str, changes=list)
    changes = tuple([_change({"event": "change", **one}) for one in it["changes"] if isinstance(one, dict)])
    return StageEnd(it["turns"], it["entries"], it["answer"], changes, it["fingerprint"])


def _change(event: Event) -> Change:
    it = _take(event, event=str, table=str, key=str, before=dict | None, after=dict | None)
    canonical([it["before"], it["after"]])  # refuses numbers that are too large to be written out
    return Change(it["table"], it["key"], it["before"], it["after"])


def _fault(form: Any) -> FaultRecord | None:
    if form is None:
        return None
    it = _take(form, blame=str, where=str, message=str)
    return FaultRecord(Blame(it["blame"]), it["where"], it["message"])


def _check(form: Any) -> CheckResult:
    it = _take(
        form, ("judge",), id=str, kind=str, part=str, passed=bool, weight=object, reason=str, evidence=list, judge=dict | None,
    )
    if not all(isinstance(one, str) for one in it["evidence"]):
        raise ValueError("evidence is a list of texts")
    read = {"part": Part(it["part"]), "weight": _share(it["weight"]), "evidence": tuple(it["evidence"]), "judge": _mark(it["judge"])}
    return CheckResult(**{**it, **read})


def _mark(form: Any) -> JudgeMark | None:
    if form is None:
        return None
    it = _take(form, model=str, prompt=str, question=str, levels=list)
    if not all(type(one) is int for one in it["levels"]):
        raise ValueError("levels are whole numbers")
    return JudgeMark(**{**it, "levels": tuple(it["levels"])})


def _share(value: Any) -> float:
    """A number from 0 to 1, which a grade has as a float."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value <= 1:
        raise ValueError(f"not a number from 0 to 1: {str(value)[:40]}")
    return float(value)
