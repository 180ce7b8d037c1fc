"""Replay: the same states, results and grade from the actions alone, whatever kind of task it was; and the first difference, if there is one."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from recorded import CHILD, DELEGATING, LIST, PARENT, SEARCH, WRITE, delegated, recorded, scripted

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.core.messages import InvalidAction, Message, ToolCall, call, final, message
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.envs.dialogue import Reply
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import PLAIN, play
from cowork_gym.harness.mismatch import Mismatch
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.replay import Replay, replay

TASKS = {
    "several services": ("M1001", "M1100", "M1105", "M1110"), "planned faults": ("M1007", "M1108", "M1124"),
    "dialogue": ("M1201", "M1205", "M1208"), "several days": ("M1301", "M1303", "M1305"), "Chinese": ("M1008", "M1206", "M1304"),
    "safety": ("M133", "M139", "M144"),
}


def same(episode: Episode) -> None:
    with replay(episode) as env:
        again = env.finish()
    assert seal(again) == seal(episode)
    assert again.grade == episode.grade


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("task", [one for tasks in TASKS.values() for one in tasks])
def test_an_episode_comes_out_again(task: str, seed: int) -> None:
    for agent in ("reference", "random"):
        same(recorded(task, agent, seed))


@pytest.mark.parametrize("task", ["M1124", "M1206", "M1305"])
def test_an_episode_comes_out_again_from_its_file(task: str, tmp_path: Path) -> None:
    for seed in (0, 7):
        file = write_episode(recorded(task, seed=seed), tmp_path)
        episode = read_episode(file)
        with replay(episode) as env:
            assert write_episode(env.finish(), tmp_path / "again").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("task", ["M1100", "M1108", "M1202", "M1302"])
def test_every_moment_can_be_reached_and_gone_on_from(task: str) -> None:
    episode = recorded(task, seed=7)
    again = Replay(episode)
    moments = [again.env.snapshot(), *(again.env.snapshot() for _ in again.steps())]
    for turns, moment in enumerate(moments):
        with replay(episode, until=turns) as env:
            assert env.progress.turns == episode.turns[:turns] and env.world.ledger == moment.world.ledger
            assert turns == 0 or env.world.fingerprint() == episode.turns[turns - 1].state
        with replay(episode, start=moment) as env:
            assert seal(env.finish()) == seal(episode)


def test_a_moment_is_played_on_from_as_it_was() -> None:
    """Ids, budgets and the user go on where they stood, and nothing of the record is left in the environment."""
    episode = recorded("M1201")
    with replay(episode, until=2) as env:
        for turn in episode.turns[2:]:
            env.step(turn.action)
        again = env.finish()
    assert (again.turns, again.ledger, again.end, again.answer) == (episode.turns, episode.ledger, episode.end, episode.answer)


def test_what_was_no_action_gives_the_same_again() -> None:
    nan = message(None, ToolCall("helpdesk_get_ticket", {"ticket_id": float("nan")}), ToolCall("kb_search", "{not json"), LIST)
    with CoworkEnv("M1003") as env:
        env.reset(seed=0)
        for action in (InvalidAction("cut off", "<tool_call>"), {"role": "user", "content": "hm"}, final("a lone \ud800"), nan, "gar\0bage", 7, LIST):
            env.step(action)
        episode = env.finish()
    assert [turn.invalid is not None for turn in episode.turns] == [True, True, True, False, True, True, False]
    same(episode)


def test_retries_and_ids_that_come_again() -> None:
    one = message(None, ToolCall(WRITE.tool_calls[0].name, WRITE.tool_calls[0].arguments, "a"))
    again = message(None, ToolCall("kb_search", {"query": "x"}, "a"))
    episode = scripted([one, one, again, again, again, final("done")])
    assert [(turn.dispatches[0].id, turn.dispatches[0].replayed) for turn in episode.turns[:5]] == [
        ("a", False), ("a", True), ("a~2", False), ("a~2", True), ("a~2", True),
    ]
    same(episode)
    with replay(episode, until=2) as env:
        env.restore(env.snapshot())
        env.step(again)
        assert env.progress.turns[-1].dispatches == episode.turns[2].dispatches


@pytest.mark.parametrize("budget", ["turns", "calls", "tokens"])
def test_spent_budgets_end_it_again(budget: str) -> None:
    class Counting(ScriptedPolicy):
        def act(self, history):
            self.usage = replace(self.usage, completion_tokens=5)
            return super().act(history)

    task = load_task("M1003")
    small = replace(task, budgets=replace(task.budgets, **{budget: 12 if budget == "tokens" else 3}))
    with CoworkEnv(small) as env:
        episode = play(env, Counting("counts", [LIST, SEARCH] * 4), seed=0)
    assert (episode.ending, len(episode.turns)) == (Ending(budget), 3)
    with replay(episode, task=small) as env:
        assert seal(env.finish()) == seal(episode)


def test_wall_time_is_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    task = load_task("M1003")
    timed = replace(task, budgets=replace(task.budgets, seconds=10))
    with CoworkEnv(timed) as env:
        env.reset(seed=0)
        env.step(LIST)
        now[0] = 11
        env.step(SEARCH)
        episode = env.finish()
    assert (episode.ending, len(episode.turns)) == (Ending.SECONDS, 2)
    with replay(episode, task=timed, until=1) as env:
        assert env.progress.ending is None
    with replay(episode, task=timed) as env:
        assert seal(env.finish()) == seal(episode)


def test_a_child_is_replayed_inside_of_the_call_that_started_it() -> None:
    episode = delegated()
    assert [turn.run for turn in episode.turns] == [0, 1, 1, 1, 0, 0, 0]
    sequences = [[one.sequence for one in turn.dispatches] for turn in episode.turns]
    assert sequences[1][0] > sequences[4][0] and sequences[4][2] > sequences[2][0], "the parent calls before and after its child"
    same(episode)
    with replay(episode, until=5) as env:
        assert env.progress.turns == episode.turns[:5]
    for turn in (2, 3, 4):
        with pytest.raises(UserError, match=f"after {turn} turns, run 1 was under way"):
            replay(episode, until=turn)


def test_grandchildren_and_several_children() -> None:
    harness = replace(DELEGATING, inner=(replace(DELEGATING.inner[0], depth=2),))
    ask = call("delegate", task="Begin with INC-3188")

    class Family(ScriptedPolicy):
        def spawn(self):
            return Family("family", [message(None, WRITE, ask, SEARCH), final("child")], [[SEARCH, WRITE, final("grandchild")]] * 2)

    with CoworkEnv("M1003") as env:
        episode = play(env, Family("family", [message(None, ask, LIST, ask), final("done")]), harness=harness, seed=0)
    assert episode.fault is None and {turn.run for turn in episode.turns} > {0, 1, 2}
    same(episode)


@pytest.mark.parametrize("break_at", ["child", "parent"])
def test_a_policy_that_failed(break_at: str) -> None:
    class Failing(ScriptedPolicy):
        def act(self, history):
            if self._next == (1 if break_at == self.name else 99):
                raise Fault(Blame.MODEL_SERVER, "server", "it is down")
            return super().act(history)

        def spawn(self):
            return Failing("child", CHILD)

    with CoworkEnv("M1003") as env:
        episode = play(env, Failing("parent", PARENT), harness=DELEGATING, seed=0)
    assert episode.fault is not None and episode.fault.message == "it is down"
    assert len(episode.turns) == (3 if break_at == "child" else 1)
    same(episode)


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_an_interrupt_is_replayed_as_far_as_it_came(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    env, count = CoworkEnv("M1003"), Counter[str]()
    env.reset(seed=0)
    real = env.session._caller.call

    def interrupted(*arguments, **named):
        count["calls"] += 1
        if count["calls"] == calls:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(env.session._caller, "call", interrupted)
    for action in (message(None, LIST, WRITE), message(None, SEARCH, LIST, WRITE)):
        try:
            env.step(action)
        except KeyboardInterrupt:
            break
    monkeypatch.undo()
    episode = env.finish()
    assert len(episode.dispatches) == calls - 1
    same(episode)


def test_the_users_words_are_those_of_the_record() -> None:
    """A model may have worded them: what the agent read, and which facts it heard, is not asked for again."""

    class Wordy:
        name = "wordy"

        def reply(self, turns, said):
            return Reply("Seven, I think.", ("how_many",)) if not turns else None

    with CoworkEnv("M1003", user=lambda task: Wordy()) as env:
        episode = play(env, ScriptedPolicy("asks", [final("How many?"), LIST, final("done")]), seed=0)
    assert episode.turns[0].heard == ("how_many",)
    same(episode)


def test_a_user_who_failed() -> None:
    class Silent:
        name = "silent"

        def reply(self, turns, said):
            raise Fault(Blame.MODEL_SERVER, "user", "no answer")

    with CoworkEnv("M1301", user=lambda task: Silent()) as env:
        episode = play(env, ScriptedPolicy("asks", [LIST, final("How many?")]), seed=0)
    assert episode.ending is Ending.FAULT
    same(episode)


def _changed(episode: Episode, at: int, **fields: object) -> Episode:
    turns = [*episode.turns]
    turns[at] = replace(turns[at], **fields)  # type: ignore[arg-type]
    return replace(episode, turns=tuple(turns))


def test_another_state_is_told_with_the_first_row_that_differs() -> None:
    episode = recorded("M1100")
    at = next(turn.index for turn in episode.turns if turn.dispatches and turn.dispatches[0].tool == "helpdesk_update_ticket")
    ticket = next(one for one in episode.changes if one.table == "helpdesk.tickets")
    others = tuple(replace(one, after={**ticket.after, "status": "resolved"}) if one is ticket else one for one in episode.changes)
    with pytest.raises(Mismatch) as caught:
        replay(replace(_changed(episode, at, state="0" * 64), changes=others))
    found = caught.value
    assert (found.turn, found.what, found.row and found.row[:2]) == (at, "state", ("helpdesk.tickets", ticket.key))
    assert found.fault.blame is Blame.ENVIRONMENT
    assert str(found) == (
        f"turn {at} came out otherwise than recorded: the state after it is another one; the first row that differs in the end: "
        f"helpdesk.tickets/{ticket.key} has status \"resolved\" in the record and \"open\" in the replay"
    )


def test_another_result_is_told() -> None:
    episode = recorded("M1003")
    other = replace(episode.turns[1].dispatches[0], result='{"tickets":[]}')
    with pytest.raises(Mismatch, match="turn 1 came out otherwise than recorded: helpdesk_get_ticket gave 200 ") as caught:
        replay(_changed(episode, 1, dispatches=(other,)))
    assert (caught.value.what, caught.value.row) == ("result", None)


@pytest.mark.parametrize("fields, what", [
    ({"ending": Ending.TURNS}, "end"), ({"end": "0" * 64}, "end"), ({"answer": "something else"}, "end"), ({"start": "0" * 64}, "start"),
])
def test_another_end_or_beginning_is_told(fields: dict[str, object], what: str) -> None:
    with pytest.raises(Mismatch) as caught:
        replay(replace(recorded("M1003"), **fields))  # type: ignore[arg-type]
    assert (caught.value.what, caught.value.turn) == (what, None)


def test_a_ledger_with_another_entry_is_told() -> None:
    episode = recorded("M1003")
    with pytest.raises(Mismatch) as caught:
        replay(replace(episode, ledger=recorded("M1003", "random").ledger))
    assert (caught.value.turn, caught.value.what) == (0, "ledger")


def test_a_call_that_does_not_come_about_is_told() -> None:
    episode = scripted([LIST, message(None, SEARCH, LIST), final("done")])
    dispatches = episode.turns[1].dispatches
    with pytest.raises(Mismatch, match="turn 1 came out otherwise than recorded: 2 calls of 3 came about") as caught:
        replay(_changed(episode, 1, dispatches=(*dispatches, dispatches[0])))
    assert (caught.value.turn, caught.value.what) == (1, "calls")


def test_what_cannot_be_replayed_is_told_in_one_line() -> None:
    episode = recorded("M1003")
    other = replace(episode, release_id="M1003_ticket_kb_resolution@0:0123456789abcdef")
    with pytest.raises(UserError, match="the episode is of M1003_ticket_kb_resolution@0:0123456789abcdef, the task is M1003_ticket_kb_resolution@0:"):
        replay(other)
    with pytest.raises(UserError, match="the task is M1100"):
        replay(episode, task="M1100")
    for turn in (-1, 8, 99):
        with pytest.raises(UserError, match=f"the episode has 7 turns: choose a number from 0 to 7, not {turn}"):
            replay(episode, until=turn)
    with replay(recorded("M1003", "random"), until=2) as env, pytest.raises(UserError, match="the snapshot is not of this episode"):
        replay(episode, start=env.snapshot())
    with replay(episode, until=3) as env, pytest.raises(UserError, match="3 turns are taken already, more than 2"):
        replay(episode, until=2, start=env.snapshot())


def test_an_episode_that_nobody_ended() -> None:
    env = CoworkEnv("M1003")
    env.reset(seed=0)
    same(env.finish())
    env.step(Message("assistant", "ended already"))
    env.reset(seed=0)
    env.step(LIST)
    same(env.finish())
    assert play(env, ScriptedPolicy("s", []), harness=PLAIN, seed=0).ending is Ending.FINAL
