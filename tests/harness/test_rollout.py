"""Many episodes: the plan, the directory, resuming, and faults that never become rewards."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.core.messages import final
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.envs.registration import load_task
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.rollout import Plan, RunFolder, Settings, rollout

TASKS = [load_task(id) for id in ("M1003", "M1100", "M133")]


def _reference(form):
    return make_agent("reference", form)


class _Failing(Policy):
    """Its server is away."""

    name = "failing"

    def reset(self, tools, seed):
        pass

    def act(self, history):
        raise Fault(Blame.MODEL_SERVER, "somewhere", "connection refused")


def test_every_slot_is_played_in_its_form_and_the_order_of_the_plan():
    result = rollout(TASKS, _reference, seeds=(0, 5), n=2, settings=Settings(concurrency=4))
    assert (result.planned, result.sealed, result.quarantined, result.reward) == (12, 12, 0, 1.0)
    assert [(one.task, one.seed) for one in result.episodes] == [(task.id, seed) for task in TASKS for seed in (0, 0, 5, 5)]


def test_trials_of_one_form_share_the_world_and_not_the_policys_seed():
    seeds = []

    class Noting(ScriptedPolicy):
        def reset(self, tools, seed):
            super().reset(tools, seed)
            seeds.append(seed)

    result = rollout(TASKS[:1], lambda form: Noting("n", [final("x")]), seeds=(7,), n=3)
    assert len({one.start for one in result.episodes}) == 1
    assert len({*seeds}) == 3
    assert seeds[0] == 7


def test_no_more_are_open_than_allowed():
    most = now = 0
    lock = threading.Lock()

    class Counting(ScriptedPolicy):
        def act(self, history):
            nonlocal most, now
            with lock:
                now += 1
                most = max(most, now)
            threading.Event().wait(0.005)
            with lock:
                now -= 1
            return super().act(history)

    rollout(TASKS[:1], lambda form: Counting("c", [final("x")]), n=12, settings=Settings(concurrency=3))
    assert 1 < most <= 3


def test_a_directory_keeps_what_is_sealed_and_resuming_plays_the_rest(tmp_path):
    out, played = tmp_path / "run", []

    def failing_first(form):
        played.append(form.id)
        return _Failing() if len(played) == 2 else _reference(form)

    first = rollout(TASKS, failing_first, n=2, out=out)
    assert (first.planned, first.sealed, first.quarantined, first.duplicates) == (6, 5, 1, 0)
    kept = {file: file.read_bytes() for file in (out / "episodes").iterdir()}
    (stray,) = (out / "quarantine").iterdir()
    assert read_episode(stray).grade.reward is None
    assert read_episode(stray).fault.blame is Blame.MODEL_SERVER
    with pytest.raises(UserError, match="--resume"):
        rollout(TASKS, _reference, n=2, out=out)
    again = []
    second = rollout(TASKS, lambda form: again.append(form.id) or _reference(form), n=2, out=out, resume=True)
    assert len(again) == 1
    assert (second.sealed, second.quarantined, second.duplicates, second.reward) == (6, 0, 0, 1.0)
    assert {file: file.read_bytes() for file in kept} == kept
    assert json.loads((out / "summary.json").read_text())["sealed"] == 6


@pytest.mark.parametrize("spoil", [lambda text: text[: len(text) // 2], lambda text: b"", lambda text: text.replace(b'"seed":0', b'"seed":1', 1)])
def test_a_broken_file_is_played_again(tmp_path, spoil):
    out = tmp_path / "run"
    rollout(TASKS[:1], _reference, n=2, out=out)
    file = sorted((out / "episodes").iterdir())[1]
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    assert rollout(TASKS[:1], _reference, n=2, out=out, resume=True).sealed == 2
    assert file.read_bytes() == whole


def test_another_rollout_is_not_resumed_there(tmp_path):
    plan = Plan.of(TASKS[:1], seeds=(0,), n=1, agent="reference")
    rollout(TASKS[:1], _reference, plan=plan, out=tmp_path)
    other = Plan.of(TASKS[:1], seeds=(0,), n=1, agent="noop")
    with pytest.raises(UserError, match=r'other agent: "reference", not "noop"'):
        rollout(TASKS[:1], _reference, plan=other, out=tmp_path, resume=True)
    (tmp_path / "rollout.json").write_text("{")
    with pytest.raises(UserError, match=r"rollout\.json: not the plan"):
        rollout(TASKS[:1], _reference, plan=plan, out=tmp_path, resume=True)


def test_two_processes_do_not_write_to_one_directory(tmp_path):
    inside = []

    class Second(ScriptedPolicy):
        def act(self, history):
            with pytest.raises(UserError, match="another process"):
                rollout(TASKS[:1], _reference, out=tmp_path, resume=True)
            inside.append(len(history))
            return super().act(history)

    rollout(TASKS[:1], lambda form: Second("s", [final("x")]), out=tmp_path)
    assert inside


@pytest.mark.parametrize(("seeds", "n"), [((), 1), ((0,), 0), ((1, 1), 1)])
def test_a_plan_without_anything_to_play_is_refused(seeds, n):
    with pytest.raises(UserError):
        Plan.of(TASKS, seeds=seeds, n=n, agent="a")


def test_a_file_that_cannot_be_written_to_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="no directory to write to"):
        rollout(TASKS[:1], _reference, out=Path(tmp_path, "file"))


def test_an_episode_of_another_release_or_without_a_reward_is_not_taken_for_good(tmp_path):
    plan = Plan.of(TASKS[:1], seeds=(0,), n=1, agent="reference")
    (slot,) = plan.slots
    (episode,) = rollout(TASKS[:1], _reference).episodes
    folder = RunFolder(tmp_path, plan, resume=True)
    older = replace(episode, release_id="M1003_ticket_kb_resolution@0:0123456789abcdef")
    for one in (older.with_grade(replace(episode.grade, seal=seal(older))), replace(episode, grade=None)):
        write_episode(one, tmp_path / "episodes", stem=slot.name)
        assert folder.sealed(slot) is None
    write_episode(episode, tmp_path / "episodes", stem=slot.name)
    assert folder.sealed(slot) == episode
