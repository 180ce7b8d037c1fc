"""The manifest of a data set: from which sealed records it was made, how, whose words it has, and what its content hashes to."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cowork_gym
from cowork_gym.trainers.data.sft.attempts import Attempt, Collection
from cowork_gym.trainers.data.sft.choice import Authorisation
from cowork_gym.trainers.data.sft.output import MANIFEST
from cowork_gym.trainers.data.sft.statistics import Statistics

__all__ = ["SCHEMA_VERSION", "Authorship", "authorship_of", "describe", "sha256_of", "write_manifest"]

SCHEMA_VERSION = 1
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who made what. Writing tasks and showing how they are done are two roles, even where one person has both."""

    authors: tuple[str, ...] = ()
    """Who wrote the tasks."""
    teachers: tuple[str, ...] = ()
    """Who made the demonstrations."""


def authorship_of(statistics: Statistics, authorisation: Authorisation, named: Authorship) -> Authorship:
    """The roles: as they are named, else as the releases tell, else the teachers are the agents that wrote the answers."""
    teachers = named.teachers or authorisation.teachers or tuple(sorted(statistics.agents))
    return Authorship(named.authors or authorisation.authors, teachers)


def describe(
    settings: Mapping[str, Any], counts: Mapping[str, Any], statistics: Statistics, collections: Iterable[Collection], *,
    authorisation: Authorisation, authorship: Authorship, use: str, files: Mapping[str, str], versions: Mapping[str, Iterable[str]],
) -> dict[str, Any]:
    """All of a manifest but its sources.

    Args:
        settings: The recipe's, and what else decided the content.
        counts: What became of records and dialogues.
        statistics: Of the rows.
        collections: What was given.
        authorisation: What the tasks may be used for.
        authorship: Who made what.
        use: What the data set is for.
        files: Each file's sha256 by its name in the folder.
        versions: The versions of weights that each agent had.
    """
    answers = {
        name: {"role": "teacher", "versions": sorted({*versions.get(name, ())} - {""}), **_numbers(statistics, name)}
        for name in sorted(statistics.agents)
    }
    tasks = {one: sorted(authorisation.uses[one]) for one in sorted(statistics.tasks) if one in authorisation.uses}
    return {
        "schema_version": SCHEMA_VERSION, "kind": "sft-dialogues", "made_with": {"cowork_gym": cowork_gym.__version__}, "settings": settings,
        "content": files, "counts": counts, "statistics": statistics.summary(),
        "roles": {"authors": [*authorship.authors], "teachers": [*authorship.teachers], "answers": answers},
        "authorisation": {"use": use, "declared": bool(authorisation.releases), "releases": [*authorisation.releases], "tasks": tasks},
        "collections": [{"name": one.name, "records": len(one.files), "replaces": one.replaces} for one in collections],
    }


def _numbers(statistics: Statistics, agent: str) -> Mapping[str, int]:
    found = statistics.agents[agent]
    return {name: found[name] for name in ("samples", "episodes", "answers", *(["tokens"] if statistics.counted else []))}


def write_manifest(folder: Path, head: Mapping[str, Any], sources: Iterable[tuple[Attempt, int]], collections: tuple[Collection, ...]) -> None:
    """Write a manifest, its sources one a line.

    Args:
        folder: The data set's.
        head: What `describe` gives.
        sources: The records that rows were made of, each with how many.
        collections: Where they are from.

    Raises:
        OSError: It cannot be written.
    """
    with (folder / MANIFEST).open("w", encoding="utf-8") as file:
        file.write(json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}") + ',\n "sources": [')
        for number, (one, rows) in enumerate(sources):
            told = {
                "collection": collections[one.collection].name, "file": one.file, "seal": one.seal, "task": one.task,
                "release_id": one.release_id, "seed": one.seed, "agent": one.agent, "completion": one.completion, "reward": one.reward,
                "rows": rows,
            }
            file.write(("," if number else "") + "\n  " + json.dumps(told, ensure_ascii=False))
        file.write("\n ]\n}\n")


def sha256_of(file: Path) -> str:
    """The sha256 of a file, in hex."""
    found = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()
