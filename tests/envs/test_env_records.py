"""What an environment records, and what it refuses to mix up."""

import copy
import pickle
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from cowork_gym.core.canonical import canonical, decode, encode
from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import InvalidAction, Message, ToolCall, call, final, message
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.core.task import Budgets
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import grade_episode
from cowork_gym.envs.session import Grading
from cowork_gym.envs.world import World

GET = {"ticket_id": "TCK-5802"}


@pytest.fixture
def env():
    made = CoworkEnv("M1100")
    made.reset(seed=0)
    yield made
    made.close()


def _named(tool: str, id: str | None, **arguments: Any) -> Message:
    return message(None, ToolCall(tool, arguments, id))


def _priority(observation) -> Any:
    told = decode(observation[0].content)
    return told.get("ticket", told)["priority"]


@pytest.mark.parametrize("form", [
    {}, "{}", {"tool": "crm_list_customers", "args": {}}, {"name": "crm_list_customers"}, '{"foo": 1}', {"content": None}, {"role": "assistant"},
    {"tool_calls": []}, Message("assistant"), Message("assistant", 5), message(None, ToolCall("x", None)), message(None, ToolCall(None, {})),
    message(None, ToolCall([], {})), message(None, ToolCall("x", {}, 3)), {"role": ["assistant"], "content": "x"},
    '{"name": "kb_search", "arguments": {"query": 1e99999999999999999999}}', InvalidAction("cut off", '{"name": "kb_se'),
])
def test_what_is_no_message_costs_a_turn_and_ends_nothing(env, form):
    observation, reward, terminated, truncated, info = env.step(form)
    assert (reward, terminated, truncated, info["invalid_actions"]) == (0.0, False, False, 1)
    assert decode(observation[0].content)["type"] == "invalid_action"
    assert env.progress.turns[0].raw and not env.world.ledger


def test_a_number_that_no_decimal_holds_is_refused_in_the_arguments_too(env):
    _, _, _, _, info = env.step({"tool_calls": [{"name": "kb_search", "arguments": '{"query": 1e99999999999999999999}'}]})
    assert info["dispatches"][0].status == 422


def test_a_server_that_numbers_calls_anew_reads_what_is_true_now(env):
    before = _priority(env.step(_named("helpdesk_get_ticket", "call_0", **GET))[0])
    env.step(_named("helpdesk_update_ticket", "call_0", **GET, priority="low"))
    after, *_, info = env.step(_named("helpdesk_get_ticket", "call_0", **GET))
    assert (before, _priority(after), info["dispatches"][0].replayed) == ("critical", "low", False)


def test_a_read_that_is_sent_again_at_once_is_a_retry(env):
    first = env.step(_named("helpdesk_get_ticket", "x", **GET))[0]
    again, *_, info = env.step(_named("helpdesk_get_ticket", "x", **GET))
    assert (again, info["dispatches"][0].replayed, len(env.world.ledger)) == (first, True, 1)


def test_ids_that_are_made_are_free(env):
    env.step(_named("helpdesk_list_tickets", "call_2"))
    _, _, _, _, info = env.step(call("helpdesk_list_tickets"))
    assert (info["dispatches"][0].replayed, len(env.world.ledger)) == (False, 2)
    env.step(_named("helpdesk_list_tickets", ""))
    ids = [one.id for one in env.episode().dispatches]
    assert len({*ids}) == 3 and all(ids) and ids == [entry.dispatch for entry in env.world.ledger]


def test_what_was_sent_cannot_be_changed_afterwards(env):
    arguments = {"ticket_id": "TCK-5802", "tags": ["a"]}
    env.step(_named("helpdesk_update_ticket", "u", **arguments))
    sealed = seal(env.episode())
    arguments["tags"].append("b")
    assert seal(env.episode()) == sealed


def test_tools_that_are_changed_by_one_user_are_whole_for_the_next(env):
    env.step(call("helpdesk_list_tickets"))[4]["tools"][0]["function"]["parameters"]["properties"].clear()
    assert CoworkEnv("M1100").reset(seed=0)[1]["tools"][0]["function"]["parameters"]["properties"]


def test_a_closed_world_has_kept_its_state(env):
    env.step(_named("helpdesk_update_ticket", "u", **GET, priority="low"))
    print_before, episode = env.world.fingerprint(), env.episode()
    env.close()
    assert (env.world.fingerprint(), seal(env.episode())) == (print_before, seal(episode))


def test_snapshots_of_other_tasks_are_refused(env):
    other = CoworkEnv("M133")
    other.reset(seed=0)
    with pytest.raises(UserError, match="the checkpoint is of M133"):
        env.restore(other.snapshot())
    with pytest.raises(UserError, match="another blueprint"):
        env.world.restore(other.world.snapshot())
    with pytest.raises(UserError, match="another blueprint"):
        World(env.blueprint, snapshot=other.world.snapshot())


def test_a_fork_resets_as_its_parent_does(env):
    env.reset(seed=3)
    (fork,) = env.fork()
    assert fork.seed == 3
    assert [fork.reset()[1]["seed"] for _ in range(2)] == [env.reset()[1]["seed"] for _ in range(2)]


def test_an_episode_can_be_ended_and_graded_anywhere(env):
    env.step(call("crm_list_customers"))
    episode = env.finish()
    assert (episode.ending, episode.grade.completion, env.progress.truncated) == (Ending.STOPPED, 0.08, True)
    assert env.finish() is episode and env.step(final("late"))[4]["grade"] is episode.grade


def test_a_grade_names_the_episode_and_can_be_given_again(env, tmp_path):
    env.agent = "someone"
    env.step(call("crm_list_customers"))
    env.spend(7)
    env.step(final("done"))
    episode = env.episode()
    assert (episode.grade.seal, episode.agent, [turn.tokens for turn in episode.turns]) == (seal(episode), "someone", [0, 7])
    again = read_episode(write_episode(episode, tmp_path))
    assert (seal(again), again.grade) == (seal(episode), episode.grade)
    assert grade_episode(env.task, env.blueprint, again) == episode.grade


def test_records_that_contradict_each_other_are_quarantined(env):
    env.step(call("crm_list_customers"))
    env.world.call("crm_list_customers", {})  # past the environment: in the ledger, but no dispatch
    _, reward, _, _, info = env.step(final("done"))
    assert (reward, info["grade"].reward, info["fault"].where) == (0.0, None, "ledger")


def test_long_ledgers_travel(env):
    for _ in range(1200):
        env.world.call("crm_list_customers", {"status": "nothing"})
    snapshot = env.world.snapshot()
    assert pickle.loads(pickle.dumps(snapshot)).ledger == snapshot.ledger
    assert copy.deepcopy(snapshot).ledger == snapshot.ledger


def test_calls_over_the_budget_are_no_errors(env):
    left = env.task.budgets.calls
    *_, info = env.step(message(None, *[call("crm_list_customers")] * (left + 3)))
    assert [one.status for one in info["dispatches"]][-3:] == [410] * 3
    assert info["grade"].robustness == 1.0


def test_a_refusal_is_no_recorded_result(env):
    missing = _named("helpdesk_get_ticket", "x", ticket_id="TCK-0")
    assert [env.step(missing)[4]["dispatches"][0].replayed for _ in range(3)] == [False] * 3


def test_thousands_of_calls_under_one_id_take_their_turn(env):
    env.session.task = replace(env.task, budgets=Budgets(calls=20_000))
    *_, info = env.step(message(None, *[ToolCall("nope", {}, "a")] * 20_000))
    assert len({one.id for one in info["dispatches"]}) == 20_000


def test_an_interrupt_in_mid_message_leaves_a_record_that_holds(env, monkeypatch):
    handler = env.blueprint.tools["crm_get_customer"].tool
    monkeypatch.setattr(handler, "function", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        env.step(message(None, call("crm_list_customers"), call("crm_get_customer", customer_id="CUS-1012")))
    episode = env.finish()
    assert (episode.fault, episode.grade.fault, episode.grade.completion, len(episode.ledger)) == (None, None, 0.08, 1)


def test_a_checkpoint_of_another_release_is_refused(env):
    with pytest.raises(UserError, match="the checkpoint is of"):
        env.restore(replace(env.snapshot(), release_id="Other@0:0"))


def test_numbers_far_from_one_have_one_spelling():
    assert canonical(1e300) == canonical(Decimal("1.0e300")) == "1E300"
    assert canonical(-2.5e-50) == canonical(Decimal("-0.25e-49")) == "-25E-51"
    assert all(encode(decode(encode(one))) == encode(one) for one in (1e-45, 1e300, 5e-324))


def test_an_episode_whose_grading_was_interrupted_is_graded_by_finish(env: CoworkEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as interrupted:
        interrupted.setattr(env.session, "grading", Grading(grader=lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)))
        with pytest.raises(KeyboardInterrupt):
            env.step(final("Done."))
    episode = env.finish()
    assert (episode.ending, episode.answer) == (Ending.FINAL, "Done.") and episode.grade is not None and episode.grade.fault is None
