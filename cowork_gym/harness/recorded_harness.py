"""The harness that a record was played under: its name, the text that makes it, and the one of a sampler that it was."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import CoworkError, UserError
from cowork_gym.core.trajectory import Composition
from cowork_gym.harness.compose import Harness
from cowork_gym.harness.inner import INNER
from cowork_gym.harness.loops import LOOPS
from cowork_gym.harness.middleware import MIDDLEWARE
from cowork_gym.harness.parts import written
from cowork_gym.harness.spec import make_harness, make_harness_source

__all__ = ["advice_of", "find_harness", "name_of", "spec_of"]

_TRIALS = 2_000
"""Trials of the record's task whose harnesses are looked at. A sampler has far fewer compositions than that, as a rule."""


def name_of(composition: Composition) -> str:
    """How `Harness.name` called it."""
    manifest = composition.manifest
    own = [str(one["name"]) for part in ("middleware", "tools") for one in manifest.get(part) or ()]
    skills, prompt = manifest.get("skills"), (manifest.get("prompt") or {}).get("text")
    return "+".join([str(manifest["loop"]["name"]), *own, *(["skills"] if skills else []), *(["prompt"] if prompt else [])])


def spec_of(composition: Composition) -> str | None:
    """The text from which `make_harness` makes this composition; None where no text alone does: a prompt, skills, parts of one's own."""
    manifest, only = composition.manifest, composition.manifest.get("only")
    try:
        text = "+".join([
            written(LOOPS[manifest["loop"]["name"]], manifest["loop"]), *_parts(manifest["middleware"], MIDDLEWARE),
            *_parts(manifest["tools"], INNER), *([] if only is None else [f"only:{','.join(only)}"]),
        ])
        return text if make_harness(text).composition.sha256 == composition.sha256 else None
    except (KeyError, TypeError, CoworkError):
        return None


def find_harness(spec: str, episode: Episode) -> Harness:
    """The harness that a person means for what goes on from a record.

    Args:
        spec: As `make_harness` reads it; or `@FILE`, a sampler, for the one that it drew for the record.
        episode: The record.

    Raises:
        UserError: As `make_harness_source` does, or the sampler draws none that is the record's.
        PackageError: The sampler's file cannot be used.
    """
    source, wanted = make_harness_source(spec), episode.composition
    if not spec.startswith("@"):
        return source(episode.task, 0)
    for trial in range(_TRIALS if wanted is not None else 0):
        if (harness := source(episode.task, trial)).composition.sha256 == wanted.sha256:  # type: ignore[union-attr]  # there is one
            return harness
    if wanted is None:
        raise UserError("the record does not say under which harness it was played: name one by its parts, such as --harness react+window")
    raise UserError(f"{spec[1:]}: draws no harness that is the record's, {name_of(wanted)}: name it by its parts, {advice_of(wanted)}")


def advice_of(composition: Composition) -> str:
    """How a person names it on the command line."""
    spec = spec_of(composition)
    return f"--harness {shlex.quote(spec)}" if spec else f"--harness {name_of(composition)} with the settings and files that it had"


def _parts(manifests: Iterable[Mapping[str, Any]], kinds: Mapping[str, type]) -> list[str]:
    return [written(kinds[one["name"]], one) for one in manifests]
