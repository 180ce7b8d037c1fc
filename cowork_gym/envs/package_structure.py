"""What a package declares about its own making: capability graph, topology, deliverables, hazards, and the faults that it plans."""

from collections.abc import Callable
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from cowork_gym.core.errors import nearest
from cowork_gym.core.structure import Capability, Deliverable, Hazard, Structure, Topology
from cowork_gym.core.task import PlannedFault
from cowork_gym.envs.package_files import Shape, Text
from cowork_gym.graders.matchers import show

__all__ = ["Capabilities", "FaultShape", "StructureShape", "structure_of"]


def _member(kind: type[StrEnum]) -> Callable[[Any], StrEnum]:
    def read(value: Any) -> StrEnum:
        known = {one.value: one for one in kind}
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"unknown {kind.__name__.lower()} {show(value)}, {nearest(str(value), known)}")
        return known[value]

    return read


def _graph(value: Any) -> Any:
    """The capability graph, of which every node is declared and no path leads back."""
    if not isinstance(value, dict):
        raise ValueError(f"expected a mapping from capabilities to those that they build on, not {show(value)}")
    read, graph = _member(Capability), dict[str, tuple[str, ...]]()
    for name, before in value.items():
        if not isinstance(before, list):
            raise ValueError(f"expected a list of the capabilities that {name} builds on, not {show(before)}")
        graph[read(name)] = tuple(read(one) for one in before)
    for name, before in graph.items():
        for one in before:
            if one not in graph:
                raise ValueError(f"{name} builds on {one}, which is not declared itself")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise ValueError(f"the graph leads back to itself: {' > '.join(error.args[1])}") from None
    return graph


Capabilities = Annotated[dict[Capability, tuple[Capability, ...]], BeforeValidator(_graph)]
"""Capabilities, each with those that it builds on."""


class StructureShape(Shape):
    """The form of `structure`."""

    topology: Annotated[Topology, BeforeValidator(_member(Topology))] = Topology.CHAIN
    deliverables: list[Annotated[Deliverable, BeforeValidator(_member(Deliverable))]] = Field(default_factory=list)
    hazards: list[Annotated[Hazard, BeforeValidator(_member(Hazard))]] = Field(default_factory=list)


class FaultShape(Shape):
    """The form of one of `faults`."""

    tool: Text
    call: Annotated[int, Field(ge=1)] = 1
    kind: Literal["timeout_before", "timeout_after", "transient", "rate_limit"]

    def planned(self) -> PlannedFault:
        """The fault."""
        return PlannedFault(self.tool, self.call, self.kind)


def structure_of(capabilities: Capabilities, shape: StructureShape) -> Structure:
    """What a package declares about itself."""
    return Structure(capabilities, shape.topology, tuple(shape.deliverables), tuple(shape.hazards))
