"""The directory of a rollout. Each file in it is written whole or not at all, so that a process may be killed at any moment."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.files import write_whole
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.harness.rollout.plan import Plan, Slot

__all__ = ["RunFolder"]

_PLAN, _LOCK, _EPISODES, _QUARANTINE = "rollout.json", "rollout.lock", "episodes", "quarantine"
_SEAL = b'\n{"event":"seal",'


class RunFolder:
    """Where a rollout keeps its episodes.

    `episodes/<slot>.jsonl` has the sealed and graded episode of a slot, `quarantine/<slot>-<number>.jsonl` each attempt that a fault ended.

    Args:
        path: The directory. Nothing is written, and it is not made, before `locked`.
        plan: What is played.
        resume: Whether a rollout that was begun there is to be gone on with.
    """

    def __init__(self, path: Path, plan: Plan, *, resume: bool) -> None:
        self.path, self._plan, self._resume = path, plan, resume

    def check(self, harness_sha256: str | None = None) -> None:
        """See that the directory is free, or this rollout's.

        Raises:
            UserError: There is a rollout already and it is not to be resumed, or it is another one; the text names what differs. Or there are
                episodes, and no plan says of what.
        """
        file = self.path / _PLAN
        if not file.exists():
            if any(one.is_file() for part in (_EPISODES, _QUARANTINE) for one in (self.path / part).glob("*.jsonl")):
                raise UserError(f"{self.path}: has episodes and no {_PLAN} that says what they are of: choose another directory")
            return
        if not self._resume:
            raise UserError(f"{self.path}: has a rollout already; go on with it by --resume, or choose another directory")
        try:
            kept = decode(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PackageError(file, "", f"not the plan of a rollout: {getattr(error, 'strerror', None) or error}") from None
        if (difference := self._plan.difference(kept, harness_sha256)) is not None:
            raise UserError(f"{self.path}: the rollout there has {difference}")

    @contextmanager
    def locked(self, harness_sha256: str | None = None) -> Iterator[None]:
        """A context in which this process alone writes there. The lock goes with the process, however that ends.

        Args:
            harness_sha256: As `Plan.manifest` takes it.

        Raises:
            UserError: Another process has it, the directory cannot be used, or `check` refuses it.
            OSError: The plan cannot be written.
        """
        try:
            for place in (self.path, self.path / _EPISODES, self.path / _QUARANTINE):
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{self.path}: no directory to write to: {error.strerror}") from None
        with (self.path / _LOCK).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"{self.path}: another process is writing to this rollout") from None
            self.check(harness_sha256)
            if not (self.path / _PLAN).exists():
                write_whole(self.path / _PLAN, f"{encode(self._plan.manifest(harness_sha256))}\n".encode())
            for part in (_EPISODES, _QUARANTINE):  # what a killed process left half written
                for stray in (self.path / part).glob("*.tmp"):
                    stray.unlink(missing_ok=True)
            yield

    def has(self, slot: Slot) -> bool:
        """Whether a slot has a file, good or not."""
        return self._file(slot).exists()

    def sealed(self, slot: Slot, composition: str | None = None) -> Episode | None:
        """The good episode of a slot, if there is one: whole, unchanged, graded, and played as planned.

        Args:
            slot: Whose.
            composition: The sha256 of the harness that it is played under, where it is known.

        Raises:
            MissingExtra: It has tokens, and the library that reads them is not installed.
        """
        if not self.has(slot):
            return None
        try:
            episode = read_episode(self._file(slot))
        except PackageError:
            return None
        return episode if self._planned(episode, slot, composition) else None

    def _planned(self, episode: Episode, slot: Slot, composition: str | None) -> bool:
        """Whether an episode is one of this slot: of its release, form and trial, played from its beginning by the plan's agent, and graded."""
        plan, grade, card = self._plan, episode.grade, episode.policy
        if (episode.task, episode.seed, episode.release_id) != (slot.task, slot.seed, plan.releases[slot.task]):
            return False
        if plan.player not in (None, episode.agent) or (card is not None and card.seed not in (None, slot.sampling)):
            return False
        if composition is not None and (episode.composition is None or episode.composition.sha256 != composition):
            return False
        return episode.origin is None and grade is not None and grade.reward is not None

    def keep(self, slot: Slot, episode: Episode) -> Path:
        """Write an episode where it belongs.

        Raises:
            MissingExtra: It has tokens, and the library that writes them is not installed.
            UserError: Its grade is another episode's.
            ValueError: It has no form.
            OSError: It cannot be written; the error names the file.
        """
        if episode.grade is not None and episode.grade.reward is not None:
            return write_episode(episode, self.path / _EPISODES, stem=slot.name)
        place = self.path / _QUARANTINE
        number = next(one for one in count() if not (place / f"{slot.name}-{one}.jsonl").exists())
        return write_episode(episode, place, stem=f"{slot.name}-{number}")

    def duplicates(self) -> int:
        """How many sealed episodes there are beyond the one of each slot, those that two slots share included; it should be 0."""
        planned, seals, beyond = {f"{slot.name}.jsonl" for slot in self._plan.slots}, list[bytes](), 0
        for file in (self.path / _EPISODES).glob("*.jsonl"):
            if file.is_file() and (line := _seal_of(file.read_bytes())):
                if file.name in planned:
                    seals.append(line)
                else:
                    beyond += 1
        return beyond + len(seals) - len({*seals})

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write what came of the rollout.

        Raises:
            OSError: It cannot be written.
        """
        write_whole(self.path / "summary.json", f"{encode(summary)}\n".encode())

    def _file(self, slot: Slot) -> Path:
        return self.path / _EPISODES / f"{slot.name}.jsonl"


def _seal_of(content: bytes) -> bytes:
    """The line that seals a record; empty where there is none."""
    at = content.rfind(_SEAL)
    return content[at + 1 :].partition(b"\n")[0] if at >= 0 else b""
