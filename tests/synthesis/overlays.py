"""The sound package, and broken ones: each is a folder with the few files that differ, named `<gate>__<what is wrong>`."""

import shutil
from pathlib import Path

__all__ = ["BROKEN", "SOUND", "broken", "overlaid", "varied"]

HERE = Path(__file__).parent
SOUND = HERE / "sound"
BROKEN = tuple(sorted(one.name for one in (HERE / "broken").iterdir() if one.is_dir()))
"""The broken packages by name."""


def broken(name: str, into: Path) -> Path:
    """A broken package, as a folder in `into`."""
    return overlaid(HERE / "broken" / name, into)


def varied(into: Path) -> Path:
    """The sound package with a variation, which makes it another for each seed."""
    return overlaid(HERE / "varied", into)


def overlaid(overlay: Path, into: Path) -> Path:
    """The sound package with the files of an overlay in place of its own."""
    package = shutil.copytree(SOUND, into / overlay.name)
    shutil.copytree(overlay, package, dirs_exist_ok=True)
    return package
