"""The registry: which tasks and services there are, built in, registered by hand, or plugged in by another package."""

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import gymnasium

from cowork_gym.core.errors import UserError, nearest, told
from cowork_gym.core.task import Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.packages import load_task as load_package
from cowork_gym.mock_services.kit.service import Service

__all__ = ["CATALOG", "MICRO", "REGISTRY", "Registry", "load_task", "register", "register_catalog"]

CATALOG = Path(__file__).parent / "catalog"
"""The task packages that come with this one."""
MICRO = Path(__file__).parent / "micro" / "packages"
"""Small ones, to learn on."""

_BUILT_IN = {
    "calendar": "cowork_gym.mock_services.calendar:Calendar", "contacts": "cowork_gym.mock_services.contacts:Contacts",
    "crm": "cowork_gym.mock_services.crm:CRM", "files": "cowork_gym.mock_services.files:Files",
    "finance": "cowork_gym.mock_services.finance:Finance",
    "gmail": "cowork_gym.mock_services.gmail:Gmail", "helpdesk": "cowork_gym.mock_services.helpdesk:Helpdesk",
    "inventory": "cowork_gym.mock_services.inventory:Inventory", "kb": "cowork_gym.mock_services.kb:KB",
    "todo": "cowork_gym.mock_services.todo:Todo",
}
_ID = re.compile(r"^([\w:-]+)/([\w:.-]+?)-v(\d+)$")
_NAME = re.compile(r"^id:\s*([A-Za-z0-9_]+)", re.MULTILINE)
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
        folder = Path(path).resolve()
        if not _is_package(folder):
            raise UserError(f"{folder}: not a task package, it has no task.yaml")
        if id in gymnasium.registry and id not in self._tasks:
            raise UserError(f"{id} is an environment of another package")
        if self._tasks.get(id, folder) != folder:
            raise UserError(f"{id} is already the task in {self._tasks[id]}")
        for service in services:
            self._add(service)
        self._tasks[id] = folder
        if id in gymnasium.registry:  # a notebook cell may be run twice
            del gymnasium.registry[id]
        gymnasium.register(
            id, entry_point="cowork_gym.envs.env:CoworkEnv", vector_entry_point="cowork_gym.envs.vector:CoworkVectorEnv",
            kwargs={"task": str(folder)},
        )

    def register_folder(self, folder: Path, namespace: str = "cowork", *, whole: bool = False) -> None:
        """Register every task package that lies in a folder, by its version and its id up to the first underscore.

        Only these two lines of `task.yaml` are read: what else is wrong with a package is told when it is used.

        Args:
            folder: The folder.
            namespace: What comes before the slash.
            whole: Whether packages go by their whole ids, `Micro_Join` as `Micro-Join`.

        Raises:
            UserError: Packages cannot be registered; the others of the folder are. One line tells of each.
            OSError: The folder cannot be read.
        """
        problems = []
        for package in sorted(folder.iterdir()):
            if _is_package(package):
                head = (package / "task.yaml").read_text(encoding="utf-8", errors="replace")
                name, version = _NAME.search(head), _VERSION.search(head)
                id = name[1] if name else package.name
                short = id.replace("_", "-") if whole else id.partition("_")[0]
                try:
                    self.register(f"{namespace}/{short}-v{version[1] if version else 0}", package)
                except UserError as error:
                    problems.append(str(error))
        if problems:
            raise UserError("; ".join(problems))

    def _add(self, service: type[Service]) -> None:
        name, known = _new_name(service, self._found()), self._services.get(service.name, service)
        if (known.__module__, known.__qualname__) != (service.__module__, service.__qualname__):  # the same once more: a notebook cell run twice
            raise UserError(f"there is a service {name!r} already, {known.__module__}.{known.__qualname__}; give yours another name")
        self._services[name] = service

    def tasks(self) -> Mapping[str, Path]:
        """The task packages by environment id, sorted."""
        return dict(sorted(self._tasks.items()))

    def services(self) -> Mapping[str, type[Service]]:
        """The services by name: built in, plugged in by entry point (`cowork_gym.services`), registered by hand."""
        return {**self._found(), **self._services}

    def _found(self) -> Mapping[str, type[Service]]:
        """The services that are built in or plugged in."""
        if self._plugged is None:
            self._plugged = {name: _import(target) for name, target in _BUILT_IN.items()}
            for point, service in _plug_ins("cowork_gym.services"):
                try:
                    self._plugged[_new_name(service, self._plugged)] = service
                except UserError as error:
                    _warn("cowork_gym.services", point, error)
        return self._plugged

    def find(self, name: str | Path) -> Path:
        """The package that a person means: an id, the part of it that says enough, a registered folder's name, or a path.

        What is registered goes before a folder of that name: write `./M1100` for the folder.

        Raises:
            UserError: There is none; the nearest id is named.
        """
        folder, text = Path(name), str(name)
        for id, path in self.tasks().items():
            short = id.partition("/")[2]
            if text in {id, short, short.rpartition("-v")[0], path.name}:
                return path
        if _is_package(folder):
            return folder
        shown = text if len(text) <= 80 else text[:79] + "…"
        if os.sep in text and not _ID.match(text):
            raise UserError(f"{shown}: not a task package, it has no task.yaml")
        raise UserError(f"unknown task {shown!r}, {nearest(text[:80], self._names())}")

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
        try:
            state = (_state(path), tuple(services.items()))
        except OSError:  # what cannot be read is told by the reader
            return load_package(folder, services)
        known = self._tasks.get(path)
        if known is None or known[0] != state:
            known = self._tasks[path] = (state, load_package(folder, services))
        return known[1]


def _state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What tells a package from an edited one: names, times and sizes of its files."""
    found = ((str(one), one.stat()) for one in sorted(folder.rglob("*")) if one.is_file())
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)


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
        UserError: The id is malformed or that of another package, the folder is no package, or a service has the name of one that is
            built in or plugged in.
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
    REGISTRY.register_folder(MICRO, whole=True)
    for namespace, folder in _plug_ins("cowork_gym.tasks"):
        try:
            REGISTRY.register_folder(Path(folder), namespace)
        except (OSError, TypeError, UserError) as error:
            _warn("cowork_gym.tasks", namespace, error)


def _plug_ins(group: str) -> Iterator[tuple[str, Any]]:
    """What other packages plug in, by the name of the entry point. One that is broken is told and left out."""
    for point in entry_points(group=group):
        try:
            yield point.name, point.load()
        except (Exception, SystemExit) as error:
            _warn(group, point.name, error)


def _new_name(service: Any, known: Mapping[str, type[Service]]) -> str:
    """The name of a service that is none of those known."""
    if not (isinstance(service, type) and issubclass(service, Service) and isinstance(getattr(service, "name", None), str)):
        raise UserError(f"{service!r} is no service: it is a subclass of cowork_gym.Service with a `name`")
    if known.get(service.name, service) is not service:
        raise UserError(f"there is a service {service.name!r} already; give yours another name")
    return service.name


def _warn(group: str, name: str, error: BaseException) -> None:
    message = f"the entry point {name!r} of {group} cannot be loaded: {told(error)}"
    warnings.warn(message, RuntimeWarning, stacklevel=4)


def _is_package(folder: Path) -> bool:
    try:
        return (folder / "task.yaml").is_file()
    except OSError:  # a name that no file can have
        return False
