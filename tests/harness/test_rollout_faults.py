"""What fails around the play of one episode: it is quarantined with who is to blame, and the others go on."""

import pytest

from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.core.messages import final
from cowork_gym.core.record import read_episode
from cowork_gym.core.trajectory import Tokens
from cowork_gym.envs.registration import load_task
from cowork_gym.envs.session import Grading
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.compose import PLAIN, compose
from cowork_gym.harness.policies.policy import Draw
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.rollout import Settings, lineup, rollout, worker
from cowork_gym.harness.rollout.folder import RunFolder

TASKS = [load_task(id) for id in ("M1003", "M1100", "M133")]


def _reference(form):
    return make_agent("reference", form)


def _unless_second(form, error):
    if form.id == TASKS[1].id:
        raise error
    return _reference(form)


def _check(result, out, blame, where, text):
    assert (result.planned, result.sealed, result.quarantined) == (3, 2, 1)
    (file,) = (out / "quarantine").glob("*.jsonl")
    episode = read_episode(file)
    assert (episode.task, episode.turns, episode.grade.reward) == (TASKS[1].id, (), None)
    assert (episode.fault.blame, episode.fault.where) == (blame, where)
    assert text in episode.fault.message
    assert episode.grade.fault == episode.fault


@pytest.mark.parametrize(("error", "blame", "where"), [
    (ValueError("no such thing"), Blame.HARNESS, "policy factory"),
    (UserError("no such thing"), Blame.HARNESS, "policy factory"),
    (SystemExit("no such thing"), Blame.HARNESS, "policy factory"),
    (Fault(Blame.MODEL_SERVER, "there", "no such thing"), Blame.MODEL_SERVER, "there"),
])
def test_a_factory_that_fails_for_one_task_quarantines_its_episodes(tmp_path, error, blame, where):
    result = rollout(TASKS, lambda form: _unless_second(form, error), out=tmp_path)
    _check(result, tmp_path, blame, where, "no such thing")
    assert rollout(TASKS, _reference, out=tmp_path, resume=True).sealed == 3


@pytest.mark.parametrize("made", [None, 3])
def test_a_factory_that_gives_no_policy_quarantines(tmp_path, made):
    result = rollout(TASKS, lambda form: made if form.id == TASKS[1].id else _reference(form), out=tmp_path)
    _check(result, tmp_path, Blame.HARNESS, "policy factory", type(made).__name__)


def test_a_factory_that_fails_at_first_is_asked_once_for_each_episode():
    asked = []

    def made(form):
        asked.append(form.id)
        return _reference(form) if len(asked) > 1 else 1 / 0

    result = rollout(TASKS, made)
    assert (result.sealed, result.quarantined, len(asked)) == (2, 1, 3)


@pytest.mark.parametrize("error", [ValueError("no such thing"), UserError("no such thing")])
def test_a_source_that_fails_for_one_task_quarantines_its_episodes(tmp_path, error):
    def source(task, trial):
        if task == TASKS[1].id:
            raise error
        return PLAIN

    _check(rollout(TASKS, _reference, settings=Settings(harness=source), out=tmp_path), tmp_path, Blame.HARNESS, "harness source", "no such thing")
    assert rollout(TASKS, _reference, out=tmp_path, resume=True).sealed == 3


def test_a_form_that_cannot_be_made_is_the_environments_fault(tmp_path, monkeypatch):
    make = lineup.instance
    monkeypatch.setattr(lineup, "instance", lambda task, seed: 1 / 0 if task.id == TASKS[1].id else make(task, seed))
    _check(rollout(TASKS, _reference, out=tmp_path), tmp_path, Blame.ENVIRONMENT, "form of the task", "ZeroDivisionError")


@pytest.mark.parametrize("error", [RuntimeError("no such thing"), UserError("no such thing")])
def test_a_play_that_raises_quarantines(tmp_path, monkeypatch, error):
    play = worker.play
    monkeypatch.setattr(worker, "play", lambda env, *rest, **more: _raise(error) if env.task.id == TASKS[1].id else play(env, *rest, **more))
    _check(rollout(TASKS, _reference, out=tmp_path), tmp_path, Blame.HARNESS, "reference", "no such thing")


def test_an_episode_that_cannot_be_written_down_quarantines(tmp_path, monkeypatch):
    keep = RunFolder.keep
    monkeypatch.setattr(
        RunFolder, "keep",
        lambda self, slot, episode: _raise(ValueError("no form")) if slot.task == TASKS[1].id and episode.turns else keep(self, slot, episode),
    )
    _check(rollout(TASKS, _reference, out=tmp_path), tmp_path, Blame.HARNESS, "reference", "no form")


@pytest.mark.parametrize(("ids", "logprob", "later"), [((1,), float("nan"), (1,)), (("a",), -1.0, ("a",)), ((1,), -1.0, ("a",))])
def test_bad_tokens_of_one_policy_leave_the_others_alone(tmp_path, ids, logprob, later):
    class Broken(ScriptedPolicy):
        def act(self, history):
            tokens = Tokens((1,), ids, (logprob,), (True,))
            object.__setattr__(tokens, "ids", later)  # what is only found out when the record is sealed
            self.draw = Draw(tokens=tokens)
            return super().act(history)

    result = rollout(TASKS, lambda form: Broken("broken", [final("x")]) if form.id == TASKS[1].id else _reference(form), out=tmp_path)
    assert (result.sealed, result.quarantined) == (2, 1)
    (file,) = (tmp_path / "quarantine").glob("*.jsonl")
    assert read_episode(file).fault.blame in (Blame.HARNESS, Blame.ENVIRONMENT)


def test_a_mistake_that_holds_for_all_stops_before_anything_is_written(tmp_path):
    with pytest.raises(UserError, match="no such thing"):
        rollout(TASKS, lambda form: _raise(UserError("no such thing")), out=tmp_path / "run")
    with pytest.raises(UserError, match="no such thing"):
        rollout(TASKS, _reference, settings=Settings(harness=lambda task, trial: _raise(UserError("no such thing"))), out=tmp_path / "run")
    with pytest.raises(UserError, match="door"):
        rollout(TASKS, _reference, settings=Settings(door="none"), out=tmp_path / "run")
    with pytest.raises(UserError, match="nope"):
        rollout(TASKS, _reference, settings=Settings(grading=Grading("nope")), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_requirements_are_seen_for_all_tasks_before_the_first_is_played(tmp_path):
    played = []

    class Noting(ScriptedPolicy):
        def reset(self, tools, seed):
            played.append(seed)

    only = {task.id: compose(only=["helpdesk_list_tickets"]) for task in TASKS}
    with pytest.raises(UserError, match="which the task does not have"):
        rollout(TASKS, lambda form: Noting("n", [final("x")]), settings=Settings(harness=lambda task, trial: only[task]), out=tmp_path / "run")
    assert not played
    assert not (tmp_path / "run").exists()


def test_a_mistake_that_shows_in_the_first_play_stops_and_is_not_quarantined(tmp_path):
    class Refused(ScriptedPolicy):
        def act(self, history):
            raise UserError("the server refuses the key")

    with pytest.raises(UserError, match="refuses the key"):
        rollout(TASKS, lambda form: Refused("r", [final("x")]), n=9, settings=Settings(concurrency=2), out=tmp_path)
    assert not [*(tmp_path / "quarantine").iterdir()]


def test_plans_name_the_argument_that_is_wrong():
    for arguments, text in [
        ({"seeds": ("a",)}, "seeds is a whole number from 0, not .a."), ({"seeds": (-1,)}, "seeds is a whole number from 0, not -1"),
        ({"seeds": 3}, "seeds are several numbers, not 3"), ({"seeds": "12"}, "seeds are several numbers"), ({"n": "2"}, "n is a whole number"),
        ({"n": 0}, "n is a whole number from 1, not 0"), ({"n": True}, "n is a whole number"), ({"n": 1.0}, "n is a whole number"),
    ]:
        with pytest.raises(UserError, match=text):
            rollout(TASKS, _reference, **arguments)
    for concurrency in (1.5, "2", 0, None):
        with pytest.raises(UserError, match="concurrency is a whole number from 1"):
            Settings(concurrency=concurrency)
    with pytest.raises(UserError, match="tasks are what load_task gives"):
        rollout(["M1003"], _reference)


def _raise(error):
    raise error
