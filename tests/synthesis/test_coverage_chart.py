"""The picture of coverage: it is drawn off screen, and an absent library is told in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from cowork_gym.core.errors import MissingExtra
from cowork_gym.synthesis.coverage import coverage
from cowork_gym.synthesis.coverage_chart import draw_coverage


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_coverage(coverage([]), "Nothing", tmp_path / "coverage.png")
    assert (tmp_path / "coverage.png").read_bytes().startswith(b"\x89PNG")
    draw_coverage(coverage([]), "Nothing", tmp_path / "coverage.svg")
    text = (tmp_path / "coverage.svg").read_text(encoding="utf-8")
    assert "<svg" in text
    assert all(f"<!-- {one} -->" in text for one in ("builds on", "red: a gap, which no task shows", "tasks that show it; all panels have one scale"))
    assert "pyplot" not in {name.rpartition(".")[2] for name in sys.modules if name.startswith("matplotlib")}


def test_an_absent_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"matplotlib is not installed: pip install 'cowork-gym\[charts\]'"):
        draw_coverage(coverage([]), "Nothing", tmp_path / "coverage.png")
    assert not (tmp_path / "coverage.png").exists()


def test_counting_needs_no_library() -> None:
    code = "import sys, cowork_gym.synthesis.coverage_chart; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
