"""How --json keeps standard output to itself: what services, agents and plug-ins print goes to standard error."""

import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from typing import Any

__all__ = ["apart"]


def apart(as_json: bool) -> AbstractContextManager[Any]:
    """A context in which others' code may print without getting into a JSON document."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()
