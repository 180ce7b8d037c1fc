"""docs/algorithms.md: its example prints what it says, its names exist; and the cases in this folder pass through the command."""

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

pytest.importorskip("torch")

from cowork_gym.trainers import algorithms
from cowork_gym.trainers.algorithms.conformance.__main__ import main


def _case(**changed: object) -> str:
    """A file with one case."""
    case = {"name": "a", "family": "kl", "inputs": {"logp": [0], "ref_logp": [0]}, "expected": {"k1": [0]}, "tolerance": 0.1}
    return json.dumps([{**case, **changed}])


DOCS = (Path(__file__).resolve().parents[3] / "docs" / "algorithms.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE)
    said, printed = re.findall(r"^print\(.*\) +# (.*)$", code, re.MULTILINE), StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "algorithms.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue().splitlines() == said and len(said) == 2


def test_the_names_are_there() -> None:
    table = [line.split("|")[2] for line in DOCS.splitlines() if line.startswith("| ") and "`" in line.split("|")[2]]
    named = {name for cell in table for name in re.findall(r"`([a-z_]+\*?\w*)", cell)}
    assert len(named) > 30
    for name in named:
        pattern = re.compile(name.replace("*", r"\w*"))
        assert any(pattern.fullmatch(one) for one in algorithms.__all__), name


@pytest.mark.parametrize("file", sorted(Path(__file__).parent.glob("*_cases.json")), ids=lambda file: file.stem)
def test_the_cases_pass_through_the_command(file: Path) -> None:
    told: list[str] = []
    assert main([str(file)], told.append) == 0
    assert re.fullmatch(r"\d\d+ passed, 0 failed", told[-1])


@pytest.mark.parametrize(("text", "code", "last"), [
    ("[]", 2, "a list with at least one is expected"), ("{", 2, "(char 1)"), ("3", 2, "a list with at least one is expected"),
    (_case(family="none"), 1, "0 passed, 1 failed"), (_case(expected={}), 1, "0 passed, 1 failed"),
    (_case(expected={"k1": [1]}), 1, "0 passed, 1 failed"), (_case(expected={"k1": [0]}), 0, "1 passed, 0 failed"),
    (_case(expected={"k9": [0]})[:-1] + ", 7]", 1, "0 passed, 2 failed"),
    (_case(inputs={"logp": [float("nan")], "ref_logp": [0]}), 1, "0 passed, 1 failed"),
])
def test_a_file_that_does_not_hold_fails(tmp_path: Path, text: str, code: int, last: str) -> None:
    file, told = tmp_path / "cases.json", list[str]()
    file.write_text(text, encoding="utf-8")
    assert main([str(file)], told.append) == code
    assert told[-1].endswith(last)
