"""docs/records.md: its examples run as they stand and print what they say."""

import re
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

from cowork_gym.cli.main import app

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "records.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE)


def test_the_examples_print_what_they_say(tmp_path: Path) -> None:
    code = "\n".join(text for kind, text in BLOCKS if kind == "python")
    shown = [line for kind, text in BLOCKS if kind == "text" for line in text.splitlines()]
    said = re.findall(r"^print\(.*\) +# (.*)$", code, re.MULTILINE)
    printed = StringIO()
    with chdir(tmp_path), redirect_stdout(printed):
        exec(compile(code, "records.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue().splitlines() == [*shown, *said]
    assert len(said) == 4


def test_the_commands_named_are_commands(tmp_path: Path) -> None:
    named = {one.name or one.callback.__name__ for one in app.registered_commands}
    assert {*re.findall(r"`?cowork (\w+)", DOCS)} <= named
