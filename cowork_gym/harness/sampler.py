"""Harnesses drawn by seed: which composition each episode of a rollout is played under."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from cowork_gym.core.errors import PackageError, UserError, nearest
from cowork_gym.core.ids import generator
from cowork_gym.envs.package_files import Shape, Text, fit, read_mapping
from cowork_gym.graders.matchers import show
from cowork_gym.graders.problems import SchemaVersion
from cowork_gym.harness.arguments import demand, whole
from cowork_gym.harness.compose import PLAIN, Harness
from cowork_gym.harness.inner import HarnessTool
from cowork_gym.harness.loops import Loop
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.prompt import Prompt
from cowork_gym.harness.skills import Skill
from cowork_gym.harness.spec import make_harness

__all__ = ["Option", "Sampler", "read_sampler"]

Option: TypeAlias = str | Loop | Prompt | Middleware | Harness | Sequence[str | Skill | HarnessTool | Middleware] | None
"""What a component may be: the text that a spec has for it, the component itself, or None for its absence."""

_FIELDS = {"loop": "loop", "prompt": "prompt", "only": "only", "tools": "inner", "skills": "skills", "middleware": "middleware"}
_KINDS: Mapping[str | None, type] = {
    "loop": object, "prompt": Prompt, "only": str, "inner": HarnessTool, "skills": Skill, "middleware": Middleware, None: Harness,
}
_PLACE = re.compile(r"middleware\.([0-9]{1,3})")
_WHOLE = "harness"


@dataclass(frozen=True, slots=True)
class _Drawn:
    label: Any
    """As the manifest tells it."""
    value: Any


class Sampler:
    """Draws a harness for each episode, always the same one for the same seed, task and trial.

    Args:
        options: What may be drawn, by component: `loop`, `prompt`, `only`, `tools`, `skills`, `middleware` (the whole chain),
            `middleware.N` (what stands at place N of the base's chain, from 0); or `harness` alone, for whole compositions.
        seed: Decides every draw. Components are drawn independently of each other.
        base: Has whatever is not drawn.
        one_at_a_time: Draw one component, and for it an option that differs from the base's; all else stays the base's.
        folder: Where relative names of files begin in options that are texts.

    Raises:
        UserError: An argument is of another type, a component is unknown or has no options, or an option is not one of its component.
    """

    def __init__(
        self, options: Mapping[str, Sequence[Option]], seed: int, *, base: Harness = PLAIN, one_at_a_time: bool = False, folder: str | Path = "",
    ) -> None:
        demand("options", "a mapping from components to lists", options, isinstance(options, Mapping))
        demand("seed", "a whole number", seed, whole(seed))
        demand("base", "a Harness, such as make_harness gives", base, isinstance(base, Harness))
        self.seed, self.base, self.one_at_a_time = seed, base, one_at_a_time
        _check(options, base)
        read = {name: [_option(name, at, one, Path(folder)) for at, one in enumerate(ones)] for name, ones in options.items()}
        if one_at_a_time:
            read = {name: kept for name, ones in read.items() if (kept := [one for one in ones if self._differs(name, one)])}
            if not read:
                raise UserError("sampler: no option differs from the base's")
        self._options = read

    def draw(self, task_id: str, trial: int) -> Harness:
        """The harness of an episode. Its manifest says under `sampled` how it was chosen."""
        names = [*self._options]
        if self.one_at_a_time:
            names = [generator(self.seed, "harness", task_id, trial).choice(names)]
        drawn = {name: generator(self.seed, "harness", name, task_id, trial).choice(self._options[name]) for name in names}
        harness = self.base
        for name in sorted(drawn, reverse=True, key=_place):  # from the last place, so that what goes away shifts none that is still to come
            harness = _put(harness, name, drawn[name].value)
        return replace(harness, sampled={"seed": self.seed, "choice": {name: one.label for name, one in drawn.items()}})

    def _differs(self, name: str, option: _Drawn) -> bool:
        return _put(self.base, name, option.value).composition.sha256 != self.base.composition.sha256


def read_sampler(path: str | Path) -> Sampler:
    """A sampler from its file. Names of files in it begin at its folder.

    Raises:
        PackageError: The file cannot be used, or a part of a harness in it; the field is named.
    """
    place = Path(path)
    file = fit(_File, read_mapping(place), place)
    with _within(place, "base"):
        base = make_harness(file.base, place.parent)
    with _within(place, "options"):
        return Sampler(file.options, file.seed, base=base, one_at_a_time=file.one_at_a_time, folder=place.parent)


@contextmanager
def _within(file: Path, field: str) -> Iterator[None]:
    """What is wrong with a part of a file, told with its place."""
    try:
        yield
    except UserError as error:
        raise PackageError(file, field, str(error).removeprefix("sampler: ")) from None


class _File(Shape):
    """The form of a sampler's file."""

    schema_version: SchemaVersion
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    base: Text = "react"
    one_at_a_time: bool = False
    options: Annotated[dict[str, Annotated[list[Text | None], Field(min_length=1)]], Field(min_length=1)]


def _check(options: Mapping[str, Sequence[Option]], base: Harness) -> None:
    known = [*_FIELDS, _WHOLE, *(f"middleware.{at}" for at in range(len(base.middleware)))]
    for name, ones in options.items():
        if name not in known:
            raise UserError(f"sampler: there is no component {name!r}, {nearest(str(name), known)}")
        if isinstance(ones, str) or not isinstance(ones, Sequence) or not ones:
            raise UserError(f"sampler: {name} has no list of options")
    if not options:
        raise UserError("sampler: nothing to draw from")
    if _WHOLE in options and len(options) > 1:
        raise UserError("sampler: harness stands for whole compositions, so nothing can be drawn beside it")
    if "middleware" in options and any(_PLACE.fullmatch(one) for one in options):
        raise UserError("sampler: either the whole chain of middleware is drawn, or single places of it")


def _place(name: str) -> int:
    found = _PLACE.fullmatch(name)
    return int(found[1]) if found else -1


def _option(name: str, at: int, option: Option, folder: Path) -> _Drawn:
    try:
        return _read(name, option, folder)
    except UserError as error:
        raise UserError(f"sampler: {name}[{at}]: {error}") from None


def _read(name: str, option: Option, folder: Path) -> _Drawn:
    """An option as a value of its component, and how it is told."""
    if isinstance(option, str) or option is None:
        return _Drawn(option, _written(name, option, folder))
    field = "middleware" if _PLACE.fullmatch(name) else _FIELDS.get(name)
    value: Any = (option,) if _PLACE.fullmatch(name) else tuple(option) if isinstance(option, Sequence) else option
    parts = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(one, _KINDS[field]) and hasattr(one, "play") is (field == "loop") for one in parts):
        raise UserError(f"{show(option)} is no option of {name}")
    if field is None:
        return _Drawn(value.composition.sha256, value)
    told = replace(PLAIN, **{field: value}).composition.manifest["tools" if field == "inner" else field]
    return _Drawn(told, value)


def _written(name: str, text: str | None, folder: Path) -> Any:
    """An option from its text: the spec that has it and nothing else."""
    field = "middleware" if _PLACE.fullmatch(name) else _FIELDS.get(name)
    if text is None:
        return PLAIN if field is None else getattr(PLAIN, field)
    given = make_harness(f"{name}:{text}" if name in ("prompt", "only", "skills") else text, folder)
    if field is None:
        return given
    value = getattr(given, field)
    rest = replace(given, **{field: getattr(PLAIN, field)})
    if rest.composition.sha256 != PLAIN.composition.sha256 or (_PLACE.fullmatch(name) and len(value) != 1):
        raise UserError(f"{text!r} is no option of {name}")
    return value


def _put(harness: Harness, name: str, value: Any) -> Harness:
    """A harness with another value for one component. What stands at a place is a chain of one, or of none."""
    if name == _WHOLE:
        return value  # type: ignore[no-any-return]
    if name in _FIELDS:
        return replace(harness, **{_FIELDS[name]: value})
    at, chain = _place(name), harness.middleware
    return harness.with_middleware(*chain[:at], *value, *chain[at + 1 :])
