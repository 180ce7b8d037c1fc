"""The environment's Gymnasium face: checks, seeds, forms of actions, budgets, retries and what is shown."""

import json
import warnings
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import cowork_gym
from cowork_gym.core.canonical import decode
from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.messages import Message, ToolCall, call, final, message
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import REGISTRY, load_task

TASK = load_task("M1003")
REFERENCE = TASK.references[0].actions


@pytest.fixture
def env() -> CoworkEnv:
    made = CoworkEnv(TASK)
    made.reset(seed=0)
    return made


def _with(**budgets: Any) -> CoworkEnv:
    env = CoworkEnv(replace(TASK, budgets=replace(TASK.budgets, **budgets)))
    env.reset(seed=0)
    return env


def _play(env: CoworkEnv, actions: Any = REFERENCE) -> dict[str, Any]:
    for action in actions:
        *_, info = env.step(action)
    return info


@pytest.mark.parametrize("id", [*REGISTRY.tasks()])
@pytest.mark.parametrize("wrapped", [False, True])
def test_gymnasiums_checker_has_no_objection(id: str, wrapped: bool, capsys: pytest.CaptureFixture[str]) -> None:
    made = gymnasium.make(id)
    with warnings.catch_warnings():
        if wrapped:  # of wrappers as such the checker warns, whatever they wrap
            warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        check_env(made if wrapped else made.unwrapped)


def test_make_plays_through_the_wrappers_without_a_warning() -> None:
    made = gymnasium.make("cowork/M1003-v0")
    observation, info = made.reset(seed=0)
    assert observation == (Message("user", TASK.request),)
    assert [one["function"]["name"] for one in info["tools"]] == [*TASK.tools]
    assert (info["task"], info["release_id"], info["seed"], info["dispatches"]) == (TASK.id, TASK.release_id, 0, ())
    for action in REFERENCE:
        _, reward, terminated, truncated, info = made.step(action)
    assert (reward, terminated, truncated, info["grade"].reward) == (1.0, True, False, 1.0)
    made.close()


def test_the_public_names_are_enough() -> None:
    env = gymnasium.make("cowork/M1100-v0")
    env.reset(seed=0)
    for action in cowork_gym.reference("M1100"):
        *_, info = env.step(action)
    assert info["grade"].passed
    assert isinstance(env.unwrapped.world, cowork_gym.World)


def test_seeds_decide_and_unseeded_resets_follow_from_them(env: CoworkEnv) -> None:
    def row(one: CoworkEnv) -> list[int]:
        return [one.reset(seed=42)[1]["seed"], one.reset()[1]["seed"], one.reset()[1]["seed"]]

    first = row(env)
    assert first == row(env) == row(CoworkEnv(TASK))
    assert len({*first}) == 3
    assert CoworkEnv(TASK).reset()[1]["seed"] != CoworkEnv(TASK).reset()[1]["seed"]


def test_the_seed_reaches_the_ids_of_new_records() -> None:
    env = CoworkEnv("M133")

    def made(seed: int) -> str:
        env.reset(seed=seed)
        observation, *_ = env.step(call("gmail_send_message", to="a@example.com", subject="s", body="b"))
        return observation[0].content

    assert made(7) == made(7) != made(8)


def test_an_unknown_option_of_reset_is_refused(env: CoworkEnv) -> None:
    with pytest.raises(UserError, match="unknown option 'difficulty'"):
        env.reset(options={"difficulty": 3})
    env.reset(options={})


@pytest.mark.parametrize("form", [
    call("helpdesk_get_ticket", ticket_id="INC-3307"),
    {"name": "helpdesk_get_ticket", "arguments": {"ticket_id": "INC-3307"}},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "helpdesk_get_ticket", "arguments": '{"ticket_id": "INC-3307"}'}},
    ]},
    {"tool_calls": [{"name": "helpdesk_get_ticket", "arguments": {"ticket_id": "INC-3307"}}]},
    json.dumps({"name": "helpdesk_get_ticket", "arguments": json.dumps({"ticket_id": "INC-3307"})}),
])
def test_an_action_may_be_written_in_any_form(env: CoworkEnv, form: Any) -> None:
    observation, *_, info = env.step(form)
    assert observation == (Message("tool", info["dispatches"][0].result, (), "call_1", "helpdesk_get_ticket"),)
    assert json.loads(observation[0].content)["ticket_id"] == "INC-3307"
    assert env.world.ledger[0].arguments == {"ticket_id": "INC-3307"}


@pytest.mark.parametrize("form", [final("done"), {"content": "done"}, '{"role": "assistant", "content": [{"type": "text", "text": "done"}]}'])
def test_a_message_without_calls_is_the_answer(env: CoworkEnv, form: Any) -> None:
    observation, _, terminated, truncated, _ = env.step(form)
    assert (observation, terminated, truncated, env.progress.answer) == ((), True, False, "done")


def test_several_calls_in_one_message_run_in_order(env: CoworkEnv) -> None:
    observation, *_, info = env.step(message(None, call("helpdesk_list_tickets"), call("kb_search", query="ssl"), call("helpdesk_list_tickets")))
    assert [(one.tool_call_id, one.name) for one in observation] == [
        ("call_1", "helpdesk_list_tickets"), ("call_2", "kb_search"), ("call_3", "helpdesk_list_tickets"),
    ]
    assert [one.sequence for one in info["dispatches"]] == [1, 2, 3]
    *_, info = env.step(call("helpdesk_list_tickets"))
    assert info["dispatches"][0].id == "call_4"


def test_a_budget_of_turns_truncates_and_the_work_done_is_graded() -> None:
    env = _with(turns=3)
    assert [env.step(action)[2:4] for action in REFERENCE[:3]] == [(False, False), (False, False), (False, True)]
    assert (env.progress.ending, env.progress.answer) == (Ending.TURNS, None)
    assert 0 < env.progress.grade.completion < 1


def test_actions_that_are_none_use_up_turns() -> None:
    env = _with(turns=2)
    env.step(None)
    *_, truncated, info = env.step("nonsense")
    assert (truncated, info["invalid_actions"], info["grade"].reward) == (True, 2, 0.0)


def test_a_budget_of_calls_refuses_what_is_too_many_in_one_message() -> None:
    env = _with(calls=3)
    env.step(call("helpdesk_list_tickets"))
    observation, *_, truncated, info = env.step(message(None, *[call("helpdesk_list_tickets")] * 4))
    assert (truncated, env.progress.ending, env.progress.calls) == (True, Ending.CALLS, 5)
    assert [one.status for one in info["dispatches"]] == [200, 200, 410, 410]
    assert [len(observation), len(env.world.ledger)] == [4, 3]


def test_budgets_of_tokens_and_seconds_truncate() -> None:
    env = _with(tokens=100)
    env.spend(99)
    assert env.step(call("helpdesk_list_tickets"))[3] is False
    env.spend(1)
    assert (env.step(call("helpdesk_list_tickets"))[3], env.progress.ending) == (True, Ending.TOKENS)
    env = _with(seconds=1e-9)
    assert (env.step(call("helpdesk_list_tickets"))[3], env.progress.ending) == (True, Ending.SECONDS)


def test_a_message_that_comes_again_is_executed_once(env: CoworkEnv) -> None:
    def sent(*names: str) -> Message:
        low = {"ticket_id": "INC-3307", "priority": "low"}
        tags = {"tags": ["a"], "ticket_id": "INC-3307"}
        return message(None, *[ToolCall("helpdesk_update_ticket", {"low": low, "tags": tags}[name], id=name) for name in names])

    first = env.step(sent("low", "tags"))[0]
    for _ in range(2):
        again, *_, info = env.step(sent("low", "tags"))
        assert again == first
        assert [(one.replayed, one.sequence) for one in info["dispatches"]] == [(True, 1), (True, 2)]
    *_, info = env.step(sent("tags", "tags", "low"))
    assert [one.replayed for one in info["dispatches"]] == [True, True, True]
    assert len(env.world.ledger) == 2


def test_a_call_that_comes_again_after_another_is_a_new_one(env: CoworkEnv) -> None:
    for priority in ("low", "high", "low"):
        env.step(message(None, ToolCall("helpdesk_update_ticket", {"ticket_id": "INC-3307", "priority": priority}, id=priority)))
    assert env.world.rows("helpdesk.tickets")["INC-3307"]["priority"] == "low"
    read = message(None, ToolCall("helpdesk_get_ticket", {"ticket_id": "INC-3307"}, id="call_1"))
    change = ToolCall("helpdesk_update_ticket", {"ticket_id": "INC-3307", "priority": "critical"}, id="call_0")
    env.step(message(None, ToolCall("helpdesk_list_tickets", {}, id="call_0"), read))
    observation = env.step(message(None, change, read))[0]
    assert decode(observation[1].content)["priority"] == "critical"


def test_an_id_that_is_used_for_another_call_is_a_new_call(env: CoworkEnv) -> None:
    for priority in ("low", "high", "low"):
        observation, *_, info = env.step(message(None, ToolCall("helpdesk_update_ticket", {"ticket_id": "INC-3307", "priority": priority}, id="0")))
        assert (observation[0].tool_call_id, info["dispatches"][0].status) == ("0", 200)
    assert [(one.dispatch, one.arguments["priority"]) for one in env.world.ledger] == [("0", "low"), ("0~2", "high"), ("0~3", "low")]


def test_evidence_in_between_is_not_that_of_the_end(env: CoworkEnv) -> None:
    _play(env, REFERENCE[:-2])
    assert (env.episode().answer, env.episode().grade) == (None, None)
    assert env.episode().ending is Ending.STOPPED
    assert _play(env, REFERENCE[-2:])["grade"].reward == 1.0


@pytest.mark.parametrize("door", ["direct", "asgi"])
def test_every_door_leads_to_the_same_grade(door: str) -> None:
    if door == "asgi":
        pytest.importorskip("fastapi")
        pytest.importorskip("httpx")
    env, direct = CoworkEnv(TASK, door=door), CoworkEnv(TASK)
    try:
        for one in (env, direct):
            one.reset(seed=5)
        assert _play(env)["grade"] == _play(direct)["grade"]
        assert (env.world.ledger, env.world.fingerprint()) == (direct.world.ledger, direct.world.fingerprint())
        assert env.progress.turns == direct.progress.turns
    finally:
        env.close()


def test_the_reward_that_gymnasium_gets_follows_the_spec_that_was_asked_for() -> None:
    env = CoworkEnv(TASK, reward="claw-v1")
    env.reset(seed=0)
    _, reward, *_, info = env.step(final("x"))
    assert (reward, info["grade"].reward, info["grade"].spec) == (0.2, 0.2, "claw-v1")


@pytest.mark.parametrize(("options", "text"), [
    ({"render_mode": "rgb"}, "unknown render_mode 'rgb'"), ({"reward": "claw"}, "did you mean 'claw-v1'"), ({"door": "http"}, "unknown door 'http'"),
])
def test_an_unknown_option_names_the_nearest(options: dict[str, str], text: str) -> None:
    with pytest.raises(UserError, match=text):
        CoworkEnv(TASK, **options)


def test_a_task_that_is_not_there_is_the_users_mistake(tmp_path: Any) -> None:
    with pytest.raises(UserError, match="did you mean 'M1"):
        CoworkEnv("M103")
    (tmp_path / "task.yaml").write_text("schema_version: 1\n")
    with pytest.raises(PackageError, match=r"task\.yaml"):
        CoworkEnv(tmp_path)


@pytest.mark.parametrize("seed", [np.int64(5), np.uint8(5), np.array(5), 5], ids=repr)
def test_a_seed_may_be_numpys(seed: Any) -> None:
    env = CoworkEnv("M1100")
    assert type(env.reset(seed=seed)[1]["seed"]) is int and env.seed == 5


@pytest.mark.parametrize("seed", [5.0, "5", [5], -1, 2**63, pytest.param(10**5000, id="huge"), np.array([5, 6])])
def test_what_is_no_seed_is_told_in_one_line(seed: Any) -> None:
    with pytest.raises(UserError, match=r"^a seed is a whole number from 0 to 2\^63 - 1, not .+\Z"):
        CoworkEnv("M1100").reset(seed=seed)
