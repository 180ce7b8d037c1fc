"""What may be given to options, where their types alone would let nonsense through."""

import math
from pathlib import Path

from cowork_gym.core.errors import UserError

__all__ = ["finite", "folder", "named"]


def folder(text: str) -> Path:
    """A folder to write to. A path that is empty would be the folder in which the person stands."""
    if not text.strip():
        raise UserError("--out is empty: name a folder")
    return Path(text)


def finite(given: float) -> float:
    """A temperature that can be had."""
    if not math.isfinite(given) or given < 0:
        raise UserError(f"--temperature is a number from 0, not {given:g}")
    return given


def named(suite: str | None) -> str | None:
    """A suite's name, where one is given."""
    if suite is not None and not suite.strip():
        raise UserError("--suite is empty: name a suite, or leave it out")
    return suite
