"""What a build has to know of the tasks that were played: their category, their capabilities, and the schemas of their tools."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.task import Task
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.registration import REGISTRY, load_task
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.inner.read_skill import ReadSkill
from cowork_gym.harness.skills import Skill

__all__ = ["Card", "Catalog"]


@dataclass(frozen=True, slots=True)
class Card:
    """A task's release, as far as data are concerned."""

    category: str
    capabilities: tuple[str, ...]
    language: str
    services: int
    tools: Mapping[str, Mapping[str, Any]]
    """OpenAI tool schemas by name."""


class Catalog:
    """The releases that are installed here, each read once.

    Args:
        tasks: Tasks, or folders of packages, beside those that are registered.

    Raises:
        UserError, PackageError: One of them is no task, or cannot be used.
    """

    def __init__(self, tasks: Iterable[str | Path | Task] = ()) -> None:
        given = [one if isinstance(one, Task) else load_task(one) for one in tasks]
        self._given = {one.release_id: one for one in given}
        self._cards: dict[str, Card | str] = {}

    def card(self, task: str, release_id: str) -> Card | None:
        """A release; None where it is not installed."""
        found = self._found(task, release_id)
        return found if isinstance(found, Card) else None

    def schemas(self, episode: Episode, names: Iterable[str] | None = None) -> tuple[Mapping[str, Any], ...]:
        """The tools of an episode as OpenAI tool schemas.

        Args:
            episode: The record.
            names: Those that a run was offered; None for all of the task's.

        Raises:
            UserError: The release that was played is not installed, or a tool of the harness has no schema that is known here.
        """
        found = self._found(episode.task, episode.release_id)
        if isinstance(found, str):
            raise UserError(f"{found}; name its package (--task FOLDER), or build without tool schemas (--tools none)")
        return tuple([found.tools[one] if one in found.tools else _inner(one, episode) for one in (found.tools if names is None else names)])

    def _found(self, task: str, release_id: str) -> Card | str:
        """A release, or why it cannot be had."""
        if release_id not in self._cards:
            self._cards[release_id] = self._load(task, release_id)
        return self._cards[release_id]

    def _load(self, name: str, release_id: str) -> Card | str:
        task = self._given.get(release_id)
        if task is None:
            try:
                task = REGISTRY.load(name.partition("_")[0])[0]
            except PackageError:
                raise
            except UserError:
                return f"{name[:80]}: the task of release {release_id[:120]} is not installed"
            if task.release_id != release_id:
                return f"{name[:80]}: release {release_id[:120]} was played, {task.release_id} is installed"
        doors = blueprint_of(task, REGISTRY.services()).tools
        return Card(
            task.category, tuple(map(str, task.structure.capabilities)), task.language, len(task.services),
            {name: door.tool.schema for name, door in doors.items()},
        )


def _inner(name: str, episode: Episode) -> Mapping[str, Any]:
    """The schema of a tool that the harness answers."""
    if name == Delegate.name:
        return Delegate().schema
    if name == ReadSkill.name:
        listed = episode.composition.manifest.get("skills", ()) if episode.composition else ()
        return ReadSkill(tuple(Skill(str(one["name"]), "", "") for one in listed)).schema
    raise UserError(f"{episode.task[:80]}: nobody here knows the schema of the harness's tool {name[:80]!r}; build without them (--tools none)")
