"""The registry: which tasks and services there are, built in, registered by hand, or plugged in by another package."""

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import gymnasium

from cowork_gym.core.errors import UserError, nearest
from cowork_gym.core.task import Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.packages import load_task as load_package
from cowork_gym.mock_services.kit.service import Service

__all__ = ["CATALOG", "REGISTRY", "Registry", "load_task", "register", "register_catalog"]

CATALOG = Path(__file__).parent / "catalog"
"""The task packages that come with this one."""

_BUILT_IN = {
    "crm": "cowork_gym.mock_services.crm:CRM", "finance": "cowork_gym.mock_services.finance:Finance",
    "gmail": "cowork_gym.mock_services.gmail:Gmail", "helpdesk": "cowork_gym.mock_services.helpdesk:Helpdesk",
    "kb": "cowork_gym.mock_services.kb:KB",
}
_ID = re.compile(r"^(?:([\w:-]+)/)?([\w:.-]+?)-v(\d+)$")
_VERSION = re.compile(r"^version:\s*(\d+)", re.MULTILINE)


class Registry:
    """Tasks by environment id, services by name."""

    def __init__(self) -> None:
        self._tasks: dict[str, Path] = {}
        self._services: dict[str, type[Service]] = {}
        self._plugged: dict[str, type[Service]] | None = None

    def register(self, id: str, path: str | Path, services: Iterable[type[Service]] = ()) -> None:
        """See `cowork_gym.register`."""
        if not _ID.match(id):
            raise UserError(f"{id!r} is not an environment id; write it as namespace/Name-v0")
        folder = Path(path)
        if not (folder / "task.yaml").is_file():
            raise UserError(f"{folder}: not a task package, it has no task.yaml")
        for service in services:
            self._services[service.name] = service
        self._tasks[id] = folder
        if id in gymnasium.registry:  # a notebook cell may be run twice
            del gymnasium.registry[id]
        gymnasium.register(
            id, entry_point="cowork_gym.envs.env:CoworkEnv", vector_entry_point="cowork_gym.envs.vector:CoworkVectorEnv",
            kwargs={"task": str(folder)},
        )

    def register_folder(self, folder: Path, namespace: str = "cowork") -> None:
        """Register every task package that lies in a folder, under the name up to its first underscore."""
        for package in sorted(folder.iterdir()):
            if (package / "task.yaml").is_file():
                found = _VERSION.search((package / "task.yaml").read_text(encoding="utf-8", errors="replace"))
                self.register(f"{namespace}/{package.name.partition('_')[0]}-v{found[1] if found else 0}", package)

    def tasks(self) -> Mapping[str, Path]:
        """The task packages by environment id, sorted."""
        return dict(sorted(self._tasks.items()))

    def services(self) -> Mapping[str, type[Service]]:
        """The services by name: built in, plugged in by entry point (`cowork_gym.services`), registered by hand."""
        if self._plugged is None:
            self._plugged = {name: _import(target) for name, target in _BUILT_IN.items()}
            for point in entry_points(group="cowork_gym.services"):
                service: type[Service] = point.load()
                self._plugged[service.name] = service
        return {**self._plugged, **self._services}

    def find(self, name: str | Path) -> Path:
        """The package that a person means: an id, the part of it that says enough, a folder's name, or a path.

        Raises:
            UserError: There is none; the nearest id is named.
        """
        folder = Path(name)
        if (folder / "task.yaml").is_file():
            return folder
        text = str(name)
        for id, path in self.tasks().items():
            short = id.partition("/")[2]
            if text in {id, short, short.rpartition("-v")[0], path.name}:
                return path
        if folder.is_dir():
            raise UserError(f"{folder}: not a task package, it has no task.yaml")
        raise UserError(f"unknown task {text!r}, {nearest(text, self._names())}")

    def load(self, name: str | Path) -> tuple[Task, Blueprint]:
        """A task and its blueprint, read again only when a file of the package has changed."""
        folder, services = self.find(name), self.services()
        task = _CACHE.get(folder, services)
        return task, blueprint_of(task, services)

    def _names(self) -> Iterator[str]:
        for id in self._tasks:
            yield from (id, id.partition("/")[2].rpartition("-v")[0])


class _Loaded:
    """Tasks that were read, each with the state of its files."""

    def __init__(self) -> None:
        self._tasks: dict[Path, tuple[object, Task]] = {}

    def get(self, folder: Path, services: Mapping[str, type[Service]]) -> Task:
        path = folder.resolve()
        files = tuple((str(one), one.stat().st_mtime_ns, one.stat().st_size) for one in sorted(path.rglob("*")) if one.is_file())
        state = (files, tuple(services.items()))
        known = self._tasks.get(path)
        if known is None or known[0] != state:
            known = self._tasks[path] = (state, load_package(folder, services))
        return known[1]


_CACHE = _Loaded()
REGISTRY = Registry()
"""The one registry of this process."""


def register(id: str, path: str | Path, services: Iterable[type[Service]] = ()) -> None:
    """Make a task package known as an environment.

    Args:
        id: Such as `acme/Rooms-v0`; `gymnasium.make` takes it afterwards.
        path: The package's folder.
        services: Service classes that the package uses and that are neither built in nor plugged in.

    Raises:
        UserError: The id is malformed or the folder is no package.
    """
    REGISTRY.register(id, path, services)


def load_task(name: str | Path) -> Task:
    """A task by environment id, short name or folder.

    Raises:
        UserError: There is no such task.
        PackageError: Its package cannot be used; one line names file, field and nearest valid choice.
    """
    return REGISTRY.load(name)[0]


def _import(target: str) -> type[Service]:
    module, _, name = target.partition(":")
    service: type[Service] = getattr(import_module(module), name)
    return service


def register_catalog() -> None:
    """Register the built-in tasks and those of other packages' entry points (`cowork_gym.tasks`: a folder of packages)."""
    REGISTRY.register_folder(CATALOG)
    for point in entry_points(group="cowork_gym.tasks"):
        REGISTRY.register_folder(Path(point.load()), point.name)
