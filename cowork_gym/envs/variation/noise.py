"""Noise: further records, made from a template. That none of them is what a rule selects is their author's affair; the gates prove it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import Field, PlainValidator, model_validator

from cowork_gym.core.errors import nearest
from cowork_gym.envs.package_files import Shape
from cowork_gym.envs.variation.makers import MAKERS, Source
from cowork_gym.graders.checks.check import TableName
from cowork_gym.graders.matchers import MatcherError, show

__all__ = ["Make", "Noise", "make_records"]


class Make(NamedTuple):
    """A field that is made anew for each record."""

    how: str
    given: Any


def _field(value: Any, at: str) -> Any:
    if isinstance(value, list):
        return [_field(one, f"{at}[{index}]") for index, one in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if len(value) != 1:
        raise MatcherError(f"a mapping names one maker: {nearest('', MAKERS)}", at)
    ((how, given),) = value.items()
    if how not in MAKERS:
        raise MatcherError(f"unknown maker {how!r}: {nearest(str(how), MAKERS)}", at)
    try:
        return Make(how, MAKERS[how][0](given))
    except ValueError as error:
        raise MatcherError(str(error), f"{at}.{how}") from None


def _template(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"expected a mapping of fields, not {show(value)}")
    return {str(name): _field(one, f".{name}") for name, one in value.items()}


class Noise(Shape):
    """Records that are added to a table."""

    table: TableName
    record: Annotated[dict[str, Any], PlainValidator(_template)]
    """Values as they are, or makers such as `{person: true}`."""
    min: Annotated[int, Field(ge=0, le=500)] = 0
    max: Annotated[int, Field(ge=1, le=500)]

    @model_validator(mode="after")
    def _in_order(self) -> "Noise":
        if self.min > self.max:
            raise ValueError(f"min is {self.min}, which is more than {self.max}")
        return self


    def prefixes(self) -> Iterator[str]:
        """What its ids begin with."""
        return (one.given for one in self._fields() if isinstance(one, Make) and one.how == "id")

    def said(self) -> Iterator[Any]:
        """What its author wrote into the fields."""
        return (one.given if isinstance(one, Make) else one for one in self._fields())

    def _fields(self) -> Iterator[Any]:
        waiting = list(self.record.values())
        while waiting:
            one = waiting.pop()
            if isinstance(one, list):
                waiting += one
            else:
                yield one


def make_records(noise: Noise, source: Source) -> list[dict[str, Any]]:
    """The records of one form of the package."""
    return [{name: _made(value, source) for name, value in noise.record.items()} for _ in range(source.generator.randint(noise.min, noise.max))]


def _made(value: Any, source: Source) -> Any:
    if isinstance(value, Make):
        return MAKERS[value.how][1](value.given, source)
    if isinstance(value, list):
        return [_made(one, source) for one in value]
    return source.rewriter.scalar(value)
