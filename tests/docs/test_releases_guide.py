"""The guide to suites, coverage and releases, followed line by line."""

import re
import shlex
from pathlib import Path

import pytest

import cowork_gym
from cowork_gym.cli.main import main
from cowork_gym.core.structure import Capability
from cowork_gym.synthesis.coverage import AXES

GUIDE = (Path(cowork_gym.__file__).parents[1] / "docs" / "releases.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


def test_the_guide_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    for language, text in BLOCKS:
        if language == "yaml":
            Path(text.partition("\n")[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    for command in (line for language, text in BLOCKS if language == "sh" for line in text.splitlines()):
        words = shlex.split(command, comments=True)
        assert (words[0], main(words[1:])) == ("cowork", 0), command
    assert main(["list", "--suite", "hard-support.yaml", "--json"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mine.yaml", "hard-support.yaml", "coverage.png", "releases"}
    capsys.readouterr()
    (code,) = [text for language, text in BLOCKS if language == "python"]
    exec(compile(code, "releases.md", "exec"), {})
    assert "is not authorised for training" in capsys.readouterr().out


def test_the_guide_names_every_axis_and_capability() -> None:
    assert [axis for axis in AXES if f"`{axis}`" not in GUIDE] == []
    (order,) = re.findall(r"order of work \((.*?)\)", GUIDE, re.DOTALL)
    assert {*re.findall(r"\w+", order)} == {*Capability}
