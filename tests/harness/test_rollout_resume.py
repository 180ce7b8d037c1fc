"""Resuming: what makes a directory another rollout's, and which files there are a slot's own."""

import json
import shutil
import threading

import pytest

from cowork_gym.core.errors import UserError
from cowork_gym.core.record import read_episode
from cowork_gym.envs.registration import load_task
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.compose import compose
from cowork_gym.harness.rollout import Plan, RunFolder, Settings, rollout

TASKS = [load_task(id) for id in ("M1003", "M133")]


def _by(agent):
    return lambda form: make_agent(agent, form)


def _plan(agent="reference", **more):
    return Plan.of(TASKS, **{"seeds": (0,), "n": 2, "agent": agent, "player": agent, **more})


def _play(out, agent="reference", *, resume=False, harness=None, **more):
    settings = Settings() if harness is None else Settings(harness=lambda task, trial: harness)
    return rollout(TASKS, _by(agent), plan=_plan(agent, **more), settings=settings, out=out, resume=resume)


@pytest.mark.parametrize(("change", "text"), [
    ({"settings": {"temperature": 0.5, "user": "rules"}}, "other temperature: 1, not 0.5$"),
    ({"settings": {"temperature": 1.0}}, 'other user: "rules", not null$'),
    ({"settings": {"temperature": 1.0, "user": "rules", "judge": "j"}}, 'other judge: null, not "j"$'),
    ({"n": 3}, "other n: 2, not 3$"), ({"seeds": (1,)}, r"other seeds: \[0\], not \[1\]$"),
    ({"reward": "claw-v1"}, 'other reward: null, not "claw-v1"$'),
    ({"agent": "noop"}, 'other agent: "reference", not "noop"$'), ({"harness": compose(prompt="Go.")}, "other harness_sha256: "),
])
def test_another_rollout_is_refused_by_the_field_that_differs(tmp_path, change, text):
    settings = {"temperature": 1.0, "user": "rules"}
    _play(tmp_path, settings=settings)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.json*")}
    with pytest.raises(UserError, match=text):
        _play(tmp_path, resume=True, **{"settings": settings, **change})
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.json*")} == before
    assert _play(tmp_path, resume=True, settings=settings).sealed == 4


def test_another_release_is_named(tmp_path):
    _play(tmp_path)
    file = tmp_path / "rollout.json"
    file.write_text(file.read_text().replace(TASKS[1].release_id, "M133@9"))
    with pytest.raises(UserError, match=rf'other releases\.{TASKS[1].id}: "M133@9", not "{TASKS[1].release_id}"'):
        _play(tmp_path, resume=True)


def test_a_manifest_of_the_first_form_is_gone_on_with_if_what_it_has_is_equal(tmp_path):
    _play(tmp_path, settings={"temperature": 1.0})
    file = tmp_path / "rollout.json"
    kept = json.loads(file.read_text())
    del kept["settings"], kept["harness_sha256"]
    file.write_text(json.dumps({**kept, "schema_version": 1}))
    assert _play(tmp_path, resume=True, settings={"temperature": 0.5}).sealed == 4
    with pytest.raises(UserError, match="other n"):
        _play(tmp_path, resume=True, n=1)
    file.write_text(json.dumps({**kept, "schema_version": 3}))
    with pytest.raises(UserError, match="another form"):
        _play(tmp_path, resume=True)


@pytest.mark.parametrize("other", [
    {"agent": "noop"}, {"harness": compose(prompt="Be quick.")}, {"seeds": (3,)},
], ids=["agent", "harness", "form"])
def test_an_episode_of_another_rollout_is_not_taken_for_a_slots_own(tmp_path, other):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    _play(ours)
    _play(theirs, **other)
    whole = {file.name: file.read_bytes() for file in (ours / "episodes").iterdir()}
    target = ours / "episodes" / sorted(whole)[0]
    shutil.copy(sorted((theirs / "episodes").iterdir())[0], target)
    assert _play(ours, resume=True).sealed == 4
    assert target.read_bytes() == whole[target.name]


def test_a_trial_does_not_stand_for_another(tmp_path):
    _play(tmp_path)
    first, second, *_ = sorted((tmp_path / "episodes").iterdir())
    whole = second.read_bytes()
    shutil.copy(first, second)
    assert RunFolder(tmp_path, _plan(), resume=True).duplicates() == 1
    result = _play(tmp_path, resume=True)
    assert (result.sealed, result.duplicates) == (4, 0)
    assert second.read_bytes() == whole


def test_sealed_files_beyond_one_a_slot_are_duplicates(tmp_path):
    _play(tmp_path)
    place = tmp_path / "episodes"
    shutil.copy(sorted(place.iterdir())[0], place / "copy.jsonl")
    (place / "note.jsonl").write_text("not an episode\n")
    assert _play(tmp_path, resume=True).duplicates == 1


def test_of_two_that_begin_at_once_one_writes_the_plan(tmp_path):
    """The second one has looked, and found nothing, before the first one began."""
    plans = [_plan(), _plan("noop")]
    folders = [RunFolder(tmp_path, one, resume=True) for one in plans]
    told = list[str]()
    for one in folders:
        one.check()

    def begin():
        try:
            with folders[1].locked():
                told.append("in")
        except UserError as error:
            told.append(str(error))

    with folders[0].locked():
        second = threading.Thread(target=begin)
        second.start()
        second.join()
    begin()
    assert "another process" in told[0]
    assert 'other agent: "reference", not "noop"' in told[1]
    assert json.loads((tmp_path / "rollout.json").read_text())["agent"] == "reference"


def test_attempts_that_failed_are_all_kept(tmp_path):
    def failing(form):
        raise ValueError(form.id)

    for resume in (False, True, True):
        rollout(TASKS[:1], failing, out=tmp_path, resume=resume)
    (tmp_path / "quarantine" / f"{TASKS[0].id}-s0-t0-1.jsonl").unlink()
    rollout(TASKS[:1], failing, out=tmp_path, resume=True)
    assert sorted(file.stem[-1] for file in (tmp_path / "quarantine").iterdir()) == ["0", "1", "2"]
    assert all(read_episode(file).grade.reward is None for file in (tmp_path / "quarantine").iterdir())
