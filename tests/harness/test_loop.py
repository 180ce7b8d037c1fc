"""The play: what a policy reads, what is recorded, and who is to blame when something fails."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cowork_gym.core.episode import Ending, Turn
from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.core.messages import InvalidAction, Message, ToolCall, call, final, message
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.progress import Checkpoint
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Action, Policy, Usage, make_agent, play

TASK = load_task("M1003")
Answers = Callable[[Sequence[Message]], Action]


class Spoken(Policy):
    """A policy from a function of the history, which it keeps."""

    name = "spoken"

    def __init__(self, answers: Answers, tokens: int = 0) -> None:
        self._answers, self.usage = answers, Usage(0, tokens)
        self.histories: list[Sequence[Message]] = []
        self.started: list[tuple[int, int]] = []

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        self.started.append((len(tools), seed))

    def act(self, history: Sequence[Message]) -> Action:
        self.histories.append(history)
        return self._answers(history)


def _in_order(*actions: Action) -> Answers:
    left = iter(actions)
    return lambda history: next(left)


def _raising(error: BaseException, *before: Action) -> Answers:
    left = iter(before)

    def answers(history: Sequence[Message]) -> Action:
        for one in left:
            return one
        raise error

    return answers


@pytest.fixture
def env() -> CoworkEnv:
    return CoworkEnv(TASK)


def test_a_policy_reads_the_conversation_with_ids_and_results(env: CoworkEnv) -> None:
    two = message("Looking.", ToolCall("helpdesk_list_tickets", {}), ToolCall("kb_search", {"query": "ssl"}, id="mine"))
    policy = Spoken(_in_order(two, InvalidAction("why", "hm"), final("done")))
    episode = play(env, policy, seed=5)
    assert policy.started == [(len(TASK.tools), 5)]
    request, said, first, second, wrong, told = policy.histories[-1]
    assert request == Message("user", TASK.request)
    assert (said.content, [one.id for one in said.tool_calls]) == ("Looking.", ["call_1", "mine"])
    assert [(one.role, one.tool_call_id, one.name) for one in (first, second)] == [
        ("tool", "call_1", "helpdesk_list_tickets"), ("tool", "mine", "kb_search"),
    ]
    assert (wrong, told) == (Message("assistant", "hm"), Message("user", '{"error":"why","type":"invalid_action"}'))
    assert episode.messages == (*policy.histories[-1], final("done"))
    assert [len(one) for one in policy.histories] == [1, 4, 6]


def test_turns_are_shown_as_they_happen(env: CoworkEnv) -> None:
    shown: list[Turn] = []
    seen_before = []
    policy = Spoken(lambda history: (seen_before.append(len(shown)), final("x") if len(history) > 2 else call("helpdesk_list_tickets"))[1])
    episode = play(env, policy, seed=0, watch=shown.append)
    assert tuple(shown) == episode.turns
    assert seen_before == [0, 1]


def test_the_episode_has_grade_agent_and_seed(env: CoworkEnv) -> None:
    episode = play(env, Spoken(_in_order(final("x"))), seed=11)
    assert (episode.agent, episode.seed, episode.ending, episode.grade.reward) == ("spoken", 11, Ending.FINAL, 0.0)
    assert play(env, Spoken(_in_order(final("x")))).seed != play(env, Spoken(_in_order(final("x")))).seed


def test_tokens_that_the_policy_counts_are_spent() -> None:
    env = CoworkEnv(replace(TASK, budgets=replace(TASK.budgets, tokens=25)))
    episode = play(env, Spoken(lambda history: call("helpdesk_list_tickets"), tokens=10), seed=0)
    assert (episode.ending, [one.tokens for one in episode.turns]) == (Ending.TOKENS, [10, 10, 10])


def test_a_play_goes_on_from_a_moment_of_another(env: CoworkEnv) -> None:
    moments: list[Checkpoint] = []
    whole = play(env, make_agent("reference", TASK), seed=5, watch=lambda turn: moments.append(env.snapshot()))
    for at, moment in enumerate(moments):
        left = [turn.said for turn in whole.turns[at + 1 :]]
        policy = Spoken(_in_order(*left))
        rest = play(CoworkEnv(TASK), policy, start=moment)
        assert (rest.turns, rest.ledger, rest.end, rest.seed) == (whole.turns, whole.ledger, whole.end, 5)
        assert policy.started == [(len(TASK.tools), 5)]
        assert len(policy.histories) == len(left)
        assert all(history[-1].role == "tool" and whole.messages[: len(history)] == history for history in policy.histories)


def test_the_policy_of_a_branch_may_have_a_seed_and_a_name_of_its_own(env: CoworkEnv) -> None:
    env.reset(seed=5)
    env.step(call("helpdesk_list_tickets"))
    start = env.snapshot()
    policy = Spoken(_in_order(final("done")))
    branch = play(env, policy, start=start, seed=9)
    assert (policy.started, branch.seed, branch.agent, len(branch.turns)) == ([(len(TASK.tools), 9)], 5, "spoken", 2)
    with pytest.raises(UserError):
        play(CoworkEnv("M1100"), policy, start=start)


def test_a_fault_of_the_model_server_quarantines_the_episode(env: CoworkEnv, tmp_path: Path) -> None:
    fault = Fault(Blame.MODEL_SERVER, "http://127.0.0.1:1", "no answer")
    episode = play(env, Spoken(_raising(fault, call("helpdesk_list_tickets"))), seed=0)
    assert (episode.ending, episode.fault, len(episode.turns), len(episode.ledger)) == (Ending.FAULT, fault.record, 1, 1)
    assert (episode.grade.reward, episode.grade.completion, episode.grade.fault) == (None, None, fault.record)
    assert read_episode(write_episode(episode, tmp_path)).grade == episode.grade
    assert env.step(call("helpdesk_list_tickets"))[2:4] == (False, True)


@pytest.mark.parametrize("error", [ValueError("no such thing"), RecursionError("too deep"), StopIteration()])
def test_any_other_exception_of_a_policy_is_the_harnesss_fault(env: CoworkEnv, error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    episode = play(env, Spoken(_raising(error)), seed=0)
    assert (episode.fault.blame, episode.fault.where) == (Blame.HARNESS, "spoken")
    assert episode.fault.message == f"{type(error).__name__}: {error}"
    assert episode.grade.reward is None
    assert caplog.records[0].exc_info[1] is error


def test_a_policy_that_cannot_begin_is_a_fault_too(env: CoworkEnv) -> None:
    class Unready(Spoken):
        def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
            raise OSError("no weights")

    episode = play(env, Unready(_in_order()), seed=0)
    assert (episode.fault.blame, episode.turns, episode.grade.reward) == (Blame.HARNESS, (), None)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UserError("set OPENAI_API_KEY")])
def test_what_is_for_the_person_passes_through(env: CoworkEnv, error: BaseException) -> None:
    with pytest.raises(type(error)):
        play(env, Spoken(_raising(error)), seed=0)


@pytest.mark.parametrize("answer", [None, 7, "text", {"role": "assistant", "content": "x"}])
def test_what_no_policy_may_answer_is_a_fault_of_the_harness(env: CoworkEnv, answer: object) -> None:
    episode = play(env, Spoken(_in_order(answer)), seed=0)
    assert (episode.fault.blame, episode.fault.where, episode.turns, episode.grade.reward) == (Blame.HARNESS, "spoken", (), None)
    assert episode.fault.message == f"TypeError: the answer is of type {type(answer).__name__}"


def test_a_policy_that_exits_is_a_fault_of_the_harness(env: CoworkEnv) -> None:
    episode = play(env, Spoken(_raising(SystemExit(3))), seed=0)
    assert (episode.fault.blame, episode.fault.where, episode.grade.reward) == (Blame.HARNESS, "spoken", None)


def test_what_is_no_action_costs_a_turn_and_is_no_fault(env: CoworkEnv) -> None:
    policy = Spoken(_in_order(InvalidAction("no JSON", "{"), Message("user", "me"), final("x")))
    episode = play(env, policy, seed=0)
    assert [one.invalid is not None for one in episode.turns] == [True, True, False]
    assert episode.fault is None
    assert [one.role for one in policy.histories[-1]] == ["user", "assistant", "user", "assistant", "user"]


def test_one_environment_and_one_policy_play_again_and_again(env: CoworkEnv) -> None:
    policy = make_agent("reference", TASK)
    first, second = (play(env, policy, seed=2) for _ in range(2))
    assert (first.ledger, first.end, first.grade) == (second.ledger, second.end, second.grade)


def test_who_watches_and_exits_is_no_fault_of_the_policy(env: CoworkEnv) -> None:
    def gone(turn: Turn) -> None:
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        play(env, Spoken(_in_order(call("helpdesk_list_tickets"), final("x"))), seed=0, watch=gone)
