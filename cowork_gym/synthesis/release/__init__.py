"""Releases: sealed collections of admitted tasks, with what each may be used for."""

from cowork_gym.synthesis.release.form import Provenance, Refusal, Release, ReleasedTask, Use
from cowork_gym.synthesis.release.make import Plan, make_release
from cowork_gym.synthesis.release.read import authorised, load_release, unpack, verify_release
from cowork_gym.synthesis.release.seal import Damage

__all__ = [
    "Damage", "Plan", "Provenance", "Refusal", "Release", "ReleasedTask", "Use", "authorised", "load_release", "make_release", "unpack",
    "verify_release",
]
