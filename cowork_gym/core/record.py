"""The file of an episode: JSON lines, sealed with a sha256. The grade stands after the seal, so it can be given again."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cowork_gym.core.canonical import canonical, decode, encode
from cowork_gym.core.episode import Dispatch, Ending, Episode, Turn
from cowork_gym.core.errors import Blame, CoworkError, FaultRecord, PackageError
from cowork_gym.core.grade import CheckResult, Grade, Part
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import Message
from cowork_gym.core.snapshot import Change

__all__ = ["SCHEMA_VERSION", "read_episode", "seal", "write_episode"]

SCHEMA_VERSION = 0
"""Of the episode file: one run of one segment."""

_Event = Mapping[str, Any]


def seal(episode: Episode) -> str:
    """sha256 over everything but the grade, in hex."""
    return _sha256(_sealed(episode))


def write_episode(episode: Episode, folder: Path) -> Path:
    """Write an episode as JSON lines, whole or not at all.

    Returns:
        The file: `<task>-<agent>-<seed>-<seal>.jsonl` in `folder`, which is made if need be.
    """
    sealed = _sealed(episode)
    sha256 = _sha256(sealed)
    lines = [sealed, _line({"event": "seal", "sha256": sha256})]
    if episode.grade is not None:
        lines.append(_line({"event": "grade", **episode.grade.to_dict()}))
    name = f"{episode.task}-{episode.agent[:60]}-{episode.seed}-{sha256[:8]}.jsonl"
    path = folder / "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(b"\n".join(lines) + b"\n")
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def read_episode(path: Path) -> Episode:
    """An episode from its file, verified against its seal.

    Raises:
        PackageError: The file is not an episode, is of another schema version, is cut off, or was changed.
    """
    try:
        lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
        events = [decode(line) for line in lines]
    except (OSError, ValueError) as error:
        raise PackageError(path, "", f"not an episode file: {error}") from None
    if not all(isinstance(event, dict) for event in events) or events[0].get("event") != "episode":
        raise PackageError(path, "line 1", "not an episode file")
    if (version := events[0].get("schema_version")) != SCHEMA_VERSION:
        raise PackageError(path, "schema_version", f"this reader knows version {SCHEMA_VERSION}, the file has {version}")
    at = next((at for at, event in enumerate(events) if event.get("event") == "seal"), None)
    if at is None:
        raise PackageError(path, "", "the seal is missing: the file is cut off")
    if _sha256(b"\n".join(lines[:at])) != events[at].get("sha256"):
        raise PackageError(path, f"line {at + 1}", "the seal does not match: the file was changed")
    try:
        grades = [_grade(event) for event in events[at + 1 :] if event.get("event") == "grade"]
        return _episode(events[:at], grades[-1] if grades else None)
    except (LookupError, TypeError, ValueError, CoworkError) as error:
        raise PackageError(path, "", f"not an episode file of version {SCHEMA_VERSION}: {error}") from None


def _sealed(episode: Episode) -> bytes:
    return b"\n".join(_lines(episode))


def _sha256(sealed: bytes) -> str:
    return hashlib.sha256(sealed).hexdigest()


def _line(event: _Event) -> bytes:
    """One line. What an agent wrote may hold a lone surrogate: its escape is JSON as well."""
    return encode(event).encode("utf-8", "backslashreplace")


def _lines(episode: Episode) -> Iterator[bytes]:
    yield _line({
        "event": "episode", "schema_version": SCHEMA_VERSION, "task": episode.task, "release_id": episode.release_id, "seed": episode.seed,
        "agent": episode.agent, "start": episode.start, "opening": [one.wire() for one in episode.opening],
    })
    for turn in episode.turns:
        yield _line({
            "event": "turn", "index": turn.index, "action": turn.action.wire() if turn.action else None,
            "observation": [one.wire() for one in turn.observation], "dispatches": [_fields(one) for one in turn.dispatches], "invalid": turn.invalid,
        })
    for link in reversed([*episode.ledger.links()]):
        yield _line({"event": "ledger", "body": link.body, "hash": link.hash})
    for change in episode.changes:  # in canonical form: each number has one spelling, so that a copy has the same seal
        row = {"event": "change", "table": change.table, "key": change.key, "before": change.before, "after": change.after}
        yield canonical(row).encode()
    yield _line({
        "event": "end", "ending": episode.ending, "answer": episode.answer, "fault": asdict(episode.fault) if episode.fault else None,
        "fingerprint": episode.end, "ledger": episode.ledger.hash,
    })


def _fields(dispatch: Dispatch) -> _Event:
    return {name: getattr(dispatch, name) for name in Dispatch.__slots__}


def _episode(events: Sequence[_Event], grade: Grade | None) -> Episode:
    head, end = events[0], events[-1]
    by = {kind: [one for one in events if one["event"] == kind] for kind in ("turn", "ledger", "change")}
    return Episode(
        task=head["task"], release_id=head["release_id"], seed=head["seed"], agent=head["agent"], start=head["start"],
        opening=_messages(head["opening"]), turns=tuple(_turn(one) for one in by["turn"]),
        ledger=Ledger.read(one["body"] for one in by["ledger"]),
        changes=tuple(Change(one["table"], one["key"], one["before"], one["after"]) for one in by["change"]),
        end=end["fingerprint"], ending=Ending(end["ending"]), answer=end["answer"], fault=_fault(end["fault"]), grade=grade,
    )


def _messages(forms: Sequence[_Event]) -> tuple[Message, ...]:
    return tuple(Message.parse(form) for form in forms)


def _turn(event: _Event) -> Turn:
    action = Message.parse(event["action"]) if event["action"] else None
    dispatches = tuple(Dispatch(**one) for one in event["dispatches"])
    return Turn(event["index"], action, _messages(event["observation"]), dispatches, event["invalid"])


def _fault(form: _Event | None) -> FaultRecord | None:
    return FaultRecord(Blame(form["blame"]), form["where"], form["message"]) if form else None


def _grade(event: _Event) -> Grade:
    fields = {name: _floats(value) for name, value in event.items() if name not in {"event", "passed"}}
    fields["checks"] = tuple(_check(one) for one in event["checks"])
    fields["fault"] = _fault(event["fault"])
    return Grade(**fields)


def _check(form: _Event) -> CheckResult:
    return CheckResult(**{**form, "part": Part(form["part"]), "weight": float(form["weight"]), "evidence": tuple(form["evidence"])})


def _floats(value: Any) -> Any:
    """Numbers of a grade are floats; the exact reader gives decimals and integers."""
    if isinstance(value, Mapping):
        return {key: _floats(item) for key, item in value.items()}
    return value if isinstance(value, str | list | None) else float(value)
