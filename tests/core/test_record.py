"""What is written is read, byte for byte; the grade stands outside the seal."""

import json
from dataclasses import replace

import pytest
from episode_samples import EPISODE, FIRST, GRADE, LEDGER, UNGRADED, graded

from cowork_gym.core.episode import Dispatch, Ending, Turn
from cowork_gym.core.errors import Blame, FaultRecord, UserError
from cowork_gym.core.grade import Part
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.messages import Message, final
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.core.task import Budgets
from cowork_gym.core.trajectory import Composition, Origin, PolicyCard, Run


def test_what_is_written_is_read(tmp_path):
    path = write_episode(EPISODE, tmp_path / "new" / "folder")
    again = read_episode(path)
    assert path.name == f"M1-openai_some_model_http___x-7-{seal(EPISODE)[:8]}.jsonl"
    for name in ("task", "release_id", "seed", "agent", "opening", "ledger", "changes", "start", "end", "ending", "answer", "fault", "grade",
    "dispatches"):
        assert getattr(again, name) == getattr(EPISODE, name), name
    assert [message.wire() for message in again.messages] == [message.wire() for message in EPISODE.messages]
    assert [(turn.index, turn.invalid, turn.raw, turn.tokens) for turn in again.turns] == [
        (0, None, None, 0), (1, "no message", "\ud800 what", 5), (2, None, None, 0)]
    assert again.turns[1].said == Message("assistant", "\ud800 what") and again.turns[2].said == final("done \ud800")
    assert again.ledger.entries == LEDGER.entries and again.ledger.verify()
    assert isinstance(again.grade.reward, float) and isinstance(again.grade.checks[0].part, Part) and again.grade.passed is EPISODE.grade.passed


def test_a_copy_has_the_same_seal_and_the_same_bytes(tmp_path):
    path = write_episode(EPISODE, tmp_path)
    again = read_episode(str(path))
    assert seal(again) == seal(EPISODE)
    assert write_episode(again, str(tmp_path / "copy")).read_bytes() == path.read_bytes()


def test_two_surrogates_that_make_a_pair_are_one_letter_in_the_file(tmp_path):
    turns = (*UNGRADED.turns[:2], Turn(2, final("\ud83d\ude00"), ()))
    split = replace(UNGRADED, agent="\ud83d\ude00 \ude00\ud83d", turns=turns, answer="\ud83d\ude00")
    again = read_episode(write_episode(split, tmp_path))
    assert (again.answer, again.agent, seal(again)) == ("😀", "😀 \ude00\ud83d", seal(split))


def test_an_episode_cut_off_at_once_is_read(tmp_path):
    bare = replace(UNGRADED, turns=(), ledger=Ledger(), changes=(), ending=Ending.STOPPED, answer=None)
    again = read_episode(write_episode(bare, tmp_path))
    assert (again.turns, len(again.ledger), again.changes, again.ending, again.answer) == ((), 0, (), Ending.STOPPED, None)


def test_the_grade_stands_outside_the_seal(tmp_path):
    other = EPISODE.with_grade(replace(GRADE, reward=0.1))
    assert seal(other) == seal(EPISODE) == seal(UNGRADED)
    assert write_episode(other, tmp_path) == write_episode(EPISODE, tmp_path)
    assert read_episode(write_episode(UNGRADED, tmp_path)).grade is None


def test_the_last_grade_counts(tmp_path):
    path, second = write_episode(EPISODE, tmp_path), replace(GRADE, spec="claw-v1", reward=1.0)
    added = write_episode(EPISODE.with_grade(second), tmp_path / "other").read_bytes().splitlines()[-1]
    path.write_bytes(path.read_bytes() + added + b"\n")
    assert read_episode(path).grade == second


def test_a_grade_of_another_episode_is_not_written(tmp_path):
    with pytest.raises(UserError, match="the grade is not of this episode of M1"):
        write_episode(replace(EPISODE, seed=8), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_everything_else_is_sealed():
    others = {
        "task": "M2", "release_id": "M1@2:abc", "seed": 8, "agent": "noop", "opening": (), "turns": EPISODE.turns[:2], "ledger": Ledger(),
        "changes": EPISODE.changes[:1], "start": "x", "end": "x", "ending": Ending.STOPPED, "answer": None,
        "fault": FaultRecord(Blame.MODEL_SERVER, "server", "gone"),
    }
    assert len({seal(EPISODE), *(seal(replace(EPISODE, **{name: value})) for name, value in others.items())}) == len(others) + 1


def test_a_quarantined_episode_keeps_its_fault_and_has_no_reward(tmp_path):
    fault = FaultRecord(Blame.ENVIRONMENT, "crm_get", "ZeroDivisionError: \ud800")
    grade = replace(GRADE, reward=None, completion=None, safety=None, robustness=None, outcome=None, rewards={}, checks=(), fault=fault)
    ended = graded(replace(UNGRADED, ending=Ending.FAULT, fault=fault, answer=None), grade)
    again = read_episode(write_episode(ended, tmp_path))
    assert (again.ending, again.fault, again.grade, again.grade.passed) == (Ending.FAULT, fault, ended.grade, False)


def test_the_file_is_utf8_json_lines(tmp_path):
    lines = write_episode(EPISODE, tmp_path).read_text(encoding="utf-8").split("\n")
    events = [json.loads(line)["event"] for line in lines[:-1]]
    assert lines[-1] == "" and events == ["episode", *["turn"] * 3, "ledger", *["change"] * 3, "end", "seal", "grade"]
    assert json.loads(lines[0])["schema_version"] == 1


def test_the_name_of_a_file_is_short_and_plain_whatever_the_episode_is_called(tmp_path):
    long = replace(UNGRADED, task="M" * 300, agent="証" * 300, seed=10**300)
    path = write_episode(long, tmp_path)
    assert path.name.isascii() and len(path.name) < 180
    assert read_episode(path).seed == 10**300


def test_an_episode_of_the_first_version_is_written_in_its_form(tmp_path):
    path = write_episode(FIRST, tmp_path)
    head, turn = (json.loads(line) for line in path.read_bytes().splitlines()[:2])
    assert (head["schema_version"], {"budgets", "runs"} & {*head}, {"run", "state"} & {*turn}) == (0, set(), set())
    assert "inner" not in turn["dispatches"][0]
    assert seal(read_episode(path)) == seal(FIRST) != seal(UNGRADED)


@pytest.mark.parametrize("added", [
    {"runs": (Run(0, ()),)}, {"policy": PolicyCard("p")}, {"origin": Origin("0" * 64, 0)}, {"composition": Composition()},
    {"budgets": Budgets(turns=3)}, {"turns": (Turn(0, final("x"), (), state="0" * 64),)}, {"turns": (Turn(0, final("x"), (), run=1),)},
    {"turns": (Turn(0, final("x"), (), (Dispatch("a", "t", 200, "", inner=True),)),)}, {"schema_version": 2},
])
def test_what_a_version_has_no_place_for_is_not_written(tmp_path, added):
    with pytest.raises(ValueError, match=r"the episode of M1 cannot be written in version \d"):
        write_episode(replace(FIRST, **added), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    first = write_episode(EPISODE, tmp_path)
    before = first.read_bytes()

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_episode(EPISODE.with_grade(replace(GRADE, reward=0.1)), tmp_path)
    assert [*tmp_path.iterdir()] == [first] and first.read_bytes() == before
