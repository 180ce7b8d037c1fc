"""Directories of sealed episodes as rollouts: streamed, grouped, and whatever is left out counted."""

import gc
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from played_rollouts import env_of, played

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.errors import Blame, FaultRecord, PackageError, UserError
from cowork_gym.core.messages import call, final
from cowork_gym.core.record import seal, write_episode
from cowork_gym.graders import grader
from cowork_gym.harness import compose, make_agent, play
from cowork_gym.trainers.data import Conversion, RolloutReader, rollout_of

pytest.importorskip("pyarrow")

LIST, END = call("helpdesk_list_tickets"), final("done")


def _sealed(episode: Episode, **changes: object) -> Episode:
    """The episode with changes, sealed and graded anew with the same numbers."""
    changed = replace(episode, grade=None, **changes)
    return changed.with_grade(replace(episode.grade, seal=seal(changed)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two forms of three trials each; one trial of each is without a usable episode."""
    place = tmp_path / "run"
    for seed in (0, 10):
        for trial in range(3):
            episode, _ = played([LIST] * (1 + trial) + [END], seed=seed, chance=trial)
            write_episode(episode, place / "episodes", stem=f"M1100-s{seed}-t{trial}")
    (place / "episodes" / "M1100-s0-t1.jsonl").write_text("{", encoding="utf-8")
    (place / "episodes" / "M1100-s10-t2.jsonl").unlink()
    task = env_of().task
    fault = FaultRecord(Blame.TIMEOUT, "server", "down")
    broken = replace(played([END])[0], ending=Ending.FAULT, fault=fault, grade=None)
    write_episode(broken.with_grade(grader.quarantine(task, fault, seal(broken))), place / "quarantine", stem="M1100-s10-t2-0")
    plan = {"schema_version": 2, "n": 3, "seeds": [0, 10, 20], "releases": {task.id: task.release_id}}
    (place / "rollout.json").write_text(encode(plan), encoding="utf-8")
    return place


def test_rollouts_come_in_the_order_of_forms_and_trials_with_counts(folder: Path) -> None:
    reader = RolloutReader([folder])
    for _ in range(2):
        rollouts = list(reader)
        assert [one.trial for one in rollouts] == ["M1100-s0-t0", "M1100-s0-t2", "M1100-s10-t0", "M1100-s10-t1"]
        counts = reader.counts
        assert (counts.episodes, counts.rollouts, counts.segments) == (5, 4, 4)
        assert counts.tokens == sum(one.trained for one in rollouts) > 0
        assert counts.dropped == {"unreadable": 1, "in quarantine": 1} and not counts.dropped_segments
    assert {one.sampling for one in rollouts} == {0, 1, 2} and {one.tokenizer for one in rollouts} == {"f" * 64}


def test_a_record_gives_the_same_rollout_as_the_episode_that_was_played(tmp_path: Path) -> None:
    episode, _ = played([LIST, call("delegate", task="x"), END], harness=compose(), chance=3)
    path = write_episode(episode, tmp_path)
    [read] = RolloutReader([path])
    assert replace(read, trial="") == rollout_of(episode)


def test_groups_are_those_of_one_form_and_know_what_they_lack(folder: Path) -> None:
    groups = list(RolloutReader([folder]).groups())
    assert [(one.seed, len(one.rollouts), one.size, one.lacking, one.complete) for one in groups] == [
        (0, 2, 3, 1, False), (10, 2, 3, 1, False), (20, 0, 3, 3, False),
    ]
    assert [one.complete for one in RolloutReader([folder]).groups(2)] == [True, True, False]
    assert {one.group for each in groups for one in each.rollouts} == {one.id for one in groups[:2]}
    assert groups[2].id == groups[0].id.replace("/s0", "/s20")


def test_a_second_directory_fills_what_the_first_lacks_and_versions_part(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "more"
    episode, _ = played([LIST, LIST, LIST, LIST, END], chance=9)
    write_episode(_sealed(episode, policy=replace(episode.policy, version="step-9")), other / "episodes", stem="M1100-s0-t0")
    shutil.copy(folder / "episodes" / "M1100-s0-t0.jsonl", other / "episodes" / "M1100-s0-t1.jsonl")
    shutil.copy(folder / "episodes" / "M1100-s0-t0.arrow", other / "episodes" / "M1100-s0-t1.arrow")
    reader = RolloutReader([folder, other])
    first = next(iter(reader.groups(3)))
    assert first.complete and len({one.id for one in first.rollouts}) == 3
    list(reader.groups(3))
    assert reader.counts.dropped["the same episode again"] == 1
    parted = [one for one in RolloutReader([folder, other], Conversion(by_version=True)).groups(3) if one.seed == 0]
    assert sorted(len(one.rollouts) for one in parted) == [1, 2] and all(len({each.group for each in one.rollouts}) == 1 for one in parted)


def test_mixed_tokenizers_are_named(folder: Path) -> None:
    episode, _ = played([LIST, END], chance=7)
    other = _sealed(episode, policy=replace(episode.policy, tokenizer="e" * 64))
    write_episode(other, folder / "episodes", stem="M1100-s0-t7")
    for read in (RolloutReader([folder]).__iter__, RolloutReader([folder]).groups):
        with pytest.raises(PackageError, match=r"t7.jsonl.*e{64}.*f{64}"):
            list(read())
    assert len(list(RolloutReader([folder]).outcomes())) == 5


def test_outcomes_need_no_tokens(folder: Path) -> None:
    with env_of() as env:
        episode = play(env, make_agent("reference", env.task), harness=compose(), seed=0)
    write_episode(episode, folder / "episodes", stem="M1100-s0-t8")
    reader = RolloutReader([folder])
    assert len(list(reader)) == 4 and reader.counts.dropped["nothing to train: no token data"] == 1
    found = list(reader.outcomes())
    assert [one.accuracy for one in found if one.trial == "M1100-s0-t8"] == [1.0] and len(found) == 5
    assert reader.counts.dropped_segments == {"no token data": 1}


def test_segments_for_audit_are_counted(folder: Path) -> None:
    episode, _ = played([LIST, END], chance=8)
    run = episode.runs[0]
    barred = _sealed(episode, runs=(replace(run, segments=(replace(run.segments[0], audit="rendered anew"),)),))
    write_episode(barred, folder / "episodes", stem="M1100-s0-t8")
    reader = RolloutReader([folder])
    assert len(list(reader)) == 4 and reader.counts.dropped["nothing to train: for audit only: rendered anew"] == 1


def test_one_episode_is_in_memory_at_a_time(folder: Path) -> None:
    def alive() -> int:
        gc.collect()
        return sum(type(one) is Episode and bool(one.runs) for one in gc.get_objects())

    before = alive()
    assert max(alive() for _ in RolloutReader([folder])) <= before + 1


def test_places_and_plans_that_are_none_are_named(tmp_path: Path, folder: Path) -> None:
    for twice in ([folder, folder], [folder, folder / "episodes"], [folder / "quarantine" / "..", folder]):
        with pytest.raises(UserError, match="named twice"):
            RolloutReader(twice)
    with pytest.raises(UserError, match="no such directory"):
        RolloutReader([tmp_path / "nowhere"])
    (folder / "rollout.json").write_text('{"n": "three"}', encoding="utf-8")
    with pytest.raises(PackageError, match="not the plan of a rollout"):
        list(RolloutReader([folder]).groups())
    assert len(list(RolloutReader([folder]))) == 4


def test_files_of_any_name_are_read_and_forms_that_are_torn_apart_are_refused(folder: Path, tmp_path: Path) -> None:
    for at, name in enumerate(("a", "b", "c")):
        episode, _ = played([LIST] * (at + 2) + [END], seed=0 if name != "b" else 10, chance=at)
        write_episode(episode, tmp_path / "loose", stem=name)
    reader = RolloutReader([tmp_path / "loose"])
    assert [one.trial for one in reader] == ["a", "b", "c"]
    with pytest.raises(PackageError, match="do not stand together"):
        list(reader.groups())


def test_a_graded_rollout_that_is_not_trained_stays_in_its_group(folder: Path) -> None:
    """Its reward belongs to the statistics: without it, the others would be held against another mean."""
    file = folder / "episodes" / "M1100-s0-t1.jsonl"
    episode, _ = played([LIST, LIST, END], seed=0, chance=1)
    run = episode.runs[0]
    audited = replace(run, segments=tuple(replace(one, audit="rendered anew") for one in run.segments))
    write_episode(_sealed(episode, runs=(audited, *episode.runs[1:])), file.parent, stem=file.stem)
    reader = RolloutReader([folder])
    group = next(iter(reader.groups()))
    assert [(one.trial, one.valid, one.trained > 0) for one in group.rollouts] == [
        ("M1100-s0-t0", True, True), ("M1100-s0-t1", True, False), ("M1100-s0-t2", True, True),
    ]
    assert group.lacking == 0
    assert len(list(reader)) == 4 and reader.counts.dropped["nothing to train: for audit only: rendered anew"] == 1
