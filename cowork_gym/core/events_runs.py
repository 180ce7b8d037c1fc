"""What the policy saw of an episode as events and back: runs, segments and generations, with their tokens as counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypeAlias

from cowork_gym.core.canonical import encode, utf8
from cowork_gym.core.columns import TokenRow, content_digest, token_rows
from cowork_gym.core.episode import Turn
from cowork_gym.core.forms import Event, read_message, read_messages, read_texts, take
from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import Generation, Prefix, Provenance, Purpose, Rewrite, RewriteKind, Run, Segment, Tokens

__all__ = ["read_runs", "run_events"]

_AUTHORS: Mapping[str, Literal["policy", "model", "rule"]] = {"policy": "policy", "model": "model", "rule": "rule"}

_Known: TypeAlias = Mapping[tuple[int, int, int], Tokens]
"""Tokens by run, segment and generation."""


def run_events(runs: Sequence[Run], turns: Sequence[Turn]) -> Iterator[Event]:
    """One event for each run, segment and generation, in order, and one that seals the tokens, if any are known.

    A generation does not repeat what the turns have. Its `said` is left out when it is what its turn said; its `given` is left out when it is
    what came back in the turn of the last kept generation of its segment.

    Raises:
        ValueError: Tokens cannot be kept.
    """
    for run in runs:
        yield {
            "event": "run", "id": run.id, "parent": run.parent, "fork": run.fork, "call": run.call, "handoff": run.handoff, "result": run.result,
            "ending": run.ending, "tools": [*run.tools],
        }
        for at, segment in enumerate(run.segments):
            rewrite = asdict(segment.rewrite) if segment.rewrite else None
            yield {"event": "segment", "run": run.id, "index": at, "rewrite": rewrite, "audit": segment.audit}
            back = None
            for one in segment.generations:
                yield _generation_event(run.id, at, one, back, turns)
                back = _back(one, back, turns)
    if rows := token_rows(runs):
        yield {
            "event": "tokens", "sha256": content_digest(rows), "generations": len(rows), "sampled": sum(len(row.tokens.ids) for row in rows),
            "context": sum(len(row.tokens.context) for row in rows),
        }


def _generation_event(run: int, segment: int, one: Generation, back: tuple[Message, ...] | None, turns: Sequence[Turn]) -> Event:
    turn = _at(one.turn, turns)
    given = {} if back is not None and _same(one.given, back) else {"given": [message.wire() for message in one.given]}
    said = {} if turn is not None and _same((one.said,), (turn.said,)) else {"said": one.said.wire()}
    return {
        "event": "generation", "run": run, "segment": segment, "index": one.index, "purpose": one.purpose, **given, **said, "turn": one.turn,
        "finish": one.finish, "version": one.version, "kept": one.kept, "reason": one.reason,
        "tokens": {"context": len(one.tokens.context), "ids": len(one.tokens.ids)} if one.tokens else None,
    }


def _at(turn: int | None, turns: Sequence[Turn]) -> Turn | None:
    return turns[turn] if turn is not None and 0 <= turn < len(turns) else None


def _back(one: Generation, back: tuple[Message, ...] | None, turns: Sequence[Turn]) -> tuple[Message, ...] | None:
    """What came back in the turn of the last kept generation, after this one."""
    if not one.kept:
        return back
    turn = _at(one.turn, turns)
    return None if turn is None else turn.observation


def _same(some: Sequence[Message], others: Sequence[Message]) -> bool:
    """Whether messages are the same in the file, where arguments are texts."""
    return len(some) == len(others) and all(
        one is other or utf8(encode(one.wire())) == utf8(encode(other.wire())) for one, other in zip(some, others, strict=True)
    )


def read_runs(events: Sequence[Event], turns: Sequence[Turn], rows: Sequence[TokenRow]) -> tuple[Run, ...]:
    """The runs that events tell.

    Args:
        events: Of runs, segments and generations, in order.
        turns: The episode's, which have what generations leave out.
        rows: The tokens, as their file has them.

    Raises:
        ValueError: An event has other fields than `run_events` gives it, a value that cannot be there, or no place; or tokens are missing.
    """
    known: _Known = {row[:3]: row.tokens for row in rows}
    runs, segments, generations = list[dict[str, Any]](), list[dict[str, Any]](), list[Generation]()
    for event in events:
        if event["event"] == "run":
            runs.append({**_run(event), "segments": (segments := [])})
        elif event["event"] == "segment" and runs:
            segments.append({**_segment(event), "generations": (generations := [])})
        elif event["event"] == "generation" and segments:
            generations.append(_generation(event, generations, turns, known))
        else:
            raise ValueError(f"a {event['event']} stands before what it belongs to")
    return tuple([
        Run(**{**run, "segments": tuple([Segment(**{**one, "generations": tuple(one["generations"])}) for one in run["segments"]])}) for run in runs
    ])


def _run(event: Event) -> dict[str, Any]:
    it = take(
        event, event=str, id=int, parent=int | None, fork=int | None, call=str, handoff=str, result=str | None, ending=str, tools=list,
    )
    return {**{name: value for name, value in it.items() if name != "event"}, "tools": read_texts(it["tools"], "tools")}


def _segment(event: Event) -> dict[str, Any]:
    it = take(event, event=str, run=int, index=int, rewrite=dict | None, audit=str)
    return {"rewrite": None if it["rewrite"] is None else _rewrite(it["rewrite"]), "audit": it["audit"]}


def _rewrite(form: Any) -> Rewrite:
    it = take(form, kind=str, by=str, before=dict, after=dict, summary=dict | None)
    summary = None if it["summary"] is None else _provenance(it["summary"])
    return Rewrite(RewriteKind(it["kind"]), it["by"], _prefix(it["before"]), _prefix(it["after"]), summary)


def _prefix(form: Any) -> Prefix:
    return Prefix(**take(form, messages=int, sha256=str))


def _provenance(form: Any) -> Provenance:
    it = take(form, author=str, name=str, message=int, generation=int | None)
    if it["author"] not in _AUTHORS:
        raise ValueError(f"no author {it['author']!r:.40} of summaries")
    return Provenance(_AUTHORS[it["author"]], it["name"], it["message"], it["generation"])


def _generation(event: Event, before: Sequence[Generation], turns: Sequence[Turn], known: _Known) -> Generation:
    it = take(
        event, ("given", "said"), event=str, run=int, segment=int, index=int, purpose=str, given=list | None, said=dict | None, turn=int | None,
        finish=str, version=str, kept=bool, reason=str, tokens=dict | None,
    )
    named, turn = f"generation {it['index']} of run {it['run']}", _at(it["turn"], turns)
    last = next((one for one in reversed(before) if one.kept), None)
    back = None if last is None else _back(last, None, turns)
    given = back if it["given"] is None else read_messages(it["given"])
    said = (turn.said if turn else None) if it["said"] is None else read_message(it["said"])
    if given is None or said is None:
        raise ValueError(f"{named} leaves out what no turn has")
    tokens = known.get((it["run"], it["segment"], it["index"]))
    counts = None if tokens is None else {"context": len(tokens.context), "ids": len(tokens.ids)}
    if it["tokens"] != counts:
        raise ValueError(f"{named} has other tokens than the file of tokens")
    return Generation(
        it["index"], Purpose(it["purpose"]), given, said, it["turn"], it["finish"], it["version"], it["kept"], it["reason"], tokens,
    )
