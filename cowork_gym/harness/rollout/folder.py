"""The directory of a rollout. Files are only added to it, each whole or not at all, so that a process may be killed at any moment."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
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


class RunFolder:
    """Where a rollout keeps its episodes.

    `episodes/<slot>.jsonl` has the sealed and graded episode of a slot, `quarantine/<slot>-<number>.jsonl` each attempt that a fault ended.

    Args:
        path: The directory, made if need be.
        plan: What is played.
        resume: Whether a rollout that was begun there is to be gone on with.

    Raises:
        UserError: There is a rollout already and it is not to be resumed, or it is another one; or the directory cannot be used.
    """

    def __init__(self, path: Path, plan: Plan, *, resume: bool) -> None:
        self.path, self._plan = path, plan
        try:
            for part in (path, path / _EPISODES, path / _QUARANTINE):
                part.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path}: no directory to write to: {error.strerror}") from None
        self._agree(resume)

    def _agree(self, resume: bool) -> None:
        """See that the directory is this rollout's, or make it so."""
        file, mine = self.path / _PLAN, encode(self._plan.manifest())
        if not file.exists():
            write_whole(file, f"{mine}\n".encode())
            return
        if not resume:
            raise UserError(f"{self.path}: has a rollout already; go on with it by --resume, or choose another directory")
        try:
            kept = decode(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PackageError(file, "", f"not the plan of a rollout: {error}") from None
        for name, value in decode(mine).items():
            if not isinstance(kept, dict) or kept.get(name) != value:
                was = kept.get(name) if isinstance(kept, dict) else kept
                raise UserError(f"{self.path}: the rollout there has other {name}: {_brief(was)}, not {_brief(value)}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """A context in which this process alone writes there. The lock goes with the process, however that ends.

        Raises:
            UserError: Another process has it.
        """
        with (self.path / _LOCK).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UserError(f"{self.path}: another process is writing to this rollout") from None
            for part in (_EPISODES, _QUARANTINE):  # what a killed process left half written
                for stray in (self.path / part).glob("*.tmp"):
                    stray.unlink(missing_ok=True)
            yield

    def sealed(self, slot: Slot) -> Episode | None:
        """The good episode of a slot, if there is one: whole, unchanged, of the planned release, and graded."""
        file = self.path / _EPISODES / f"{slot.name}.jsonl"
        if not file.exists():
            return None
        try:
            episode = read_episode(file)
        except PackageError:
            return None
        mine = (episode.task, episode.seed, episode.release_id) == (slot.task, slot.seed, self._plan.releases[slot.task])
        return episode if mine and episode.grade is not None and episode.grade.reward is not None else None

    def keep(self, slot: Slot, episode: Episode) -> Path:
        """Write an episode where it belongs.

        Raises:
            OSError: It cannot be written.
        """
        if episode.grade is not None and episode.grade.reward is not None:
            return write_episode(episode, self.path / _EPISODES, stem=slot.name)
        place = self.path / _QUARANTINE
        number = sum(1 for one in place.glob(f"{slot.name}-*.jsonl"))
        return write_episode(episode, place, stem=f"{slot.name}-{number}")

    def duplicates(self) -> int:
        """How many sealed episodes there are beyond the one of each slot; it should be 0."""
        planned = {f"{slot.name}.jsonl" for slot in self._plan.slots}
        return sum(file.name not in planned for file in (self.path / _EPISODES).glob("*.jsonl"))

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write what came of the rollout."""
        write_whole(self.path / "summary.json", f"{encode(summary)}\n".encode())


def _brief(value: Any) -> str:
    text = encode(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
