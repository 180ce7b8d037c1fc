"""`cowork replay`, `branch` and `debug`: what they print, their documents, the files that they write, and their exit codes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cowork_gym import harness
from cowork_gym.cli.main import main
from cowork_gym.core.messages import final
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.core.task import Task
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Policy
from cowork_gym.harness.engines import Sampling
from cowork_gym.harness.policies.scripted import ScriptedPolicy

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path, capsys: Capture) -> Path:
    assert main(["run", "M1301", "--agent", "negative:makes_room", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    return next(tmp_path.glob("*.jsonl"))


@pytest.fixture
def wrong(file: Path, tmp_path: Path) -> Path:
    """A record whose third turn has left another state."""
    episode = read_episode(file)
    turns = [*episode.turns]
    turns[3] = replace(turns[3], state="0" * 64)
    changes = [*episode.changes]
    changes[0] = replace(changes[0], after={**changes[0].after, "title": "Another"}) if changes[0].after else changes[0]
    return write_episode(replace(episode, turns=tuple(turns), changes=tuple(changes), grade=None), tmp_path / "wrong")


def _report(capsys: Capture, *arguments: object, code: int = 0) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) == code
    told = capsys.readouterr()
    assert told.err == ""
    return json.loads(told.out)


def _refused(capsys: Capture, *arguments: object, code: int = 2) -> str:
    assert main([*map(str, arguments)]) == code
    told = capsys.readouterr()
    assert told.err.startswith("cowork: ") and told.err.count("\n") == 1 and "Traceback" not in told.err
    return told.err


def test_each_turn_is_told_and_the_end(file: Path, capsys: Capture) -> None:
    episode = read_episode(file)
    assert main(["replay", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["✓", str(number)] for number in range(1, len(episode.turns) + 1)]
    assert lines[0] == "✓   1  gmail_list_messages()"
    assert lines[-1] == f"replayed {len(episode.turns)} turns of {len(episode.turns)}, fingerprint {episode.end[:12]}, grade equal"


def test_a_part_is_replayed(file: Path, capsys: Capture) -> None:
    episode = read_episode(file)
    assert main(["replay", str(file), "--until", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"replayed 2 turns of {len(episode.turns)}, fingerprint {episode.turns[1].state[:12]}"
    report = _report(capsys, "replay", file, "--until", 2)
    assert (report["turns"], report["fingerprint"], report["grade_equal"], report["mismatch"]) == (2, episode.turns[1].state, None, None)
    whole = _report(capsys, "replay", file)
    assert (whole["reward"], whole["grade_equal"], whole["fingerprint"]) == (episode.grade.reward, True, episode.end)


def test_a_mismatch_is_told_with_its_row(wrong: Path, capsys: Capture) -> None:
    row = read_episode(wrong).changes[0]
    assert main(["replay", str(wrong)]) == 1
    *turns, last = capsys.readouterr().out.splitlines()
    assert len(turns) == 3
    assert last.startswith("✗ turn 3 came out otherwise than recorded: the state after it is another one; the first row that differs in the end: ")
    assert f"{row.table}/{row.key} has title" in last
    found = _report(capsys, "replay", wrong, code=1)["mismatch"]
    assert (found["turn"], found["what"], found["row"]["table"], found["row"]["recorded"]["title"]) == (3, "state", row.table, "Another")
    assert "turn 3" in _refused(capsys, "debug", wrong, code=1)
    assert _report(capsys, "debug", wrong, code=1)["mismatch"]["turn"] == 3
    assert "turn 3" in _refused(capsys, "branch", wrong, "--turn", 5, "--agent", "random", "--out", wrong.parent / "b", code=1)


def test_continuations_are_written(file: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "branches"
    arguments = ["branch", file, "--turn", 4, "--n", 3, "--agent", "random", "--seed", 5, "--out", out]
    report = _report(capsys, *arguments)
    assert [row["seed"] for row in report["branches"]] == [5, 6, 7]
    episode = read_episode(file)
    for row in report["branches"]:
        one = read_episode(row["episode"])
        assert one.origin is not None and (one.origin.turn, one.turns[:4]) == (4, episode.turns[:4])
        assert report["origin"] == one.origin.seal
        assert main(["replay", row["episode"]]) == 0
    capsys.readouterr()
    assert main([*map(str, arguments)]) == 0
    assert "3 continuations after 4 turns, mean reward " in capsys.readouterr().out


def test_equal_continuations_are_files_of_their_own_and_none_is_written_over(file: Path, tmp_path: Path, capsys: Capture) -> None:
    out, start = tmp_path / "b", f"{load_task('M1301').id}-s0-b4"
    for first in (0, 3):
        report = _report(capsys, "branch", file, "--turn", 4, "--n", 3, "--agent", "noop", "--out", out)
        assert [row["episode"] for row in report["branches"]] == [str(out / f"{start}-{at}.jsonl") for at in range(first, first + 3)]
    episodes = [read_episode(one) for one in out.glob("*.jsonl")]
    assert len(episodes) == 6 and len({one.turns for one in episodes}) == 1
    other = _report(capsys, "branch", file, "--turn", 5, "--agent", "noop", "--out", out)
    assert other["branches"][0]["episode"] == str(out / f"{start.removesuffix('4')}5-0.jsonl")


def test_a_model_is_told_how_to_draw(file: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def made(spec: str, task: Task, **options: object) -> Policy:
        asked.append(options["sampling"])
        return ScriptedPolicy("noop", [final("")])

    monkeypatch.setattr(harness, "make_agent", made)
    branch = ["branch", file, "--turn", 4, "--agent", "local:x", "--out", tmp_path / "b"]
    _report(capsys, *branch)
    _report(capsys, *branch, "--temperature", 0.5, "--max-tokens", 64)
    assert asked == [Sampling(), Sampling(64, 0.5)]
    for option in ("--temperature", "--max-tokens"):
        assert option in _refused(capsys, *branch, option, -1)


def test_another_harness_may_stand_around_the_continuations(file: Path, tmp_path: Path, capsys: Capture) -> None:
    report = _report(capsys, "branch", file, "--turn", 2, "--agent", "random", "--harness", "react+window:size=4,stride=2", "--out", tmp_path / "b")
    one = read_episode(report["branches"][0]["episode"])
    assert one.composition is not None and one.composition.manifest["middleware"][0]["name"] == "window"


def test_the_turn_that_lost_it_is_told(file: Path, capsys: Capture) -> None:
    assert main(["debug", str(file)]) == 0
    told = capsys.readouterr().out
    rows = [line.split() for line in told.splitlines() if line.strip()[:1].isdigit()]
    assert [row[1] for row in rows] == ["yes"] * 9 + ["no"] * 4
    assert told.splitlines()[-1].startswith("The episode could be won after turn 8, and no longer after turn 9: calendar_update_event(")
    report = _report(capsys, "debug", file)
    assert (report["last_winnable"], report["lost_after"], report["failing"]) == (8, 9, ["rest"])


def test_a_package_that_is_not_registered_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert main(["new", "task", "T9000_own", "--into", str(tmp_path)]) == 0
    folder = tmp_path / "T9000_own"
    assert main(["run", str(folder), "--agent", "reference", "--out", str(tmp_path / "e")]) == 0
    made = next((tmp_path / "e").glob("*.jsonl"))
    capsys.readouterr()
    assert "T9000" in _refused(capsys, "replay", made)
    assert main(["replay", str(made), "--task", str(folder)]) == 0


def test_mistakes_are_told_in_one_line(file: Path, tmp_path: Path, capsys: Capture) -> None:
    count = len(read_episode(file).turns)
    assert f"choose a number from 0 to {count}, not 99" in _refused(capsys, "replay", file, "--until", 99)
    assert "the episode is of M1301" in _refused(capsys, "replay", file, "--task", load_task("M1003").id)
    assert "not an episode file" in _refused(capsys, "replay", tmp_path / "none.jsonl")
    assert "not an episode file" in _refused(capsys, "debug", Path(__file__))
    branch = ["branch", file, "--turn", 2, "--out", tmp_path / "b"]
    assert "unknown agent 'nobody'" in _refused(capsys, *branch, "--agent", "nobody")
    assert "harness: there is no part 'nothing'" in _refused(capsys, *branch, "--agent", "random", "--harness", "react+nothing")
    assert "no folder to write to" in _refused(capsys, *branch[:-1], file, "--agent", "random")
    assert f"choose a number from 0 to {count - 1}" in _refused(capsys, "branch", file, "--turn", count, "--agent", "random", "--out", tmp_path)


@pytest.mark.parametrize("verb", ["replay", "branch", "debug"])
def test_help_has_an_example(verb: str, capsys: Capture) -> None:
    assert main([verb, "--help"]) == 0
    assert f"Example: cowork {verb} " in capsys.readouterr().out
