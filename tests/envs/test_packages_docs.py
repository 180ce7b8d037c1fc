"""The package in docs/tasks.md is complete, short, and earns what it says."""

import re
from pathlib import Path

from cowork_gym.core.task import Budgets
from cowork_gym.envs.package_tree import MAX_BYTES
from cowork_gym.envs.packages import _File
from cowork_gym.graders.checks import KINDS
from cowork_gym.graders.matchers import MATCHERS
from cowork_gym.testing.check_task import check_task

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE))


def test_the_example_passes_the_check(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    report = check_task(tmp_path / "Leave_request")
    assert report.passed, report
    assert len(report.findings) == 4


def test_the_example_is_short() -> None:
    lines = [line for name, text in FILES.items() if "/world/" not in name for line in text.splitlines()]
    assert len(lines) <= 40


def test_the_page_names_every_check_kind_and_matcher_and_the_limits() -> None:
    assert [name for name in (*KINDS, *MATCHERS) if f"`{name}`" not in DOCS] == []
    assert f"at most {MAX_BYTES // 1_000_000} MB" in DOCS
    assert f"`turns` ({Budgets().turns}), `calls` ({Budgets().calls})" in DOCS


def test_the_page_names_every_key_of_a_task_file() -> None:
    assert [name for name in _File.model_fields if f"`{name}`" not in DOCS] == []
