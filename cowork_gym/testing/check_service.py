"""The conformance suite of a service: what every tool promises, tried with sampled calls. `check_env` is that of an environment."""

from collections.abc import Mapping, Sequence
from datetime import date
from inspect import getdoc
from random import Random
from typing import Any

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.errors import Fault, ToolError, UserError
from cowork_gym.core.ids import generator
from cowork_gym.core.ledger import Effect
from cowork_gym.core.snapshot import Change
from cowork_gym.envs.sampling import sample_arguments
from cowork_gym.envs.world import Outcome, World
from cowork_gym.mock_services.kit import Service, Tool
from cowork_gym.testing.demand import demand
from cowork_gym.testing.optional_arguments import check_optional_arguments

__all__ = ["check_service"]

_STRANGE = "no_such_argument"


Fixtures = Mapping[str, Sequence[Mapping[str, Any]]]
"""Records by collection."""


def check_service(
    service: type[Service], records: Fixtures | None = None, *, start: date = date(2026, 1, 5), rounds: int = 20, seed: int = 0,
) -> None:
    """See that a service keeps what every service promises.

    Its tools are called in rounds with sampled arguments that fit their schemas; half of the ids are ones that exist or were seen. No call
    may be a fault, each must be in the ledger as it happened, its result must fit the return annotation, and a tool that reads may
    change nothing but its marks. With records, every optional argument must make a difference too; see `check_optional_arguments`.

    Args:
        service: The service.
        records: Fixtures by collection. With a few records that differ, more calls find something.
        start: The simulated day on which the calls are made; to some services records of later days are not there yet.
        rounds: How often each tool is called.
        seed: Of the world and of the arguments.

    Raises:
        AssertionError: A promise is broken; the text names the tool and the call.
        PackageError: A record does not fit the service.
        UserError: A record class cannot be a table.
    """
    _check_definition(service)
    first, second = (_play(World.open([service], {service.name: records or {}}, start=start, seed=seed), service, rounds) for _ in range(2))
    same = (first.ledger.hash, first.fingerprint()) == (second.ledger.hash, second.fingerprint())
    demand(same, f"{service.name}: the same seed and calls came to different results; time and ids come from `self.now` and `self.store.new_id`")
    if records:
        check_optional_arguments([World(first.blueprint), first], service, seed=seed)


def _check_definition(service: type[Service]) -> None:
    name = getattr(service, "name", "")
    demand(name.isidentifier() and name == name.lower(), f"{service.__name__}: `name` must be a lower-case identifier, not {name!r}")
    demand(getdoc(service) not in (None, "", getdoc(Service)), f"{name}: the service has no docstring")
    try:
        tools = service.tools()
        schemas = [tool.parameters for tool in tools.values()]
        for tool in tools.values():
            tool.check_defaults()
        _ = [tool.returns for tool in tools.values()]
    except Exception as error:
        raise AssertionError(f"{name}: a tool's definition cannot be read: {error}") from error
    demand(bool(tools), f"{name}: the service has no tools")
    for tool, schema in zip(tools.values(), schemas, strict=True):
        closed = schema.get("type") == "object" and schema.get("additionalProperties") is False
        demand(closed, f"{tool.name}: its schema is not that of an object without further keys")


def _play(world: World, service: type[Service], rounds: int) -> World:
    """Call every tool in every round, and look at each call from all sides."""
    chance = generator(world.seed, service.name)
    known = [key for table in world.blueprint.start_rows.values() for key in table]
    for _ in range(rounds):
        for tool in service.tools().values():
            arguments = _sampled(tool, chance, known)
            _check_call(world, tool, arguments)
            _check_refusals(world, tool, arguments)
            known += [key for change in world.diff() if (key := change.key) not in known]
    return world


def _sampled(tool: Tool, chance: Random, known: Sequence[str]) -> dict[str, Any]:
    """Arguments that the schema allows, which the tool must then take."""
    try:
        arguments = sample_arguments(tool.parameters, chance, known)
        tool.validate(arguments)
    except UserError as error:
        raise AssertionError(f"{tool.name}: {error}") from error
    except ToolError as error:
        raise AssertionError(f"{error}; the schema allows this, so the tool must take it or refuse it in its handler") from error
    return arguments


def _check_call(world: World, tool: Tool, arguments: Mapping[str, Any]) -> None:
    before, id, said = world.snapshot(), f"check_{len(world.ledger) + 1}", f"{tool.name}({encode(arguments)})"
    outcome = _call(world, tool, arguments, id)
    demand(len(world.ledger) == len(before.ledger) + 1, f"{said}: not exactly one entry was added to the ledger")
    entry = world.ledger[-1]
    recorded = (entry.dispatch, entry.tool, entry.effect, entry.status, encode(entry.outcome), encode(entry.arguments))
    happened = (id, tool.name, tool.effect, outcome.status, outcome.text, encode(decode(encode(arguments))))
    demand(recorded == happened, f"{said}: the ledger tells it otherwise: {entry}")
    if not entry.failed:
        _check_result(tool, outcome.text, said)
    changes = world.diff(before)
    demand(not (changes and entry.failed), f"{said}: it was refused and changed {_names(changes)} all the same")
    if tool.effect is Effect.READ:
        marks = world.blueprint.marks if tool.marks else frozenset[tuple[str, str]]()
        beyond = [one for one in changes if not (one.before and one.after and {(one.table, field) for field in one.fields()} <= marks)]
        demand(not beyond, f"{said}: a tool that reads changed {_names(beyond)}")
    _check_retry(world, tool, arguments, id, outcome)


def _check_result(tool: Tool, text: str, said: str) -> None:
    try:
        tool.check_result(text)
    except ValueError as error:
        raise AssertionError(f"{said}: the result does not fit the return annotation: {error}") from error


def _check_retry(world: World, tool: Tool, arguments: Mapping[str, Any], id: str, outcome: Outcome) -> None:
    before, again = _moment(world), _call(world, tool, arguments, id)
    demand(again == outcome._replace(replayed=True) and _moment(world) == before, f"{tool.name}: the same call under the same id was executed again")


def _check_refusals(world: World, tool: Tool, arguments: Mapping[str, Any]) -> None:
    """What does not fit the schema must be refused at the door."""
    needed = tool.parameters.get("required", ())
    bad = [{**arguments, _STRANGE: 1}, *({name: value for name, value in arguments.items() if name != one} for one in needed)]
    for wrong in bad:
        before, outcome = _moment(world), _call(world, tool, wrong, None)
        refused = outcome.status >= 400 and outcome.sequence is None and _moment(world) == before
        demand(refused, f"{tool.name}({encode(wrong)}): the arguments do not fit the schema and were not refused")


def _call(world: World, tool: Tool, arguments: Mapping[str, Any], id: str | None) -> Outcome:
    try:
        return world.call(tool.name, arguments, id)
    except Fault as fault:
        raise AssertionError(f"{tool.name}({encode(arguments)}): the handler failed: {fault.record.message}") from fault


def _moment(world: World) -> tuple[str, str]:
    return world.ledger.hash, world.fingerprint()


def _names(changes: Sequence[Change]) -> str:
    return ", ".join(f"{one.table}/{one.key}" for one in changes)
