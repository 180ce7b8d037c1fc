"""What the world saw of an episode as events and back: turns with their dispatches, the ledger, parts that were closed, changed rows."""

from collections.abc import Iterator, Sequence
from typing import Any

from cowork_gym.core.canonical import canonical, decode, exact
from cowork_gym.core.episode import FIRST_VERSION, Dispatch, StageEnd, Turn
from cowork_gym.core.forms import Event, read_message, read_messages, read_texts, take
from cowork_gym.core.ledger import Effect, Ledger
from cowork_gym.core.snapshot import Change

__all__ = ["change_event", "ledger_events", "read_change", "read_ledger", "read_stage", "read_turn", "stage_event", "turn_event"]

def turn_event(turn: Turn, version: int) -> Event:
    """A turn. Where no user answers, it has no field `heard`; the first version has neither the run nor the state."""
    since = {"run": turn.run, "state": turn.state} if version > FIRST_VERSION else {}
    heard = {"heard": [*turn.heard]} if turn.heard else {}
    return {
        "event": "turn", "index": turn.index, "action": turn.action.wire() if turn.action else None,
        "observation": [one.wire() for one in turn.observation], "dispatches": [_dispatch_form(one, version) for one in turn.dispatches],
        "invalid": turn.invalid, "raw": turn.raw, "tokens": turn.tokens, **since, **heard,
    }


def _dispatch_form(dispatch: Dispatch, version: int) -> Event:
    since = {"inner": dispatch.inner} if version > FIRST_VERSION else {}
    return {
        "id": dispatch.id, "tool": dispatch.tool, "status": dispatch.status, "result": dispatch.result, "sequence": dispatch.sequence,
        "replayed": dispatch.replayed, **since,
    }


def read_turn(event: Event, version: int) -> Turn:
    """The turn that an event tells.

    Raises:
        ValueError: It has other fields than `turn_event` gives it, or a value that cannot be there.
    """
    since: dict[str, Any] = {"run": int, "state": str} if version > FIRST_VERSION else {}
    it = take(
        event, ("heard",), event=str, index=int, action=dict | None, observation=list, dispatches=list, invalid=str | None, raw=str | None,
        tokens=int, heard=list | None, **since,
    )
    return Turn(
        it["index"], None if it["action"] is None else read_message(it["action"]), read_messages(it["observation"]),
        tuple([_dispatch(one, version) for one in it["dispatches"]]), it["invalid"], it["raw"], it["tokens"],
        read_texts(it["heard"] or (), "what was heard"), **{name: it[name] for name in since},
    )


def _dispatch(form: Any, version: int) -> Dispatch:
    since: dict[str, Any] = {"inner": bool} if version > FIRST_VERSION else {}
    return Dispatch(**take(form, id=str, tool=str, status=int, result=str, sequence=int | None, replayed=bool, **since))


def ledger_events(ledger: Ledger) -> Iterator[Event]:
    """The links of a ledger, the first one first."""
    for link in reversed([*ledger.links()]):
        yield {"event": "ledger", "body": link.body, "hash": link.hash}


def read_ledger(events: Sequence[Event], head: str) -> Ledger:
    """The ledger, of which every entry and every hash is right.

    Raises:
        ValueError: One is not, or the last hash is not the head.
    """
    links = [take(one, event=str, body=str, hash=str) for one in events]
    for link in links:
        entry = take(
            decode(link["body"]), ("refusal", "actor"), sequence=int, time=str, dispatch=str, service=str, tool=str, effect=str, arguments=dict,
            status=int, outcome=object, audit=str | None, record=dict | None, refusal=str | None, actor=str | None,
        )
        Effect(entry["effect"])
        canonical(entry)  # refuses numbers that are too large to be written out
    ledger = Ledger.read(link["body"] for link in links)
    if [link.hash for link in ledger.links()] != [link["hash"] for link in reversed(links)] or ledger.hash != head or not ledger.verify():
        raise ValueError("the ledger's chain is broken")
    return ledger


def stage_event(stage: StageEnd) -> Event:
    """A part that was closed."""
    return {
        "event": "stage", "turns": stage.turns, "entries": stage.entries, "answer": stage.answer, "fingerprint": stage.fingerprint,
        "changes": [_row(one) for one in stage.changes],
    }


def read_stage(event: Event) -> StageEnd:
    """The part that an event closes.

    Raises:
        ValueError: It has other fields than `stage_event` gives it, or a value that cannot be there.
    """
    it = take(event, event=str, turns=int, entries=int, answer=str | None, fingerprint=str, changes=list)
    changes = tuple([read_change({"event": "change", **one}) for one in it["changes"] if isinstance(one, dict)])
    return StageEnd(it["turns"], it["entries"], it["answer"], changes, it["fingerprint"])


def change_event(change: Change) -> Event:
    """A row that differs between the first and the last state."""
    return {"event": "change", **_row(change)}


def _row(change: Change) -> Event:
    """A change, exact, as a reader will have it: a copy has the same seal."""
    return {"table": change.table, "key": change.key, "before": exact(change.before), "after": exact(change.after)}


def read_change(event: Event) -> Change:
    """The change that an event tells.

    Raises:
        ValueError: It has other fields than `change_event` gives it, or a value that cannot be there.
    """
    it = take(event, event=str, table=str, key=str, before=dict | None, after=dict | None)
    canonical([it["before"], it["after"]])  # refuses numbers that are too large to be written out
    return Change(it["table"], it["key"], it["before"], it["after"])
