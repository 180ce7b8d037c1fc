"""The service: typed tables plus typed tools. One instance serves one call."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from random import Random
from typing import Any, ClassVar

from cowork_gym.core.errors import UserError
from cowork_gym.core.ids import generator
from cowork_gym.mock_services.kit.definition import check_service_class
from cowork_gym.mock_services.kit.records import Record
from cowork_gym.mock_services.kit.store import Store
from cowork_gym.mock_services.kit.tools import Tool, declared_tools

__all__ = ["Service"]


class Service:
    """A stateful service. Subclass it, name it, list its tables, and mark methods with `tool`.

    Inside a method `self.store` finds and changes records, `self.now` and `self.stamp` tell the time, `self.random` makes generators,
    and `self.audit` gives the audit record. A refusal is a `ToolError`; the call is then undone and the agent reads the text.
    """

    name: ClassVar[str]
    """Also the prefix of its tools and the file of its fixtures."""
    tables: ClassVar[Sequence[type[Record]]] = ()
    aliases: ClassVar[Mapping[str, str]] = {}
    """Other names under which audit collections are known, such as `sent` for `sent_messages`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """What cannot be a service is told where it is written.

        Raises:
            UserError: `name` or `tables` is not what it should be.
        """
        super().__init_subclass__(**kwargs)
        check_service_class(cls)

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    @cache
    def tools(cls) -> Mapping[str, Tool]:
        """The service's tools by name.

        Raises:
            UserError: A tool's definition cannot be read, or has the name of a part of `Service`.
        """
        made = [_made(cls, function) for function in declared_tools(cls)]
        if taken := [one.name for one in made if one.function.__name__ in vars(Service) or one.function.__name__ == "store"]:
            raise UserError(f"a tool may not have the name of a part of Service: {', '.join(taken)}")
        return {one.name: one for one in made}

    @property
    def now(self) -> datetime:
        """Simulated time, UTC."""
        return self.store.moment.now

    @property
    def stamp(self) -> str:
        """Simulated time as records carry it, ISO 8601 with a `Z`."""
        return self.store.moment.stamp

    def random(self, *names: object) -> Random:
        """A generator for this call: its numbers follow from the world's seed, the names and the call's place in the ledger."""
        return generator(self.store.moment.seed, self.name, *names, self.store.moment.sequence)

    def audit(self, record: Mapping[str, Any]) -> None:
        """Give the audit record of this call. A tool that declares `audit` does so once whenever it succeeds.

        Raises:
            TypeError: The record is no mapping.
        """
        if not isinstance(record, Mapping):
            raise TypeError(f"an audit record is a mapping of fields, not {type(record).__name__}")
        self.store.audited = record


def _made(owner: type[Service], function: Callable[..., Any]) -> Tool:
    try:
        return Tool(owner.name, function)
    except Exception as error:  # whatever typing and pydantic make of an annotation
        raise UserError(f"{owner.__name__}.{function.__name__}: {str(error) or type(error).__name__}") from error
