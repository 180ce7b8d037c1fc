"""`cowork run --harness`: rewrites and children's turns on the screen, what the report says, and what is missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from cowork_gym.cli.main import main
from cowork_gym.core.record import read_episode
from cowork_gym.harness.spec import make_harness

Capture = pytest.CaptureFixture[str]
WINDOW = "react+window:size=4,stride=2"


def _report(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["run", *arguments, "--json"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    return json.loads(told.out)


def test_rewrites_are_told_after_the_conversation(capsys: Capture) -> None:
    assert main(["run", "M1100", "--agent", "reference", "--harness", WINDOW]) == 0
    lines = capsys.readouterr().out.splitlines()
    ended = lines.index("ended by final after 9 turns and 8 calls")
    assert lines[ended + 1 : ended + 4] == [
        "history rewritten before turn 5, window by window: 8 messages became 5",
        "history rewritten before turn 7, window by window: 8 messages became 5",
        "history rewritten before turn 9, window by window: 8 messages became 5",
    ]


def test_turns_of_children_have_the_number_of_their_run(capsys: Capture, tmp_path: Path) -> None:
    script = tmp_path / "handing.yaml"
    script.write_text("turns: [{crm_list_customers: {}}, {delegate: {task: Look around.}}]\nfinal: Done.\n")
    assert main(["run", "M1100", "--agent", f"script:{script}", "--harness", "react+delegate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("  2  ")]
    assert lines[at].startswith("  2  [run 1] ")
    assert lines[at + 1] == '  3  delegate(task="Look around.")'
    assert lines[at + 2].startswith('       200 {"result":')


def test_the_report_names_the_harness_and_counts_runs_and_segments(capsys: Capture, tmp_path: Path) -> None:
    report = _report(capsys, "M1100", "--agent", "reference", "--harness", WINDOW, "--out", str(tmp_path))
    composition = make_harness(WINDOW).composition
    assert report["harness"] == {"name": "react+window", "sha256": composition.sha256}
    assert (report["runs"], report["segments"], report["grade"]["reward"]) == (1, 4, 1.0)
    episode = read_episode(Path(report["episode"]))
    assert (episode.composition, len(episode.runs[0].segments)) == (composition, 4)
    plain = _report(capsys, "M1100", "--agent", "reference")
    assert (plain["harness"], plain["segments"]) == ({"name": "react", "sha256": make_harness("react").composition.sha256}, 1)


def test_a_sampler_gives_its_first_draw(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "harnesses.yaml"
    file.write_text("schema_version: 1\noptions: {middleware: [retry]}\n")
    assert _report(capsys, "M1100", "--agent", "noop", "--harness", f"@{file}")["harness"]["name"] == "react+retry"


@pytest.mark.parametrize(("harness", "told"), [
    ("react+delegate", "the harness react+delegate cannot be used: delegate needs a policy that can play child runs, which random cannot"),
    ("plan-act", "the harness plan-act cannot be used: plan-act needs a policy that can write a plan, which random cannot"),
    ("react+only:crm_get_custmer", "the harness exposes the tool 'crm_get_custmer', which the task does not have, did you mean 'crm_get_customer'?"),
    ("react+sumary", "harness: there is no part 'sumary', did you mean 'summary'?"),
])
def test_what_is_missing_is_one_line_and_nothing_is_played(harness: str, told: str, capsys: Capture) -> None:
    assert main(["run", "M1100", "--agent", "random", "--harness", harness]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"cowork: {told}\n")


def test_the_help_names_every_part(capsys: Capture) -> None:
    assert main(["run", "--help"]) == 0
    told = capsys.readouterr().out
    for name in ("plan-act", "summary", "delegate", "skills:FOLDER", "only:NAME,NAME"):
        assert name in told
