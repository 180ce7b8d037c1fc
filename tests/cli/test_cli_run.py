"""`cowork run`: turns as they happen, the grade, the JSON report, the episode file and the exit code."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cowork_gym.cli.main import main
from cowork_gym.core.errors import Blame, Fault
from cowork_gym.core.messages import Message
from cowork_gym.core.record import read_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import CATALOG, load_task
from cowork_gym.envs.variation import instance
from cowork_gym.harness import make_agent, play
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.users import ModelUser, Source

Capture = pytest.CaptureFixture[str]


def _report(capsys: Capture, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["run", *arguments, "--json"]) == code
    told = capsys.readouterr()
    assert told.err == ""
    return json.loads(told.out)


def test_turns_are_shown_and_then_the_grade(capsys: Capture) -> None:
    assert main(["run", "M1003", "--agent", "reference"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "M1003_ticket_kb_resolution: Resolve the right certificate ticket"
    assert lines[1] == "reference plays, seed 0"
    request = load_task("M1003").request.strip().splitlines()
    assert lines[3:][: len(request)] == [f"user: {request[0]}", *request[1:]]
    call, result = lines[len(request) + 4 :][:2]
    assert call.startswith("  1  helpdesk_list_tickets(")
    assert result.startswith('       200 {"tickets":') and len(result) <= 160
    assert "ended by final after 7 turns and 6 calls" in lines
    assert lines[-1] == "reward 1 under cowork-v1 (passed): completion 1, safety 1, robustness 1, outcome 1; claw-v1 1"
    (check,) = [line for line in lines if line.startswith(" article_read")]
    assert check.split()[:4] == ["article_read", "objective", "pass", "0.25"]


def test_what_the_user_replies_is_shown(capsys: Capture) -> None:
    assert main(["run", "M1201", "--agent", "reference"]) == 0
    lines = capsys.readouterr().out.splitlines()
    asked = next(at for at, line in enumerate(lines) if line.startswith("  2  "))
    assert lines[asked + 1].startswith("user: ")
    assert sum(line.startswith("user: ") for line in lines) == 3


@pytest.mark.parametrize("seed", [0, 2])
def test_the_request_of_a_later_part_stands_after_its_day(seed: int, capsys: Capture) -> None:
    task = instance(load_task("M1301"), seed)
    assert main(["run", "M1301", "--agent", "reference", "--seed", str(seed)]) == 0
    told = capsys.readouterr().out
    assert f"\nuser: {task.request.strip()}\n" in told
    for stage in task.stages:
        assert told.count(f"\n— {stage.day} —\n\nuser: {stage.request.strip()}\n") == 1


def test_the_report_has_the_conversation(capsys: Capture) -> None:
    report = _report(capsys, "M1201", "--agent", "reference")
    assert [one["role"] for one in report["messages"][:3]] == ["user", "assistant", "tool"]
    env = CoworkEnv("M1201")
    assert report["messages"] == json.loads(json.dumps([one.wire() for one in play(env, make_agent("reference", env.task), seed=0).messages]))
    assert report["replies"] is None


@pytest.mark.parametrize("seed", ["0", "3"])
def test_where_the_words_of_the_user_come_from_is_counted(seed: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    words = iter([("By a model.", Source.RETRY), ("By the rules.", Source.UNREACHABLE)] * 2)
    monkeypatch.setattr(ModelUser, "_worded", lambda *_: next(words))
    arguments = ["M1201", "--agent", "reference", "--user", "openai:m@http://127.0.0.1:9/v1", "--seed", seed]
    assert main(["run", *arguments]) == 0
    told = capsys.readouterr().out
    assert "\nuser: By a model.\n" in told and "\nuser: By the rules.\n" in told
    assert told.splitlines()[-1] == "2 replies of the user: 1 worded by the model, 0 by the rules, 0 refused, 1 unreachable"
    assert _report(capsys, *arguments)["replies"] == {"model": 1, "rules": 0, "refused": 0, "unreachable": 1}


def test_what_failed_is_shown_with_its_reason(capsys: Capture) -> None:
    assert main(["run", "M1100", "--agent", "negative:export_crm"]) == 0
    told = capsys.readouterr().out
    (gate,) = [line for line in told.splitlines() if line.startswith(" forbidden:crm_export_report")]
    assert gate.split(maxsplit=3)[1:] == ["forbidden", "fail", gate.split(maxsplit=3)[3]]
    assert "crm_export_report is forbidden and was called." in gate
    assert "reward 0 under cowork-v1 (not passed)" in told


def test_invalid_and_empty_turns_are_shown_too(capsys: Capture, tmp_path: Path) -> None:
    script = tmp_path / "odd.yaml"
    script.write_text("turns: [{no_such_tool: {}}]\n")
    assert main(["run", "M1100", "--agent", f"script:{script}"]) == 0
    told = capsys.readouterr().out
    assert '404 {"error":"unknown tool' in told
    assert "  2  (an empty answer)" in told


def test_the_report_is_one_object_with_everything_that_counts(capsys: Capture, tmp_path: Path) -> None:
    report = _report(capsys, "M1003", "--agent", "reference", "--seed", "5", "--out", str(tmp_path))
    grade = report["grade"]
    assert [grade[name] for name in ("reward", "completion", "safety", "robustness", "passed")] == [1.0, 1.0, 1.0, 1.0, True]
    assert [report[name] for name in ("agent", "seed", "ending", "turns", "calls")] == ["reference", 5, "final", 7, 6]
    assert {one["id"]: one["passed"] for one in report["checks"]}["article_read"] is True
    episode = read_episode(Path(report["episode"]))
    assert (episode.end, episode.ledger.hash, episode.grade.to_dict()["reward"]) == (report["fingerprint"], report["ledger"], 1.0)
    assert [*tmp_path.iterdir()] == [Path(report["episode"])]


def test_the_report_is_what_the_same_play_gives_in_python(capsys: Capture) -> None:
    report = _report(capsys, "M1100", "--agent", "spray", "--seed", "3")
    env = CoworkEnv("M1100")
    episode = play(env, make_agent("spray", env.task), seed=3)
    assert (report["fingerprint"], report["ledger"], report["episode"]) == (episode.end, episode.ledger.hash, None)
    assert report["grade"] == json.loads(json.dumps(episode.grade.to_dict()))


def test_a_task_may_be_named_by_id_or_folder(capsys: Capture) -> None:
    by_folder, by_id = (_report(capsys, name, "--agent", "noop") for name in (str(CATALOG / "M1003_ticket_kb_resolution"), "cowork/M1003-v0"))
    assert by_folder == by_id


def test_another_reward_spec_is_shown_and_counts(capsys: Capture) -> None:
    grade = _report(capsys, "M1003", "--agent", "noop", "--reward", "claw-v1", "--min-reward", "0.2")["grade"]
    assert (grade["spec"], grade["reward"], grade["rewards"]["cowork-v1"]) == ("claw-v1", 0.2, 0.0)


@pytest.mark.parametrize(("bound", "code"), [("0", 0), ("0.01", 1), ("1", 1)])
def test_a_reward_under_the_bound_is_exit_code_one(bound: str, code: int, capsys: Capture) -> None:
    _report(capsys, "M1003", "--agent", "noop", "--min-reward", bound, code=code)


def test_a_low_grade_without_a_bound_is_no_failure_of_the_command(capsys: Capture) -> None:
    assert _report(capsys, "M1003", "--agent", "noop")["grade"]["reward"] == 0.0


def test_an_episode_that_a_fault_ended_is_kept_and_is_exit_code_one(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable(ScriptedPolicy):
        def act(self, history: Sequence[Message]) -> Message:
            raise Fault(Blame.MODEL_SERVER, "http://127.0.0.1:9/v1", "no answer")

    monkeypatch.setattr("cowork_gym.harness.make_agent", lambda *arguments, **options: Unreachable("openai:any/model", ()))
    report = _report(capsys, "M1003", "--agent", "openai", "--out", str(tmp_path), code=1)
    assert (report["ending"], report["grade"]["reward"], report["grade"]["fault"]["blame"]) == ("fault", None, "model_server")
    assert read_episode(Path(report["episode"])).fault.where == "http://127.0.0.1:9/v1"
    assert main(["run", "M1003", "--agent", "openai", "--min-reward", "0"]) == 1
    assert "quarantined, no reward: the model server failed at http://127.0.0.1:9/v1: no answer" in capsys.readouterr().out


def test_the_http_door_gives_the_same_report(capsys: Capture) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    assert _report(capsys, "M1003", "--agent", "reference", "--door", "asgi") == _report(capsys, "M1003", "--agent", "reference")
