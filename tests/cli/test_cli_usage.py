"""The command as such: help with examples, exit codes, one line for each mistake, and output that no terminal can break."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from contextlib import closing, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cowork_gym.cli.main import app, main
from cowork_gym.core.record import read_episode, seal
from cowork_gym.envs.registration import load_task

VERBS = (("list",), ("show",), ("run",), ("check",), ("coverage",), ("release",), ("new",), ("new", "task"), ("new", "service"))


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cowork_gym.cli.main", *arguments], env={**os.environ, **environment}, capture_output=True,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"), timeout=60, check=False,
    )


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help_with_an_example(verb: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*verb, "--help"], prog_name="cowork")
    assert result.exit_code == 0
    assert f"Example: cowork {' '.join(verb)}" in " ".join(result.output.split())


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_without_a_verb_the_verbs_are_listed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert all(verb in told for (verb, *_) in VERBS)


@pytest.mark.parametrize(("arguments", "text"), [
    (["lst"], "No such command 'lst'"),
    (["run", "M1100"], "Missing option '--agent'"),
    (["run", "--agent", "noop"], "Missing argument 'ID'"),
    (["run", "M1100", "--agent", "noop", "--sed", "3"], "No such option: --sed"),
    (["run", "M1100", "--agent", "noop", "--seed", "many"], "--seed"),
    (["run", "M1100", "--agent", "noop", "--seed", "-1"], "--seed"),
    (["run", "M1100", "--agent", "noop", "--format", "xml"], "--format"),
    (["run", "M1100x", "--agent", "noop"], "unknown task 'M1100x', did you mean 'M1100'?"),
    (["run", "M1100", "--agent", "refrence"], "unknown agent 'refrence', did you mean 'reference'?"),
    (["run", "M1100", "--agent", "negative:nope"], "has no negative 'nope'"),
    (["run", "M1100", "--agent", "script:gone.yaml"], "gone.yaml: no such file"),
    (["run", "M1100", "--agent", "noop", "--door", "window"], "unknown door 'window'"),
    (["run", "M1100", "--agent", "noop", "--reward", "claw"], "unknown reward 'claw', did you mean 'claw-v1'?"),
    (["run", "M1100", "--agent", "noop", "--out", "/dev/null/episodes"], "/dev/null/episodes: no folder to write to"),
    (["show", "cowork/M1100-v1"], "unknown task 'cowork/M1100-v1', did you mean 'cowork/M1100-v0'?"),
    (["check", "/nowhere/at/all"], "/nowhere/at/all: no such file or folder"),
    (["new"], "Missing command"),
    (["new", "task", "7 rooms"], "'7 rooms' is no name for a task"),
])
def test_a_mistake_is_one_line_and_exit_code_two(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("cowork: ")
    assert text in told.err
    assert told.err.count("\n") == 1


def _interrupted(*arguments: object, **options: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_is_exit_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("cowork_gym.harness.play", _interrupted)
    assert main(["run", "M1100", "--agent", "noop", "--json", "--min-reward", "1"]) == 130
    told = capsys.readouterr()
    assert (json.loads(told.out)["ending"], told.err) == ("stopped", "cowork: interrupted\n")


def test_an_interrupt_before_the_play_is_exit_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("cowork_gym.harness.make_agent", _interrupted)
    assert main(["run", "M1100", "--agent", "noop", "--json"]) == 130
    assert capsys.readouterr() == ("", "cowork: interrupted\n")


def test_ctrl_c_ends_a_running_play_and_keeps_what_was_played(tmp_path: Path) -> None:
    patch = "turn = call('crm_list_customers')\n" \
            "def wait(_, history):\n  if len(history) == 1: return turn\n  print('waiting', flush=True)\n  time.sleep(60)\nRandomPolicy.act = wait"
    imports = "import sys, time\nfrom cowork_gym import call\nfrom cowork_gym.cli.main import main\n" \
              "from cowork_gym.harness.policies.random_agent import RandomPolicy\n"
    program = f"{imports}{patch}\nsys.exit(main(['run', 'M1100', '--agent', 'random', '--out', {str(tmp_path)!r}]))"
    playing = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert playing.stdout is not None
    while (line := playing.stdout.readline()) != "waiting\n":
        assert line, playing.communicate()
    playing.send_signal(signal.SIGINT)
    shown, told = playing.communicate(timeout=30)
    assert (playing.returncode, told) == (130, "cowork: interrupted\n")
    (file,) = tmp_path.iterdir()
    episode = read_episode(file)
    assert (episode.ending, episode.agent, len(episode.turns), len(episode.ledger)) == ("stopped", "random", 1, 1)
    assert (episode.grade.seal, episode.grade.fault, episode.grade.passed) == (seal(episode), None, False)
    assert "ended by stopped after 1 turn and 1 call" in shown
    assert shown.endswith(f"episode: {file}\n")


def test_the_process_has_the_exit_codes_and_no_traceback() -> None:
    wrong, short, fine = command("show", "M9"), command("run", "M1003", "--agent", "noop", "--min-reward", "0.5"), command("list")
    assert [one.returncode for one in (wrong, short, fine)] == [2, 1, 0]
    assert wrong.stderr.startswith("cowork: unknown task 'M9'")
    assert [one.stderr for one in (short, fine)] == ["", ""]
    assert "Traceback" not in wrong.stderr + short.stdout


def test_help_does_not_wait_for_what_it_does_not_need() -> None:
    program = "import sys\nfrom cowork_gym.cli.main import main\nmain(['--help'])\n" \
              "print(sorted({'openai', 'fastapi', 'httpx', 'hypothesis', 'xllamacpp', 'torch', 'rich'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_encoding_breaks_the_output(encoding: str, tmp_path: Path) -> None:
    script = tmp_path / "said.yaml"
    text = "turns:\n  - crm_get_customer: {customer_id: 'Zürich 证书 🙂 [bold]x[/]'}\nfinal: \"证书 \\e[31m [red] done 🙂\"\n"
    script.write_text(text, encoding="utf-8")
    done = command("run", "M1100", "--agent", f"script:{script}", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "[red]" in done.stdout
    assert "reward 0 under" in done.stdout


def test_where_there_is_no_terminal_a_width_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    asked = ({}, {"COLUMNS": "80", "LINES": "24"}, {"COLUMNS": "many"}, {"COLUMNS": "60"}, {"COLUMNS": "250"})
    plain, by_a_library, odd, narrow, wide = (command("run", "M1003", "--agent", "noop", **columns) for columns in asked)
    assert plain.stdout == by_a_library.stdout == odd.stdout
    rules = [next(line for line in one.stdout.splitlines() if set(line) <= {" ", "─"} and "─" in line) for one in (narrow, plain, wide)]
    assert [len(one) for one in rules] == sorted({len(one) for one in rules})
    assert "reward 0 under cowork-v1 (not passed): completion 0" in plain.stdout


@pytest.mark.parametrize("columns", [40, 200])
@pytest.mark.parametrize("kind", ["xterm", "dumb"])
def test_a_terminal_of_any_width_gets_sentences_in_one_piece(columns: int, kind: str) -> None:
    shown, run = _on_a_terminal(columns, kind, "show", "M1100"), _on_a_terminal(columns, kind, "run", "M1003", "--agent", "noop")
    assert load_task("M1100").request.strip() in shown
    assert "under cowork-v1 (not passed): completion 0, safety 1, robustness 1" in run


def _on_a_terminal(columns: int, kind: str, *arguments: str) -> str:
    """What is printed on a terminal, without its colours."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (25, columns))
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    playing = subprocess.Popen([sys.executable, "-m", "cowork_gym.cli.main", *arguments], stdout=slave, env={**environment, "TERM": kind})
    os.close(slave)
    told = b""
    with closing(os.fdopen(master, "rb", buffering=0)) as reader, suppress(OSError):  # Linux: reading fails once the other side is closed
        while part := reader.read(4096):
            told += part
    assert playing.wait(timeout=60) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", told.decode()).replace("\r\n", "\n")


def test_a_reader_that_goes_away_is_no_crash() -> None:
    line = f"{sys.executable} -m cowork_gym.cli.main run M1100 --agent spray | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("M1100")
