"""The file of an episode: JSON lines, sealed with a sha256. Grades stand after the seal, each bound to it, so that one can be given again."""

import hashlib
from itertools import zip_longest
from pathlib import Path

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.episode import SCHEMA_VERSION, Episode
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.events import Event, events_of, grade_event, read_events, read_grade
from cowork_gym.core.files import write_whole
from cowork_gym.core.grade import Grade

__all__ = ["read_episode", "seal", "write_episode"]

_UNREADABLE = (ValueError, RecursionError)


def seal(episode: Episode) -> str:
    """sha256 over everything but the grade, in hex."""
    return _sha256(b"\n".join(_sealed(episode)))


def write_episode(episode: Episode, folder: str | Path) -> Path:
    """Write an episode as JSON lines, whole or not at all.

    Returns:
        The file: `<task>-<agent>-<seed>-<seal>.jsonl` in `folder`, which is made if need be. Long parts of the name are cut.

    Raises:
        UserError: The grade is that of another episode.
        OSError: The file cannot be written.
    """
    lines = _sealed(episode)
    sha256 = _sha256(b"\n".join(lines))
    lines.append(_seal_line(sha256))
    if episode.grade is not None:
        if episode.grade.seal != sha256:
            raise UserError(f"the grade is not of this episode of {episode.task}: it names another seal")
        lines.append(_grade_line(episode.grade))
    path = Path(folder, _name(episode, sha256))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, b"\n".join(lines) + b"\n")
    return path


def read_episode(path: str | Path) -> Episode:
    """An episode from its file, verified against its seal. Of several grades the last one counts.

    Raises:
        PackageError: The file is not an episode, is of another schema version, is cut off, or was changed.
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
    if (version := events[0].get("schema_version")) != SCHEMA_VERSION:
        raise PackageError(path, "schema_version", f"this reader knows version {SCHEMA_VERSION}, the file has {version!r:.40}")
    at = next((at for at, event in enumerate(events) if event["event"] == "seal"), None)
    if at is None:
        raise PackageError(path, "", "the seal is missing: the file is cut off")
    sha256 = _sha256(b"\n".join(lines[:at]))
    if lines[at] != _seal_line(sha256):
        raise PackageError(path, f"line {at + 1}", "the seal does not match: the file was changed")
    episode = _read_sealed(path, lines[:at], events[:at])
    for number in range(at + 1, len(lines)):
        episode = episode.with_grade(_read_grade(path, number, lines[number], events[number], sha256))
    return episode


def _read_sealed(path: str | Path, lines: list[bytes], events: list[Event]) -> Episode:
    """The episode without a grade. Written again, it must be the same: nothing else may stand in the file, and in no other form."""
    try:
        episode = read_events(events)
        again = _sealed(episode)
    except _UNREADABLE as error:
        raise PackageError(path, "", f"not an episode file of version {SCHEMA_VERSION}: {error}") from None
    for number, (line, expected) in enumerate(zip_longest(lines, again), 1):
        if line != expected:
            raise PackageError(path, f"line {number}", f"not as version {SCHEMA_VERSION} has it")
    return episode


def _read_grade(path: str | Path, number: int, line: bytes, event: Event, sha256: str) -> Grade:
    where = f"line {number + 1}"
    if event["event"] != "grade":
        raise PackageError(path, where, "after the seal, only a grade may stand")
    try:
        grade = read_grade({name: value for name, value in event.items() if name != "sha256"})
    except _UNREADABLE as error:
        raise PackageError(path, where, f"not a grade of version {SCHEMA_VERSION}: {error}") from None
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
    """One line. What an agent wrote may hold a lone surrogate: its escape is JSON as well. Two that make a pair are one letter."""
    text = encode(event)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass").encode("utf-8", "backslashreplace")


def _name(episode: Episode, sha256: str) -> str:
    name = f"{episode.task[:80]}-{episode.agent[:60]}-{str(episode.seed)[:20]}-{sha256[:8]}.jsonl"
    return "".join(c if (c.isascii() and c.isalnum()) or c in "-_." else "_" for c in name)
