"""Tools: one typed function yields the schema, the argument check, the route and the ledger's fields."""

import inspect
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict

from cowork_gym.core.canonical import canonical, decode
from cowork_gym.core.errors import ErrorKind, ToolError, UserError, nearest
from cowork_gym.core.ledger import Effect

__all__ = ["Tool", "declared_tools", "given", "tool"]

Handler = TypeVar("Handler", bound=Callable[..., Any])
_MARK = "__cowork_tool__"
_typed_dict: Any = TypedDict  # whose fields are not known before the program runs, which a type checker would not let pass
_ARGUMENT = re.compile(r"^ {4}(\w+)(?: \([^)]*\))?: (.*)$")


@dataclass(frozen=True, slots=True)
class _Declaration:
    effect: Effect
    audit: str | None
    marks: frozenset[str]


def tool(effect: Effect, *, audit: str | None = None, marks: Sequence[str] = ()) -> Callable[[Handler], Handler]:
    """Make a method of a `Service` a tool.

    Its name becomes `<service>_<method>`, its signature the schema, the docstring up to `Args:` the description, and that
    section the arguments' descriptions.

    Args:
        effect: Whether it reads or writes. A reading tool that writes is a fault.
        audit: The collection to which each successful call adds one record, by `self.audit(...)`.
        marks: For a reading tool: columns that it may set all the same, such as `is_read`.

    Raises:
        UserError: The effect is none.
    """
    if not isinstance(effect, Effect):
        raise UserError(f"a tool is marked by @tool(Effect.READ) or @tool(Effect.WRITE), not by {getattr(effect, '__name__', repr(effect))}")

    def declare(function: Handler) -> Handler:
        setattr(function, _MARK, _Declaration(effect, audit, frozenset(marks)))
        return function

    return declare


class Tool:
    """One tool of a service, with everything that the doors derive from its definition.

    Args:
        service: The service's name.
        function: The method, as the class holds it.
    """

    def __init__(self, service: str, function: Callable[..., Any]) -> None:
        declaration: _Declaration = getattr(function, _MARK)
        self.service, self.function = service, function
        self.name = f"{service}_{function.__name__}"
        self.effect, self.audit, self.marks = declaration.effect, declaration.audit, declaration.marks
        text, self._about = _read_docstring(inspect.getdoc(function) or "")
        if not text:
            raise TypeError(f"{self.name} has no docstring: agents would not know what it does")
        self.description = text
        hints = get_type_hints(function, include_extras=True)
        self._result = hints.pop("return", inspect.Signature.empty)
        hints = {name: _exact_in(hint) for name, hint in hints.items()}
        signature = inspect.signature(function)
        self._parameters = [one for one in signature.parameters.values() if one.name != "self"]
        fields = {one.name: hints[one.name] if one.default is one.empty else NotRequired[hints[one.name]] for one in self._parameters}
        shape = _typed_dict(self.name, fields)
        shape.__pydantic_config__ = ConfigDict(strict=True, extra="forbid", title=self.name)
        self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(shape)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments' names, in order."""
        return tuple(one.name for one in self._parameters)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the arguments: closed, with defaults and descriptions."""
        schema: dict[str, Any] = _untitled(self._adapter.json_schema())
        for one in self._parameters:
            form = schema["properties"][one.name]
            if one.default is not one.empty:
                form["default"] = one.default
            if one.name in self._about:
                form.setdefault("description", self._about[one.name])
        schema.setdefault("properties", {})
        return schema

    @property
    def schema(self) -> dict[str, Any]:
        """The tool in OpenAI's form; a copy, so that whoever changes it changes nothing of the tool."""
        form: dict[str, Any] = pickle.loads(self._form)
        return form

    @cached_property
    def _form(self) -> bytes:
        """The schema as bytes of this process: reading them again is six times as fast as a deep copy."""
        return pickle.dumps({"type": "function", "function": {"name": self.name, "description": self.description, "parameters": self.parameters}})

    @cached_property
    def returns(self) -> dict[str, Any] | None:
        """The JSON schema of the result, from the return annotation; None when there is none.

        Raises:
            PydanticUserError: The annotation is no type of JSON values.
        """
        return None if self._shape is None else _untitled(self._shape.json_schema(mode="serialization", schema_generator=_AsEncoded))

    def check_defaults(self) -> None:
        """See that each default is a value of JSON that the tool would take. Tests do this, calls do not.

        Raises:
            ValueError: One is not.
        """
        for one in self._parameters:
            if one.default is one.empty:
                continue
            try:
                self._adapter.validate_python({one.name: decode(canonical(one.default))})
            except ValidationError as error:
                wrong = [dict(found) for found in error.errors(include_url=False, include_context=False) if found["type"] != "missing"]
                if wrong:
                    raise ValueError(f"the default of {self._explain(wrong[0])}") from None
            except (TypeError, ValueError):
                raise ValueError(f"the default of argument {one.name!r} is no value of JSON: {one.default!r}") from None

    def check_result(self, text: str) -> None:
        """See that a result is what the return annotation promises, without further keys. Tests do this, calls do not.

        Args:
            text: The result as JSON.

        Raises:
            ValueError: It is not.
        """
        if self._shape is None:
            return
        value = decode(text)
        fitted = self._shape.dump_python(self._shape.validate_python(value))
        if canonical(fitted) != canonical(value):  # what was coerced or dropped
            raise ValueError(f"{text} fits the annotation only as {canonical(fitted)}")

    @cached_property
    def _shape(self) -> TypeAdapter[Any] | None:
        return None if self._result is inspect.Signature.empty else TypeAdapter(self._result)

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, checked strictly: nothing is coerced, nothing unknown is dropped.

        Raises:
            ToolError: An argument is missing, unknown or of the wrong type. One line names each.
        """
        try:
            return self._adapter.validate_python(arguments)
        except ValidationError as error:
            problems = "; ".join(self._explain(dict(one)) for one in error.errors(include_url=False, include_context=False))
            raise ToolError(f"{self.name}: {problems}", ErrorKind.VALIDATION) from None

    def _explain(self, error: Mapping[str, Any]) -> str:
        at = ".".join(map(str, error["loc"]))
        if error["type"] == "extra_forbidden":
            return f"unknown argument {at!r}, {nearest(at, self.arguments)}"
        if error["type"] == "missing":
            return f"argument {at!r} is missing"
        if error["type"] == "value_error":
            return f"argument {at!r} {error['msg'].removeprefix('Value error, ')}"
        given = str(error["input"]) if isinstance(error["input"], Decimal) else repr(error["input"])
        return f"argument {at!r}: {error['msg'][:1].lower()}{error['msg'][1:]}, not {given[:60] + '…' if len(given) > 60 else given}"

    def __repr__(self) -> str:
        return f"<Tool {self.name}({', '.join(self.arguments)}), {self.effect}>"


def declared_tools(owner: type) -> list[Callable[..., Any]]:
    """The methods of a class that `tool` marked, in the order of their definition."""
    found: dict[str, Callable[..., Any]] = {}
    for base in reversed(owner.__mro__):
        found.update({name: value for name, value in vars(base).items() if hasattr(value, _MARK)})
    return list(found.values())


def given(**arguments: Any) -> dict[str, Any]:
    """The optional arguments that the agent gave: those that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


class _AsEncoded(GenerateJsonSchema):
    """JSON schemas of results as `encode` writes them: a decimal is a number."""

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        return {"type": "number"}


def _exact_in(hint: Any) -> Any:
    """A type whose floats are also taken as the exact decimals that JSON is read as; everything else stays strict."""
    parts, origin = get_args(hint), get_origin(hint)
    if hint is float or (origin is Annotated and parts[0] is float):
        return Annotated[(hint, BeforeValidator(_as_float))]
    inner = tuple(_exact_in(one) for one in parts)
    if inner == parts or origin in (Annotated, Literal):
        return hint
    return Union[inner] if origin in (Union, UnionType) else origin[inner]  # noqa: UP007 - its members are known at run time only


def _as_float(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """A Google docstring's description and the descriptions of its arguments."""
    head, _, rest = text.partition("\nArgs:\n")
    about: dict[str, str] = {}
    name = ""
    for line in rest.splitlines():
        if line and not line.startswith(" "):
            break
        if found := _ARGUMENT.match(line):
            name = found[1]
            about[name] = found[2].strip()
        elif name and line.strip():
            about[name] += " " + line.strip()
    return " ".join(head.split("\nReturns:")[0].split("\nRaises:")[0].split()), about


def _untitled(schema: Any) -> Any:
    """A schema without the titles that pydantic derives from names."""
    if isinstance(schema, dict):
        return {key: _untitled(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema
