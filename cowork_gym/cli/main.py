"""The command's entry: which verbs there are, and what becomes of errors. Exit codes: 0 done, 1 fell short, 2 the user's mistake."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import typer

from cowork_gym.cli import admit, branch, catalog, check, coverage, data, debug, merge, new, regrade, release, replay, rollout, run
from cowork_gym.cli.complaint import complain
from cowork_gym.core.errors import UserError

__all__ = ["app", "main"]

# typer does not export the error of a wrong command line; it is the parent of one that it does.
_WrongUsage: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="cowork", help="Co-work environments: play them, look at the grades, write your own.", add_completion=False, rich_markup_mode=None,
)
for group in (catalog, run, check, admit, coverage, release, rollout, replay, branch, debug, regrade, data, merge):
    group.add_to(app)
app.add_typer(new.app, name="new")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Those of the command line; None for those of this process.

    Returns:
        The exit code: 0 done, 1 what was asked for works but fell short, 2 the user's mistake (told in one line), 130 interrupted.
    """
    if sys.stdout is None:  # closed by the shell
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
    for stream in (sys.stdout, sys.stderr):
        _never_fail(stream)
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = app(words, prog_name="cowork", standalone_mode=False)
        sys.stdout.flush()  # a full disk is told here, not by the interpreter at its end
    except (UserError, _WrongUsage) as error:
        text = error.format_message() if hasattr(error, "format_message") else str(error)
        return _fail(text, 2)
    except OSError as error:
        return _fail(_where(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    return _fail("interrupted", 130) if code == 130 else code or 0


def _fail(text: str, code: int) -> int:
    complain(text)
    return code


def _where(error: OSError) -> str:
    """A failure of the system, told of the file that it is about; what cannot be written any more is let go."""
    if error.filename is None:
        sys.stdout = None  # else the interpreter would try once more
    return f"{str(error.filename or 'the output')[:200]}: {error.strerror or error}"


def _never_fail(stream: TextIO) -> None:
    """What the terminal cannot show becomes an escape, not a crash."""
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
