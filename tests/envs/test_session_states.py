"""States after turns, where no call explains a change: between two parts of a task the world moves by itself."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_stages import FILES

from cowork_gym.core.messages import call, final
from cowork_gym.envs.env import CoworkEnv


@pytest.fixture
def env(tmp_path: Path) -> CoworkEnv:
    for name, text in FILES.items():
        path = tmp_path / "Two_days" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return _begun(CoworkEnv(tmp_path / "Two_days"))


def _begun(env: CoworkEnv) -> CoworkEnv:
    env.reset(seed=0)
    env.session.states = True
    return env


def _states(env: CoworkEnv) -> list[str]:
    return [turn.state for turn in env.progress.turns]


def test_a_world_that_moves_between_parts_has_another_state_though_nothing_was_called(env: CoworkEnv) -> None:
    for said in ("First.", "Second."):
        env.step(final(said))
    first, second = _states(env)
    episode = env.finish()
    assert episode.stages[0].fingerprint == episode.start != first
    assert first == second == episode.end


def test_what_is_read_in_the_next_part_is_a_state_that_nobody_made_anew(env: CoworkEnv) -> None:
    """A reader changes nothing, but the part that it stands in began with a change."""
    read = call("helpdesk_get_ticket", ticket_id="T-1")
    for action in (read, final("First."), read, final("Second.")):
        env.step(action)
    before, moved, after, end = _states(env)
    assert before == env.blueprint.origin != moved
    assert moved == after == end == env.world.fingerprint()


def test_a_part_before_which_nothing_happens_leaves_the_state(env: CoworkEnv) -> None:
    (stage,) = env.task.stages
    quiet = _begun(CoworkEnv(replace(env.task, stages=(replace(stage, changes=()),))))
    quiet.step(final("First."))
    assert _states(quiet) == [quiet.blueprint.origin] and len(quiet.progress.stages) == 1


def test_a_fork_goes_on_with_the_state_of_the_part_that_it_is_in(env: CoworkEnv) -> None:
    env.step(final("First."))
    [fork] = env.fork()
    fork.session.states = True
    fork.step(call("helpdesk_get_ticket", ticket_id="T-1"))
    assert _states(fork)[-1] == _states(env)[-1] == env.world.fingerprint()
