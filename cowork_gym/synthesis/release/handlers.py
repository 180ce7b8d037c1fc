"""Tool handlers: which ones a task asks for, with the code that answers them, and which ones its references really call."""

import hashlib
import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Mapping

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import UserError
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.mock_services.kit.service import Service
from cowork_gym.synthesis.release.form import Handler

__all__ = ["realised", "requested"]


def requested(blueprint: Blueprint) -> tuple[Handler, ...]:
    """The permitted tools, each with its code.

    Raises:
        UserError: The source of a service cannot be read, so that nobody could tell later what answered.
    """
    builds = {service.name: _build(service) for service in blueprint.services}
    return tuple(
        Handler(name, f"{door.tool.function.__module__}:{door.tool.function.__qualname__}", builds[door.service.name])
        for name, door in sorted(blueprint.tools.items())
    )


def realised(episodes: Iterable[Episode]) -> Mapping[str, int]:
    """How often each tool was executed and did not refuse, by name."""
    executed = (one for episode in episodes for one in episode.dispatches if one.sequence is not None and not one.replayed)
    return dict(sorted(Counter(one.tool for one in executed if one.status < 400).items()))


def _build(service: type[Service]) -> str:
    functions = [one.function.__module__ for one in service.tools().values()]
    modules = {service.__module__, *functions, *(one.__module__ for one in service.tables)}
    content = hashlib.sha256()
    for name in sorted(modules):
        try:
            content.update(f"{name}\n{inspect.getsource(sys.modules[name])}\n".encode())
        except (KeyError, OSError, TypeError):
            raise UserError(f"the source of the service {service.name!r} cannot be read, so a release could not say what answers its tools") from None
    return content.hexdigest()
