"""Retries, budgets, failures in one form, and traces."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cowork_gym.core.episode import Dispatch, Ending, Episode, Turn
from cowork_gym.core.errors import Blame, ErrorKind, Fault, UserError
from cowork_gym.core.messages import InvalidAction, Message, call, final, message
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Harness, Policy, Usage, compose, play
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.inner.delegate import Delegate
from cowork_gym.harness.loops import PlanAct
from cowork_gym.harness.middleware import MIDDLEWARE, Budget, Middleware, Normalise, Prune, Retry, Trace
from cowork_gym.harness.policies.policy import Action

TASK = load_task("M1003")
READ = call("helpdesk_list_tickets")


class Told(Policy):
    """Answers in order; an answer that is an exception is raised. The last one comes again and again."""

    name, writes = "told", True

    def __init__(self, *answers: Action | BaseException, usage: Usage | None = None) -> None:
        self._answers, self.usage = [*answers], usage or Usage()
        self.asked: list[Sequence[Message]] = []

    def act(self, history: Sequence[Message]) -> Action:
        self.asked.append(history)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    write = act

    def spawn(self) -> "Told":
        return Told(READ, READ, final("read"), usage=self.usage)


def _played(policy: Policy, *middleware: Middleware, harness: Harness | None = None) -> Episode:
    return play(CoworkEnv(TASK), policy, harness=harness or compose(middleware=middleware), seed=0)


DOWN, SLOW = Fault(Blame.MODEL_SERVER, "server", "down"), Fault(Blame.TIMEOUT, "server", "slow")


def test_a_failed_server_is_asked_again_and_nothing_is_recorded_of_it() -> None:
    waits: list[float] = []
    policy = Told(DOWN, SLOW, READ, DOWN, final("done"))
    episode = _played(policy, Retry(tries=3, wait=2, factor=4, most=7, sleep=waits.append))
    assert waits == [2, 7, 2]
    assert episode.fault is None and [one.index for one in episode.runs[0].generations] == [0, 1]
    assert policy.asked[0] == policy.asked[1] == policy.asked[2]


def test_a_server_that_stays_down_is_a_fault() -> None:
    waits: list[float] = []
    episode = _played(Told(DOWN), Retry(tries=4, wait=1, sleep=waits.append))
    assert waits == [1, 2, 4] and episode.fault == DOWN.record and episode.runs[0].generations == ()


@pytest.mark.parametrize("error", [Fault(Blame.HARNESS, "x", "y"), Fault(Blame.POLICY, "x", "y"), KeyError("x"), ContextFull("full")])
def test_other_failures_are_not_tried_again(error: Exception) -> None:
    waits: list[float] = []
    episode = _played(Told(error), Retry(sleep=waits.append))
    assert (waits, episode.ending) == ([], Ending.CONTEXT if isinstance(error, ContextFull) else Ending.FAULT)
    with pytest.raises(UserError, match="mend it"):
        _played(Told(UserError("mend it")), Retry(sleep=waits.append))
    assert waits == []


def test_it_waits_by_itself() -> None:
    assert _played(Told(DOWN, final("done")), Retry(wait=0.001)).ending is Ending.FINAL
    assert Retry(sleep=print).manifest() == {"name": "retry", "tries": 3, "wait": 1.0, "factor": 2.0, "most": 30.0} == Retry().manifest()


@pytest.mark.parametrize(("budget", "ending", "turns"), [
    (Budget(turns=3), Ending.TURNS, 3), (Budget(calls=4), Ending.CALLS, 2), (Budget(tokens=100), Ending.TOKENS, 4),
    (Budget(prompt_tokens=900), Ending.TOKENS, 1), (Budget(seconds=0), Ending.SECONDS, 0),
    (Budget(cost=0.005, input_price=1.0, output_price=20.0), Ending.COST, 4), (Budget(cost=0.001, output_price=20.0), Ending.COST, 2),
    (Budget(turns=3, calls=2), Ending.CALLS, 1), (Budget(seconds=3600), Ending.TURNS, 30), (Budget(), Ending.TURNS, 30),
])
def test_a_spent_budget_ends_the_run(budget: Budget, ending: Ending, turns: int) -> None:
    episode = _played(Told(message(None, READ, READ), usage=Usage(1000, 25)), budget)
    assert (episode.ending, len(episode.turns)) == (ending, turns)
    assert episode.fault is None and episode.grade is not None and episode.grade.reward is not None


def test_who_counts_no_tokens_spends_none() -> None:
    assert _played(Told(READ), Budget(tokens=1, prompt_tokens=1)).ending is Ending.TURNS


def test_plans_cost_tokens_and_no_turns() -> None:
    policy = Told(final("plan"), READ, usage=Usage(10, 10))
    episode = _played(policy, harness=compose(PlanAct(), middleware=[Budget(tokens=30)]))
    assert (episode.ending, len(episode.turns), len(episode.runs[0].generations)) == (Ending.TOKENS, 2, 3)


def test_tokens_of_children_are_their_parents_and_turns_are_not() -> None:
    def ended(**limits: Any) -> tuple[Ending, int]:
        harness = compose(tools=[Delegate(middleware=())], middleware=[Budget(**limits)])
        episode = _played(Told(call("delegate", task="read"), READ, usage=Usage(10, 10)), harness=harness)
        return episode.ending, sum(one.run == 0 for one in episode.turns)

    assert ended(tokens=45) == (Ending.TOKENS, 2)  # the child took three turns
    assert ended(turns=2) == (Ending.TURNS, 2)
    assert ended(calls=3) == (Ending.CALLS, 3)


def test_a_cost_needs_prices_and_limits_are_positive() -> None:
    with pytest.raises(UserError, match="budget needs prices of tokens"):
        _played(Told(READ), Budget(cost=1.0))
    for limits in ({"turns": 0}, {"calls": -1}, {"seconds": -0.5}, {"input_price": -1.0}):
        with pytest.raises(UserError, match=r"^budget: \w+ must be at least"):
            Budget(**limits)


def _shown(result: str, status: int, *, invalid: str | None = None, most: int = 500) -> str:
    role: Any = "user" if invalid else "tool"
    given = Message(role, result, (), None if invalid else "call_1", None if invalid else "x_get")
    dispatches = () if invalid else (Dispatch("call_1", "x_get", status, result),)
    turn = Turn(0, None if invalid else call("x_get"), (given,), dispatches, invalid=invalid)
    (shown,) = Normalise(most).show(None, turn, (given,))  # type: ignore[arg-type]  # it looks at no run
    assert replace(shown, content=None) == replace(given, content=None)
    return shown.content or ""


@pytest.mark.parametrize("kind", ErrorKind)
def test_each_failure_reads_the_same(kind: ErrorKind) -> None:
    failed = json.loads(_shown(json.dumps({"error": "no", "type": kind, "detail": [1]}), kind.status))
    assert [*failed] == ["error", "type", "hint"] and (failed["error"], failed["type"]) == ("no", kind) and failed["hint"]


@pytest.mark.parametrize(("result", "status", "told"), [
    ("Internal Server Error", 500, ("Internal Server Error", "error")), ('{"message": "no"}', 500, ('{"message": "no"}', "error")),
    ('{"error": "no", "type": "fault"}', 500, ('{"error": "no", "type": "fault"}', "error")), ('["no"]', 422, ('["no"]', "error")),
    ('{"error": "no", "type": ["a"]}', 500, ('{"error": "no", "type": ["a"]}', "error")), ("", 503, ("", "error")),
])
def test_what_is_told_in_another_way_is_told_in_this(result: str, status: int, told: tuple[str, str]) -> None:
    failed = json.loads(_shown(result, status))
    assert (failed["error"], failed["type"]) == told


@pytest.mark.parametrize("result", [
    '{"id": "T-1"}', '{"error": null, "type": "conflict"}', '{"error": "printer", "type": "hardware"}', '{"error":1,"type":"conflict"}',
    "text", "[]", "", '{"error": "E-7"}', '{"error": "E-7", "type": "error"}',
])
def test_what_is_no_failure_stays(result: str) -> None:
    assert _shown(result, 200) == result


def test_a_second_time_changes_nothing() -> None:
    for result, status in (("no", 500), ('{"error": "no", "type": "conflict"}', 409)):
        assert _shown(_shown(result, status), status) == _shown(result, status)


def test_long_errors_are_cut() -> None:
    failed = json.loads(_shown(json.dumps({"error": "é" * 900, "type": "validation"}), 422, most=40))
    assert failed["error"] == "é" * 38 + " …"
    assert len(json.loads(_shown("x" * 500, 500))["error"]) == 500
    with pytest.raises(UserError, match=r"^normalise: most"):
        Normalise(3)


def test_an_action_that_was_none_reads_the_same_and_a_reply_stays() -> None:
    wrong = (InvalidAction("garbled", "{"), call("helpdesk_get_ticket", ticket_id="T-0"), call("nothing"), message(None, READ, call("kb_search")))
    policy = Told(*wrong, final("x"))
    episode = _played(policy, Normalise())
    seen = [json.loads(one.content or "") for one in policy.asked[-1] if one.role == "tool" or "garbled" in (one.content or "")]
    assert [one.get("type") for one in seen] == ["invalid_action", "not_found", "unknown_tool", None, "validation"]
    assert [*seen[0]] == [*seen[1]] == [*seen[4]] == ["error", "type", "hint"]
    assert "hint" not in (episode.turns[1].observation[0].content or "")  # the record of the world is as it was
    reply = Message("user", '{"error": "no", "type": "conflict"}')
    assert Normalise().show(None, Turn(0, final("?"), (reply,)), (reply,)) == (reply,)  # type: ignore[arg-type]


def _lines(path: Path) -> list[Mapping[str, Any]]:
    return [json.loads(one) for one in path.read_text().splitlines()]


def test_a_trace_has_a_line_for_each_event_and_no_text(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    reads = [READ] * 4
    episode = _played(Told(*reads, final("secret"), usage=Usage(10, 3)), Prune(keep=1, at=0, stride=3), Trace(path))
    lines = _lines(path)
    pair = ["generation", "turn"]
    assert [one["event"] for one in lines] == ["start", *pair * 4, "rewrite", *pair, "end"]
    assert all(one["task"] == TASK.id and one["run"] == 0 and one["policy"] == "told" for one in lines)
    assert [one["seconds"] for one in lines] == sorted(one["seconds"] for one in lines)
    assert lines[2] | {"turn": 0, "calls": ["helpdesk_list_tickets"], "failed": 0, "messages": 3} == lines[2]
    rewrite = lines[9]
    assert (rewrite["kind"], rewrite["by"], rewrite["before"], rewrite["after"]) == ("prune", "prune", 9, 9)
    assert lines[-1]["ending"] == episode.ending == "final" and lines[-1]["reward"] == episode.grade.reward
    assert "secret" not in path.read_text() and TASK.request[:20] not in path.read_text()


def test_traces_are_appended_to_and_are_no_part_of_the_composition(tmp_path: Path) -> None:
    for name in ("a", "b", "a"):
        _played(Told(final("done")), Trace(tmp_path / name))
    assert len(_lines(tmp_path / "a")) == 2 * len(_lines(tmp_path / "b"))
    one, two = (compose(middleware=[Trace(tmp_path / name)]).composition for name in "ab")
    assert one.sha256 == two.sha256 and one.manifest["middleware"] == [{"name": "trace"}]


@pytest.mark.parametrize(("path", "why"), [
    ("none/trace", "No such file or directory"), ("", "Is a directory"), ("/dev/full", "No space left on device"),
    ("pipe", "No such device or address"), ("a\0b", "embedded null byte"), ("x" * 300, "File name too long"),
    ("careful.txt/trace", "Not a directory"),
])
def test_a_trace_that_cannot_be_written_is_refused_before_anything_is_played(tmp_path: Path, path: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")  # which nobody reads
    (tmp_path / "careful.txt").write_text("Be careful.")
    policy, place = Told(READ), tmp_path / path
    with pytest.raises(UserError) as caught:
        _played(policy, Trace(place))
    assert str(caught.value).endswith(f"trace needs a file that it can write: {place}: {why}") and policy.asked == []


@pytest.mark.parametrize("short", [True, False])
def test_lines_that_a_trace_misses_are_told_once_an_episode(
    short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:
    trace, write = Trace(tmp_path / "trace"), os.write

    def full(file: int, line: bytes) -> int:
        if line and not short:
            raise OSError(28, "No space left on device")
        return write(file, line[:-5])

    monkeypatch.setattr(os, "write", full)
    for _ in range(2):
        assert _played(Told(READ, final("done")), trace).fault is None
    assert [one.getMessage() for one in caplog.records] == [
        f"the trace {trace.path} misses lines of {TASK.id}, seed 0: No space left on device",
    ] * 2


def test_a_trace_that_is_read_while_it_goes_on_may_be_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    _played(Told(final("done")), Trace(tmp_path / "pipe"))
    assert [json.loads(one)["event"] for one in os.read(reader, 65536).splitlines()] == ["start", "generation", "turn", "end"]
    os.close(reader)


def test_middleware_goes_by_its_names() -> None:
    assert [*MIDDLEWARE] == ["summary", "window", "slide", "prune", "retry", "budget", "normalise", "trace"]
    assert all(MIDDLEWARE[name].name == name and issubclass(MIDDLEWARE[name], Middleware) for name in MIDDLEWARE)
