"""docs/harness.md: its examples run as they stand and print what they say, and it names every part and setting."""

import re
from contextlib import chdir, redirect_stdout
from dataclasses import MISSING, Field, fields
from io import StringIO
from pathlib import Path

import pytest

from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.loops import LOOPS
from cowork_gym.harness.middleware import MIDDLEWARE
from cowork_gym.harness.parts import settings
from cowork_gym.harness.sampler import Sampler, _File
from cowork_gym.harness.skills import read_skills
from cowork_gym.harness.spec import make_harness

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "harness.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE)
SHOWN = 12
"""Characters of a default that the page tells."""


def _blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def test_the_examples_print_what_they_say(tmp_path: Path) -> None:
    (sampler,) = _blocks("yaml")
    (tmp_path / sampler.partition("\n")[0].removeprefix("# ")).write_text(sampler)
    code = "\n".join(_blocks("python"))
    said = re.findall(r"^print\(.*\) +# (.*)$", code, re.MULTILINE)
    printed = StringIO()
    with chdir(tmp_path), redirect_stdout(printed):
        exec(compile(code, "harness.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue().splitlines() == said
    assert len(said) == code.count("print(") > 6


def test_the_own_middleware_is_short() -> None:
    (code,) = [text for text in _blocks("python") if "class Redact" in text]
    assert len(code.partition("episode =")[0].rstrip().splitlines()) <= 22


def test_the_skill_can_be_read(tmp_path: Path) -> None:
    (text,) = _blocks("markdown")
    (tmp_path / "SKILL.md").write_text(text)
    assert [one.name for one in read_skills(tmp_path)] == ["shift-card"]


def test_the_specs_can_be_read(tmp_path: Path) -> None:
    (text,) = _blocks("text")
    (tmp_path / "FILE").write_text("Be careful.")
    (tmp_path / "FOLDER").mkdir()
    (tmp_path / "FOLDER" / "SKILL.md").write_text(_blocks("markdown")[0])
    for spec in text.splitlines():
        assert make_harness(spec, tmp_path).name.startswith(spec.partition(":")[0].partition("+")[0])


def _named(one: Field[object], kind: type) -> str:
    """A setting as the page has it: with its default where that is short."""
    told = one.name in settings(kind) and one.default is not MISSING and len(str(one.default)) <= SHOWN
    return f"`{one.name}={'none' if one.default is None else one.default}`" if told else f"`{one.name}`"


@pytest.mark.parametrize(("name", "kind"), [*LOOPS.items(), *MIDDLEWARE.items()])
def test_every_part_has_a_row_with_all_its_settings(name: str, kind: type) -> None:
    (row,) = re.findall(rf"^\| `{name}` \|([^|]*)\|", DOCS, re.MULTILINE)
    assert sorted(re.findall(r"`[^`]+`", row)) == sorted(_named(one, kind) for one in fields(kind))


def test_every_setting_of_delegate_and_key_of_the_sampler_has_a_row() -> None:
    rows = re.findall(r"^\| (`[^`]+`) \|", DOCS, re.MULTILINE)
    wanted = [*(_named(one, Delegate) for one in fields(Delegate)), *(f"`{key}`" for key in _File.model_fields if key != "schema_version")]
    assert [one for one in wanted if one not in rows] == []
    for component in ("loop", "prompt", "only", "tools", "skills", "middleware", "harness"):
        assert f"`{component}`" in DOCS
        Sampler({component: [None]}, 0)
