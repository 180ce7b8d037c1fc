"""Harnesses as text: what one writes after `--harness`, such as `react+summary:at=2000+retry+delegate:turns=5`."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any

from cowork_gym.core.errors import UserError, nearest
from cowork_gym.harness.compose import Harness, compose
from cowork_gym.harness.inner import INNER, HarnessTool
from cowork_gym.harness.loops import LOOPS, Loop
from cowork_gym.harness.middleware import MIDDLEWARE
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.parts import built, check_names, settings
from cowork_gym.harness.skills import read_skills

__all__ = ["HARNESSES", "make_harness", "make_harness_source"]

_MISSING = "harness: a file's name is missing behind @: write @FILE, the file of a sampler"

_TEXTS = {
    "skills": "the skills in a folder, for the tool read_skill: skills:FOLDER",
    "prompt": "the system prompt in a file: prompt:FILE",
    "only": "of the task's tools, these: only:NAME,NAME",
}
_LONGEST = 12
"""Characters of a default that is told."""
_LARGEST = 256 * 1024


def make_harness(spec: str, folder: str | Path = "") -> Harness:
    """The harness that a person means: parts with `+` between them, the loop first, each with its settings after a colon.

    Args:
        spec: Such as `plan-act:every=5+window+skills:FOLDER`. Without a loop, the loop is `react`.
        folder: Where relative names of files begin; by default where the process runs.

    Raises:
        UserError: A part or a setting is unknown, missing, repeated or of another type; the text names it and the nearest choice.
        PackageError: The skills cannot be used.
    """
    first, *others = spec.split("+")
    named = first.partition(":")[0] in LOOPS
    loop: Loop | None = built(LOOPS[first.partition(":")[0]], first) if named else None
    tools, middleware, texts = list[HarnessTool](), list[Middleware](), dict[str, str]()
    for part in others if named else (first, *others):
        name, _, value = part.partition(":")
        if name in MIDDLEWARE:
            middleware.append(built(MIDDLEWARE[name], part))
        elif name in INNER:
            tools.append(built(INNER[name], part))
        elif name in _TEXTS and name not in texts and value:
            texts[name] = value
        else:
            raise _refused(name, twice=name in texts)
    place = Path(folder)
    return compose(
        loop, prompt=_prompt(place / texts["prompt"]) if "prompt" in texts else "", only=_names(texts["only"]) if "only" in texts else None,
        tools=tools, skills=read_skills(place / texts["skills"]) if "skills" in texts else (), middleware=middleware,
    )


def make_harness_source(spec: str) -> Callable[[str, int], Harness]:
    """The harness of each episode of a rollout, by the task's id and the trial's number.

    Args:
        spec: As `make_harness` reads it: the same for all. Or `@FILE`, the file of a sampler.

    Raises:
        UserError: As `make_harness` does, or the file cannot be used.
    """
    if spec.startswith("@"):
        from cowork_gym.harness.sampler import read_sampler

        if spec == "@":
            raise UserError(_MISSING)
        return read_sampler(spec[1:]).draw
    harness = make_harness(spec)
    return lambda task_id, trial: harness


def _refused(name: str, *, twice: bool) -> UserError:
    if name in LOOPS:
        return UserError(f"harness: the loop comes first, and there is one: {name!r} stands behind another part")
    if name in _TEXTS:
        return UserError(f"harness: {name} comes twice" if twice else f"harness: {name} needs a value: {_TEXTS[name].rpartition(': ')[2]}")
    return UserError(f"harness: there is no part {name[:80]!r}, {nearest(name, HARNESSES)}")


def _names(text: str) -> list[str]:
    names = text.split(",")
    check_names(names, "harness: only")
    return names


def _prompt(file: Path) -> str:
    try:
        if file.stat().st_size > _LARGEST:
            raise UserError(f"{file}: too large for a prompt: more than {_LARGEST} bytes")
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: the prompt cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not text:
        raise UserError(f"{file}: the prompt is empty")
    return text


def _explained(kind: type) -> str:
    """What a part is, in its own words, and its settings with what they are by default."""
    what = (kind.__doc__ or "").strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    given = ", ".join(_setting(one) for one in settings(kind).values())
    return f"{what} ({given})" if given else what


def _setting(one: Field[Any]) -> str:
    if one.default is MISSING or len(str(one.default)) > _LONGEST:
        return one.name
    return f"{one.name}={str(one.default).lower() if one.default is None or isinstance(one.default, bool) else one.default}"


HARNESSES: Mapping[str, str] = {
    **{name: _explained(kind) for kinds in (LOOPS, MIDDLEWARE, INNER) for name, kind in kinds.items()}, **_TEXTS,
}
"""The parts of a harness by name, and what each is."""
