"""Runs and tokens go into the file and come back; what the turns have is not written twice."""

import json
import sys
from dataclasses import replace

import pytest
from episode_samples import UNGRADED, lines_of
from run_samples import OLD, PLAYED, RUNS, TURNS, UNSEEN, with_generation, with_runs, with_segments

from cowork_gym.core.errors import MissingExtra
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.core.trajectory import Origin, Purpose


@pytest.fixture
def no_arrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)


def _events(path, kind):
    return [event for event in map(json.loads, lines_of(path)) if event["event"] == kind]


def test_what_is_written_is_read(tmp_path):
    pytest.importorskip("pyarrow")
    path = write_episode(PLAYED, tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.with_suffix(".arrow").name, path.name]
    again = read_episode(path)
    assert again == PLAYED and seal(again) == seal(PLAYED)
    numbers = [number for run in again.runs for one in run.generations if one.tokens for number in one.tokens.logprobs]
    assert {*map(type, numbers)} == {float} and [str(number) for number in numbers[:3]] == ["-0.1", "-0.0", "-5e-324"]
    assert {type(flag) for one in again.runs[0].generations for flag in one.tokens.mask} == {bool}


def test_the_same_episode_is_the_same_bytes(tmp_path):
    pytest.importorskip("pyarrow")
    paths = [write_episode(read_episode(write_episode(PLAYED, tmp_path / "first")), tmp_path / "copy"), write_episode(PLAYED, tmp_path / "again")]
    assert len({one.read_bytes() for one in paths}) == len({one.with_suffix(".arrow").read_bytes() for one in paths}) == 1


def test_without_tokens_nothing_stands_beside_the_record(tmp_path, no_arrow):
    path = write_episode(UNSEEN, tmp_path)
    assert [*tmp_path.iterdir()] == [path] and not _events(path, "tokens")
    assert read_episode(path) == UNSEEN


def test_a_record_with_tokens_needs_the_extra(tmp_path, no_arrow):
    with pytest.raises(MissingExtra, match=r"^pyarrow is not installed: pip install 'cowork-gym\[records\]'$"):
        write_episode(PLAYED, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    assert len(seal(PLAYED)) == 64


def test_a_reader_of_tokens_needs_the_extra(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = write_episode(PLAYED, tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match="pyarrow is not installed"):
        read_episode(path)


def test_a_generation_does_not_repeat_what_the_turns_have(tmp_path):
    said = [(event["run"], event["index"], {"given", "said"} & {*event}) for event in _events(write_episode(UNSEEN, tmp_path), "generation")]
    assert said == [
        (0, 0, {"given"}), (0, 1, {"given", "said"}), (0, 2, {"given", "said"}), (0, 3, {"given"}), (0, 4, set()), (1, 0, {"given"}), (1, 1, set()),
    ]


def test_after_a_discarded_attempt_the_last_kept_turn_counts(tmp_path):
    attempt = replace(OLD.generations[1], given=TURNS[0].observation, purpose=Purpose.ACT, tokens=None)
    root = replace(RUNS[0], segments=(replace(OLD, generations=(
        replace(OLD.generations[0], tokens=None), attempt, replace(attempt, index=2, turn=1, kept=True, reason="", said=final("x")),
    )),))
    episode = replace(PLAYED, turns=(TURNS[0], replace(TURNS[2], index=1, run=0)), runs=(root,), answer="It is there.")
    path = write_episode(episode, tmp_path)
    assert [{"given", "said"} & {*event} for event in _events(path, "generation")] == [{"given"}, {"said"}, {"said"}]
    assert read_episode(path) == episode


@pytest.mark.parametrize("turn", [Message("assistant", "a", (ToolCall("t", {"n": 1.0}, "c"),)), Message("assistant", "\ud83d\ude00")])
def test_messages_that_are_the_same_in_the_file_are_not_repeated(tmp_path, turn):
    said = Message("assistant", "a", (ToolCall("t", '{"n":1.0}', "c"),)) if turn.tool_calls else Message("assistant", "😀")
    one = replace(OLD.generations[0], said=said, tokens=None)
    episode = replace(
        UNGRADED, turns=(replace(TURNS[0], action=turn, dispatches=()),), answer=turn.content,
        runs=(replace(RUNS[0], segments=(replace(OLD, generations=(one,)),)),),
    )
    path = write_episode(episode, tmp_path)
    assert "said" not in _events(path, "generation")[0]
    assert seal(read_episode(path)) == seal(episode)


def test_an_unequal_number_is_another_message(tmp_path):
    action = Message("assistant", "a", (ToolCall("t", {"n": 1.0}, "c"),))
    said = Message("assistant", "a", (ToolCall("t", {"n": 1}, "c"),))
    one = replace(OLD.generations[0], said=said, tokens=None)
    episode = replace(
        UNGRADED, turns=(replace(TURNS[0], action=action, dispatches=()),), answer="a",
        runs=(replace(RUNS[0], segments=(replace(OLD, generations=(one,)),)),),
    )
    assert read_episode(write_episode(episode, tmp_path)).runs[0].generations[0].said.wire() == said.wire()


def test_a_branched_episode_needs_no_generation_for_what_it_took_over(tmp_path):
    taken = replace(RUNS[0], segments=(replace(RUNS[0].segments[1], rewrite=None, generations=tuple(
        replace(one, index=at, tokens=None) for at, one in enumerate(RUNS[0].segments[1].generations)
    )),))
    branched = replace(PLAYED, runs=(taken,), origin=Origin("b" * 64, 3))
    assert read_episode(write_episode(branched, tmp_path)) == branched


def test_everything_that_was_added_is_sealed():
    tokens = OLD.generations[0].tokens
    others = [
        replace(PLAYED, budgets=replace(PLAYED.budgets, turns=10)), replace(PLAYED, policy=None), replace(PLAYED, composition=None),
        replace(PLAYED, origin=Origin("b" * 64, 0)), with_runs(), with_runs(RUNS[0]), with_segments(OLD),
        with_generation(0, version="step-4"), with_generation(0, tokens=replace(tokens, context=(1,))),
        with_generation(0, tokens=replace(tokens, ids=(1, 2, 3))), with_generation(0, tokens=replace(tokens, logprobs=(-0.1, 0.0, -5e-324))),
        with_generation(0, tokens=replace(tokens, mask=(True, True, False))), with_generation(0, tokens=None),
        replace(PLAYED, turns=(replace(TURNS[0], state="2" * 64), *TURNS[1:])), replace(PLAYED, turns=(replace(TURNS[0], run=1), *TURNS[1:])),
    ]
    assert len({seal(PLAYED), *map(seal, others)}) == len(others) + 1
