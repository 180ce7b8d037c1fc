"""Which turn lost it: found for every way to lose, in tasks of all kinds, and told without claiming more than the references show."""

from dataclasses import replace

import pytest
from recorded import recorded

from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import Blame, FaultRecord, UserError
from cowork_gym.core.messages import InvalidAction, call, final, message
from cowork_gym.core.record import seal
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.envs.variation import instance
from cowork_gym.harness import make_agent, play
from cowork_gym.harness.debug import Diagnosis, Prospect, debug, deed
from cowork_gym.harness.policies.scripted import ScriptedPolicy


def winnable(found: Diagnosis) -> list[int]:
    return [one.turns for one in found.prospects if one.winnable]


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("task", ["M1100", "M1108", "M1124", "M1201", "M1206", "M1301", "M1304", "M1305", "M139"])
def test_on_the_way_of_a_reference_it_can_always_be_won(task: str, seed: int) -> None:
    """Blanks, faults that are met but once, answers that were heard, and parts that are closed: a reference goes on from anywhere."""
    for reference in load_task(task).references:
        episode = recorded(task, f"reference:{reference.name}", seed)
        found = debug(episode)
        assert winnable(found) == [*range(len(episode.turns) + 1)]
        assert found.won and found.monotone and found.lost is None and found.failing == ()
        assert found.text == "The episode was won, or can still be won from where it stopped."


@pytest.mark.parametrize("task, negative, tool, failing", [
    ("M1100", "wrong_customer", "helpdesk_update_ticket", {"nothing_else_changed"}),
    ("M1100", "export_crm", "crm_export_report", {"forbidden:crm_export_report", "nothing_else_changed"}),
    ("M1100", "superseded_procedure", "", {"article_read", "resolution_has_the_procedure"}),
    ("M1108", "orders_again", "inventory_create_order", {"two_orders"}),
    ("M1301", "makes_room", "calendar_update_event", {"rest"}),
    ("M1301", "second_appointment", "calendar_create_event", {"one_appointment"}),
    ("M1201", "place_not_asked", "calendar_create_event", {"place_asked"}),
    ("M1305", "yesterday", "", {"second_answer", "second_day"}),
])
def test_the_turn_that_lost_it_is_found(task: str, negative: str, tool: str, failing: set[str]) -> None:
    for seed in (0, 7):
        episode = recorded(task, f"negative:{negative}", seed)
        found = debug(episode)
        assert found.lost is not None and found.last is not None and not found.won
        assert winnable(found) == [*range(found.lost.turns)]
        turn = episode.turns[found.lost.turns - 1]
        assert found.lost.deed == deed(turn)
        assert tool in [one.tool for one in turn.dispatches] if tool else not turn.dispatches
        assert set(found.failing) == failing
        assert found.text.startswith(f"The episode could be won after turn {found.last.turns}, and no longer after turn {found.lost.turns}: ")
        assert found.prospects[-1].reward == episode.grade.reward


def test_an_answer_at_once_loses_it_at_the_beginning() -> None:
    found = debug(recorded("M1100", "noop"))
    assert [one.winnable for one in found.prospects] == [True, False]
    assert found.text.startswith('The episode could be won at the beginning, and no longer after turn 1: said "".')


def test_a_budget_that_was_wasted_is_told_apart() -> None:
    """An episode that reads until its turns are spent."""
    task = load_task("M1100")
    short = replace(task, budgets=replace(task.budgets, turns=len(recorded("M1100").turns) + 2))
    with CoworkEnv(short) as env:
        episode = play(env, ScriptedPolicy("reads", [call("crm_list_customers")] * 20), seed=0)
    found = debug(episode, short)
    assert episode.ending is Ending.TURNS and found.last is not None and found.lost is not None
    assert winnable(found) == [*range(found.lost.turns)] and 3 <= found.lost.turns < len(episode.turns)
    assert all(one.budget for one in found.prospects[found.lost.turns :]) and not any(one.budget for one in found.prospects[: found.lost.turns])
    assert "What was lost is the budget alone" in found.text


def test_where_no_reference_wins_it_is_said() -> None:
    task = load_task("M1100")
    hopeless = replace(task, references=(replace(task.references[0], actions=task.references[0].actions[:2]),))
    with CoworkEnv(hopeless) as env:
        episode = play(env, make_agent("noop", hopeless), seed=0)
    found = debug(episode, hopeless)
    assert not found.won and found.last is None and found.lost is None and found.monotone
    assert found.text.startswith("No reference wins from any moment, the beginning included; the best reward is 0.")


def test_what_was_won_back_is_told() -> None:
    def row(turns: int, reward: float | None) -> Prospect:
        return Prospect(turns, f"deed {turns}", reward, "", () if reward == 1 else ("a", f"b{turns}"))

    found = Diagnosis("T", "", (row(0, 1.0), row(1, 0.4), row(2, 1.0), row(3, 0.4), row(4, None)))
    assert not found.monotone and found.last == found.prospects[2] and found.lost == found.prospects[3]
    assert found.failing == ("a",)
    assert found.text == (
        "The episode could be won after turn 2, and no longer after turn 3: deed 3. From then on these checks fail, whatever a reference does: a. "
        "Not every earlier moment could be won by a reference as it is written; those that could are after turn 0, 2."
    )


def test_it_goes_on_from_where_an_episode_was_stopped() -> None:
    with CoworkEnv("M1301") as env:
        env.reset(seed=7)
        for turn in recorded("M1301", seed=7).turns[:7]:
            env.step(turn.action)
        episode = env.finish()
    assert episode.grade is not None and not episode.grade.passed
    found = debug(episode)
    assert found.won and len(found.prospects) == 8


def test_the_world_is_replayed_but_once(monkeypatch: pytest.MonkeyPatch) -> None:
    episode, resets = recorded("M1100"), []
    real = CoworkEnv.reset
    monkeypatch.setattr(CoworkEnv, "reset", lambda self, **named: (resets.append(1), real(self, **named))[1])
    assert debug(episode).won and resets == [1]


def test_the_episode_is_not_touched_and_the_same_is_found_again() -> None:
    episode = recorded("M1206", "negative:没听见改口", 7)
    before = seal(episode)
    assert debug(episode) == debug(episode)
    assert seal(episode) == before


def test_deeds_are_told_on_one_line() -> None:
    with CoworkEnv("M1003") as env:
        env.reset(seed=0)
        for line in (InvalidAction("cut off", "x"), message(None, call("kb_search", query="a" * 99), call("no_such_tool")), final("all\ndone")):
            env.step(line)
        told = [deed(turn) for turn in env.finish().turns]
    assert told[0] == "no action: cut off"
    assert told[1] == f'kb_search(query="{"a" * 38}…); no_such_tool() failed (404)'
    assert told[2] == 'said "all\\ndone"'


def test_the_table_and_the_document_have_the_same() -> None:
    found = debug(recorded("M1100", "negative:export_crm"))
    told = found.to_dict()
    assert (told["last_winnable"], told["lost_after"], told["won"]) == (7, 8, False)
    assert [one["reward"] for one in told["prospects"]] == [one.reward for one in found.prospects]
    html = found._repr_html_()
    assert html.count("<tr>") == len(found.prospects) + 1 and "crm_export_report" in html


def test_what_cannot_be_looked_into() -> None:
    episode = recorded("M1003")
    with pytest.raises(UserError, match="quarantined: a fault ended it"):
        debug(replace(episode, fault=FaultRecord(Blame.PROXY, "x", "y")))
    task = instance(replace(load_task("M1003"), references=()), 0)
    with pytest.raises(UserError, match="has no reference that could be tried"):
        debug(episode, task)
    with pytest.raises(UserError, match="the task is M1100"):
        debug(episode, "M1100")


@pytest.mark.parametrize(("given", "told"), [
    ({"episode": None}, "episode is to be an Episode, such as read_episode gives, not None"), ({"task": 7}, "task is to be an id, a folder"),
    ({"user": "rules"}, "user is to be a function of a Task, not 'rules'"), ({"judge": 1.5}, "judge is to be a Judge or None, not 1.5"),
])
def test_arguments_of_another_type_are_named(given: dict[str, object], told: str) -> None:
    with pytest.raises(UserError) as caught:
        debug(**{"episode": recorded("M1100", "noop"), **given})
    assert str(caught.value).startswith(told)
