"""The file of an episode: JSON lines, sealed with a sha256. Grades stand after the seal, each bound to it, so that one can be given again.

Tokens stand in a file beside it, whose content the record seals: `x.jsonl` has its tokens in `x.arrow`.
"""

import hashlib
from itertools import zip_longest
from pathlib import Path

from cowork_gym.core.canonical import decode, encode, utf8
from cowork_gym.core.columns import SUFFIX, TokenRow, need_arrow, read_columns, token_rows, write_columns
from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.events import VERSIONS, events_of, read_events
from cowork_gym.core.events_grade import grade_event, read_grade
from cowork_gym.core.files import write_whole
from cowork_gym.core.forms import Event, take
from cowork_gym.core.grade import Grade

__all__ = ["append_grade", "read_episode", "seal", "write_episode"]

_UNREADABLE = (ValueError, RecursionError)


def seal(episode: Episode) -> str:
    """sha256 over everything but the grade, in hex.

    Raises:
        ValueError: The episode has no form, as `events_of` says.
    """
    return _sha256(b"\n".join(_sealed(episode)))


def write_episode(episode: Episode, folder: str | Path, *, stem: str | None = None) -> Path:
    """Write an episode as JSON lines, whole or not at all; its tokens first, into the file beside it.

    Args:
        episode: The episode.
        folder: Where to; it is made if need be.
        stem: The file's name without its suffix; by default `<task>-<agent>-<seed>-<seal>`, of which long parts are cut.

    Returns:
        The file.

    Raises:
        UserError: The grade is that of another episode.
        MissingExtra: The episode has tokens, and the library that writes them is not installed. Nothing is written then.
        ValueError: The episode has no form, as `events_of` says.
        OSError: The file cannot be written.
    """
    lines = _sealed(episode)
    sha256 = _sha256(b"\n".join(lines))
    lines.append(_seal_line(sha256))
    if episode.grade is not None:
        if episode.grade.seal != sha256:
            raise UserError(f"the grade is not of this episode of {episode.task}: it names another seal")
        lines.append(_grade_line(episode.grade))
    path, rows = Path(folder, f"{_name(episode, sha256) if stem is None else stem}.jsonl"), token_rows(episode.runs)
    if rows:
        need_arrow()
    path.parent.mkdir(parents=True, exist_ok=True)
    if rows:
        write_columns(path.with_suffix(SUFFIX), rows)
    write_whole(path, b"\n".join(lines) + b"\n")
    return path


def append_grade(path: str | Path, grade: Grade) -> None:
    """Put one more grade behind the others of a sealed record, whose lines stay byte for byte.

    Raises:
        UserError: The grade is that of another episode.
        OSError: The file cannot be read or written.
    """
    kept = Path(path).read_bytes().removesuffix(b"\n")
    if _seal_line(grade.seal) not in kept.split(b"\n"):
        raise UserError(f"{path}: the grade is not of this episode: it names another seal")
    write_whole(Path(path), b"\n".join([kept, _grade_line(grade)]) + b"\n")


def read_episode(path: str | Path) -> Episode:
    """An episode from its file, verified against its seal. Of several grades the last one counts.

    Raises:
        PackageError: The file is not an episode, is of another schema version, is cut off, or was changed; or so is that of its tokens.
        MissingExtra: It has tokens, and the library that reads them is not installed.
    """
    try:
        lines = Path(path).read_bytes().removesuffix(b"\n").split(b"\n")
        events = [decode(line) for line in lines]
    except OSError as error:
        raise PackageError(path, "", f"not an episode file: {error.strerror}") from None
    except ValueError as error:
        raise PackageError(path, "", f"not an episode file: {error}") from None
    if not all(isinstance(event, dict) and isinstance(event.get("event"), str) for event in events) or events[0]["event"] != "episode":
        raise PackageError(path, "line 1", "not an episode file")
    version = events[0].get("schema_version")
    if type(version) is not int or version not in VERSIONS:
        problem = f"this reader knows versions {VERSIONS[0]} to {VERSIONS[-1]}, the file has {version!r:.40}"
        raise PackageError(path, "schema_version", problem)
    at = next((at for at, event in enumerate(events) if event["event"] == "seal"), None)
    if at is None:
        raise PackageError(path, "", "the seal is missing: the file is cut off")
    sha256 = _sha256(b"\n".join(lines[:at]))
    if lines[at] != _seal_line(sha256):
        raise PackageError(path, f"line {at + 1}", "the seal does not match: the file was changed")
    episode = _read_sealed(path, lines[:at], events[:at])
    for number in range(at + 1, len(lines)):
        episode = episode.with_grade(_read_grade(path, number, lines[number], events[number], sha256, version))
    return episode


def _read_sealed(path: str | Path, lines: list[bytes], events: list[Event]) -> Episode:
    """The episode without a grade. Written again, it must be the same: nothing else may stand in the file, and in no other form."""
    version = events[0]["schema_version"]
    try:
        episode = read_events(events, _tokens(path, events))
        again = _sealed(episode)
    except _UNREADABLE as error:
        raise PackageError(path, "", f"not an episode file of version {version}: {error}") from None
    for number, (line, expected) in enumerate(zip_longest(lines, again), 1):
        if line != expected:
            raise PackageError(path, f"line {number}", f"not as version {version} has it")
    return episode


def _tokens(path: str | Path, events: list[Event]) -> list[TokenRow]:
    """What the file beside the record has, if the record seals any tokens."""
    sealed = next((event for event in events if event["event"] == "tokens"), None)
    if sealed is None:
        return []
    it = take(sealed, event=str, sha256=str, generations=int, sampled=int, context=int)
    return read_columns(Path(path).with_suffix(SUFFIX), it["sha256"])


def _read_grade(path: str | Path, number: int, line: bytes, event: Event, sha256: str, version: int) -> Grade:
    where = f"line {number + 1}"
    if event["event"] != "grade":
        raise PackageError(path, where, "after the seal, only a grade may stand")
    try:
        grade = read_grade({name: value for name, value in event.items() if name != "sha256"})
    except _UNREADABLE as error:
        raise PackageError(path, where, f"not a grade of version {version}: {error}") from None
    if grade.seal != sha256:
        raise PackageError(path, where, "the grade is of another episode")
    if _grade_line(grade) != line:
        raise PackageError(path, where, "the grade does not match its sha256: it was changed")
    return grade


def _sealed(episode: Episode) -> list[bytes]:
    return [_line(event) for event in events_of(episode)]


def _seal_line(sha256: str) -> bytes:
    return _line({"event": "seal", "sha256": sha256})


def _grade_line(grade: Grade) -> bytes:
    """A grade with a sha256 over its own line without it; the seal that it names is a part of that."""
    event = grade_event(grade)
    return _line({**event, "sha256": _sha256(_line(event))})


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _line(event: Event) -> bytes:
    return utf8(encode(event))


def _name(episode: Episode, sha256: str) -> str:
    name = f"{episode.task[:80]}-{episode.agent[:60]}-{str(episode.seed)[:20]}-{sha256[:8]}"
    return "".join(c if (c.isascii() and c.isalnum()) or c in "-_." else "_" for c in name)
