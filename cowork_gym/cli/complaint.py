"""How the command complains: one line on standard error."""

import sys

__all__ = ["complain"]


def complain(text: str) -> None:
    """Tell the person what is wrong, on one line."""
    print("cowork:", " ".join(text.split()), file=sys.stderr)
