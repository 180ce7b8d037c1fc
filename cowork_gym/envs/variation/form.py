"""What seeds vary, as `private/variation.yaml` says it. `check` sees whether it fits its package."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator

from cowork_gym.core.errors import PackageError, nearest
from cowork_gym.envs.package_files import Shape, Text
from cowork_gym.envs.variation.amounts import Amount, amount_problems
from cowork_gym.envs.variation.finder import has_words
from cowork_gym.envs.variation.names import Kind
from cowork_gym.envs.variation.noise import Noise
from cowork_gym.graders.matchers import MatcherError, show
from cowork_gym.graders.problems import Problem, SchemaVersion, read_form

__all__ = ["ALL", "Variation", "parse_variation"]

ALL = "all"
"""In place of an id, or among ids: all that records have."""


def _ids(value: Any) -> Any:
    ids = [value] if value == ALL else value
    if not isinstance(ids, list) or not ids or not all(isinstance(one, str) and has_words(one) for one in ids):
        raise ValueError(f"expected {ALL}, or a list of ids, not {show(value)}")
    return ids


def _names(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a mapping from names to what they are of, not {show(value)}")
    for name, kind in value.items():
        if kind not in [*Kind]:
            raise MatcherError(f"unknown kind {show(kind)}, {nearest(str(kind), [one.value for one in Kind])}", f".{name}")
        if not has_words(name) or any(letter in name for letter in "\"'`\\"):
            raise MatcherError("expected letters, without quotes", f".{name}")
    return {name: Kind(kind) for name, kind in value.items()}


def _alternatives(value: Any) -> Any:
    """Joint alternatives, the first of which is what the package says."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(one, Mapping) and one for one in value):
        raise ValueError(f"expected a list of two mappings or more, the first as the package has it, not {show(value)}")
    first = value[0]
    for at, one in enumerate(value):
        for text, new in one.items():
            if not isinstance(new, str) or not isinstance(text, str) or not has_words(text) or not has_words(new) or "\\" in text:
                raise MatcherError(f"expected a text, not {show(new)}; numbers that are no texts belong to amounts", f"[{at}].{text}")
            if at == 0 and text != new:
                raise MatcherError(f"the first alternative is what the package says: {show(text)}, not {show(new)}", f"[0].{text}")
            if text not in first:
                raise MatcherError(f"the first alternative has no {show(text)}, {nearest(text, first)}", f"[{at}]")
        if missing := sorted(first.keys() - one.keys()):
            raise MatcherError(f"says nothing of {show(missing[0])}", f"[{at}]")
        if len({*one.values()}) < len(one):
            raise MatcherError("gives two texts the same form, so that nothing could tell them apart", f"[{at}]")
    return value


class Variation(Shape):
    """What seeds vary. Everything that is varied is named as the package has it."""

    schema_version: SchemaVersion
    maker: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")] | None = None
    """`module:function` that writes the forms itself; then nothing else is declared."""
    ids: Annotated[list[str], BeforeValidator(_ids)] = Field(default_factory=list)
    names: Annotated[dict[str, Kind], PlainValidator(_names)] = Field(default_factory=dict)
    amounts: dict[Text, Amount] = Field(default_factory=dict)
    choose: list[Annotated[list[dict[str, str]], PlainValidator(_alternatives)]] = Field(default_factory=list)
    dates: Literal["weeks"] | None = None
    order: bool = False
    noise: list[Noise] = Field(default_factory=list)
    wordings: list[Text] = Field(default_factory=list)

    def extra(self) -> Iterator[tuple[str, Any]]:
        """What it says itself that forms show, each with its place."""
        yield from ((f"wordings[{at}]", text) for at, text in enumerate(self.wordings))
        yield from ((f"noise[{at}].record", [*one.said()]) for at, one in enumerate(self.noise))


def parse_variation(mapping: Mapping[str, Any], path: str | Path) -> Variation:
    """What a variation file says.

    Args:
        mapping: The file's content.
        path: The file, for errors.

    Raises:
        PackageError: It is not of the form, or contradicts itself. One line names the field and the nearest valid choice.
    """
    variation = read_form(Variation, mapping, path)
    for where, problem in _problems(variation):
        raise PackageError(path, where, problem)
    return variation


def _problems(variation: Variation) -> Iterator[Problem]:
    if variation.model_fields_set <= {"schema_version"}:
        yield "", "varies nothing: declare something, or remove the file"
    if variation.maker is not None and (others := sorted(variation.model_fields_set - {"schema_version", "maker"})):
        yield others[0], "cannot stand beside maker, whose function writes the whole form"
    yield from amount_problems(variation.amounts)
    seen: dict[str, int] = {}
    for at, alternatives in enumerate(variation.choose):
        for text in alternatives[0]:
            if seen.setdefault(text, at) != at:
                yield f"choose[{at}]", f"{show(text)} is a part of choose[{seen[text]}], too"
