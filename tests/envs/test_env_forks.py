"""Snapshots, forks and displays of a running episode."""

import gymnasium
import pytest

from cowork_gym.core.messages import Message, call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.registration import load_task

TASK = load_task("M1003")
REFERENCE = TASK.references[0].actions
SPOILER = call("helpdesk_update_ticket", ticket_id="INC-3307", priority="low")


@pytest.fixture
def env() -> CoworkEnv:
    made = CoworkEnv(TASK)
    made.reset(seed=0)
    for action in REFERENCE[:3]:
        made.step(action)
    return made


def _finish(env: CoworkEnv) -> float:
    for action in REFERENCE[3:]:
        *_, info = env.step(action)
    return info["grade"].reward


def test_a_restored_moment_has_the_exact_fingerprint_and_ledger(env: CoworkEnv) -> None:
    here, fingerprint, ledger, turns = env.snapshot(), env.world.fingerprint(), env.world.ledger.hash, env.progress.turns
    env.step(SPOILER)
    assert env.world.fingerprint() != fingerprint
    env.restore(here)
    assert (env.world.fingerprint(), env.world.ledger.hash, env.progress.turns) == (fingerprint, ledger, turns)
    assert _finish(env) == 1.0
    env.restore(here)
    assert env.progress.ending is None
    assert _finish(env) == 1.0


def test_forks_go_their_own_ways_and_leave_their_parent_alone(env: CoworkEnv) -> None:
    fingerprint, ledger = env.world.fingerprint(), env.world.ledger
    good, bad, idle = env.fork(3)
    bad.step(SPOILER)
    assert _finish(good) == 1.0
    assert _finish(bad) < 0.75
    assert (env.world.fingerprint(), env.world.ledger) == (fingerprint, ledger) == (idle.world.fingerprint(), idle.world.ledger)
    assert len(good.world.ledger) + 1 == len(bad.world.ledger)
    assert bad.world.ledger.verify()
    assert _finish(env) == 1.0


def test_a_fork_keeps_the_seed_for_the_ids_that_it_will_make() -> None:
    env = CoworkEnv("M133")
    env.reset(seed=9)
    send = call("gmail_send_message", to="a@example.com", subject="s", body="b")
    (fork,) = env.fork()
    assert fork.seed == 9
    assert fork.step(send)[0] == env.step(send)[0]


def test_budgets_go_on_in_a_fork(env: CoworkEnv) -> None:
    (fork,) = env.fork()
    assert (fork.progress.calls, len(fork.progress.turns)) == (env.progress.calls, 3)


def test_the_end_can_be_restored_with_its_grade(env: CoworkEnv) -> None:
    reward = _finish(env)
    end = env.snapshot()
    env.reset(seed=2)
    env.restore(end)
    assert (env.progress.grade.reward, env.episode().ending, env.seed) == (reward, "final", 0)


def test_human_mode_prints_each_turn(capsys: pytest.CaptureFixture[str]) -> None:
    env = gymnasium.make("cowork/M1003-v0", render_mode="human")
    env.reset(seed=0)
    assert TASK.request.strip()[:40] in capsys.readouterr().out
    env.step(call("helpdesk_get_ticket", ticket_id="INC-3307"))
    told = capsys.readouterr().out
    assert told.startswith('> helpdesk_get_ticket({"ticket_id":"INC-3307"})\n[helpdesk_get_ticket] {"ticket_id":')
    env.step(final("all done"))
    assert "> all done" in capsys.readouterr().out


def test_ansi_mode_returns_the_last_turn() -> None:
    env = gymnasium.make("cowork/M1003-v0", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == f"[user] {TASK.request}"
    env.step(call("kb_search", query="ssl"))
    assert env.render().startswith('> kb_search({"query":"ssl"})\n[kb_search] {"articles":')


def test_without_a_mode_nothing_is_rendered(env: CoworkEnv, capsys: pytest.CaptureFixture[str]) -> None:
    assert env.render() is None
    assert capsys.readouterr().out == ""


def test_what_a_notebook_shows_is_escaped(env: CoworkEnv) -> None:
    evil = "<script>alert('x')</script>"
    env.step(call("helpdesk_get_ticket", ticket_id=evil))
    env.step(final(evil))
    shown = [env._repr_html_(), env.progress.grade._repr_html_(), Observation((Message("tool", evil, (), "1", evil),))._repr_html_()]
    assert all("<script>" not in one for one in shown)
    assert "&lt;script&gt;" in shown[-1]
    assert TASK.title in shown[0]
