import json
from importlib import import_module

import pytest
from rich.console import Console

from cowork_gym.benchmarks.speed.desk import READ, WRITE, make_task
from cowork_gym.benchmarks.speed.items import ITEMS, RECORDING, Item
from cowork_gym.benchmarks.speed.measure import Sample, measure, profile
from cowork_gym.benchmarks.speed.ours import Ours
from cowork_gym.benchmarks.speed.recording import Recorded, Unrecorded
from cowork_gym.benchmarks.speed.report import Report, facts
from cowork_gym.benchmarks.speed.rivals import PlainDict, RawSqlite
from cowork_gym.core.record import read_episode
from cowork_gym.envs.env import CoworkEnv


@pytest.fixture(scope="module")
def task():
    return make_task()


@pytest.fixture(scope="module")
def report():
    return import_module("cowork_gym.benchmarks.speed.__main__").run(1)


def test_the_desk_is_as_large_as_it_says_and_its_script_earns_everything(task):
    env = CoworkEnv(task)
    assert 250_000 < len(env.blueprint.start.image) < 300_000
    assert sum(len(rows) for collections in task.world.values() for rows in collections.values()) == 500
    grade = Ours(task).episode().grade
    assert (grade.reward, grade.fault) == (1.0, None)


@pytest.mark.parametrize("rival", [RawSqlite, PlainDict])
def test_the_references_do_the_same_work(task, rival):
    env, other = CoworkEnv(task), rival(task)
    env.reset(seed=1)
    start = other.fingerprint()
    for tool, arguments in (READ, WRITE):
        mine, theirs = env.world.call(tool, arguments).value, json.loads(other.call(tool, arguments))
        mine = mine.get("ticket", mine)
        assert {name: theirs[name] for name in mine.keys() & theirs.keys() - {"updated_at", "tags"}}.items() <= mine.items()
        assert len(mine.keys() & theirs.keys()) >= 7
    assert other.fingerprint() != start and len(other.diff()) == 1 == len(env.world.diff())
    fork = other.fork()
    fork.call("gmail_save_draft", {"to": "a@b", "subject": "s", "body": "b"})
    assert len(fork.diff()) == 2 and len(other.diff()) == 1 and len(fork.ledger) == 3
    with pytest.raises(ValueError):
        other.call("crm_get_customer", {"customer_id": 3})


def test_a_run_measures_every_item_and_reports_it(report):
    told = json.loads(json.dumps(report.to_dict()))
    assert {one["title"] for one in told["items"]} >= {item.title for item in ITEMS}
    assert all(one["cowork_gym"]["cpu"] > 0 for one in told["items"])
    assert [one["state"] for one in told["memory"]] == ["forked, not called yet", "after one read", "after ten more calls"]
    console = Console(width=200, record=True)
    console.print(report.table(), report.memory_table())
    shown = console.export_text()
    assert all(item.title in shown for item in ITEMS) and "raw sqlite3" in shown


def test_both_ways_play_the_same_episode_and_only_one_records_it(task, tmp_path):
    mine, bare = Recorded(task, tmp_path).scripted(), Unrecorded(task, tmp_path).scripted()
    assert (mine.ledger.hash, mine.end, mine.answer, mine.grade.reward) == (bare.ledger.hash, bare.end, bare.answer, bare.grade.reward)
    assert [(one.action, one.observation) for one in mine.turns] == [(one.action, one.observation) for one in bare.turns]
    assert all(one.state for one in mine.turns) and not any(one.state for one in bare.turns)
    states = [mine.start, *(one.state for one in mine.turns)]
    assert [at for at in range(11) if states[at] != states[at + 1]] == [3, 4, 7, 9] and states[-1] == mine.end
    assert bare.runs == () and len(mine.runs[0].generations) == 11


def test_tokens_are_recorded_and_written_on_one_side_only(task, tmp_path):
    pytest.importorskip("pyarrow")
    made, bare = Recorded(task, tmp_path / "a").tokens(), Unrecorded(task, tmp_path / "b").tokens()
    assert made.grade.fault is None and bare.grade.fault is None
    [segment] = made.runs[0].segments
    assert (segment.audit, len(segment.ids)) == ("", 11 * 500) and sum(turn.tokens for turn in bare.turns) == 3300
    assert sorted(path.name for path in tmp_path.rglob("episode*")) == ["episode.arrow", "episode.jsonl", "episode.jsonl"]
    assert read_episode(tmp_path / "a" / "episode.jsonl").runs == made.runs


def test_the_overhead_of_recording_is_a_ratio_in_one_run(report):
    told = report.to_dict()["recording"]
    assert [one["title"] for one in told][:2] == [item.title for item in RECORDING]
    assert all(one["ratio"] == one["recorded"]["cpu"] / one["unrecorded"]["cpu"] and one["met"] is (one["ratio"] <= 1.1) for one in told)
    made = {("x", "recorded"): Sample(1.2, 0, 0), ("x", "unrecorded"): Sample(1.0, 0, 0)}
    console = Console(width=150, record=True)
    console.print(Report([], ["y"], {}, [], {}, made).recording_table())
    assert "1.20×" in (shown := console.export_text()) and "MISSED" in shown


def test_targets_are_compared_with_the_median():
    items = [Item("fast", "run", 1.0), Item("slow", "run", 1.0), Item("free", "run")]
    samples = {(item.title, "x"): Sample(cpu, cpu, cpu) for item, cpu in zip(items, (0.5, 1.5, 9.0), strict=True)}
    report = Report(items, ["x"], samples, [], facts())
    assert [one.title for one in report.missed()] == ["slow"]
    assert [one["met"] for one in report.to_dict()["items"]] == [True, False, True]


def test_what_comes_before_is_not_measured():
    class Slow:
        name = "slow"

        def before(self):
            sum(range(200_000))

        def run(self):
            return 1

    item = Item("item", "run", None, ("before",), ("before",), 3)
    [sample] = measure([item], [Slow()], 3).values()
    assert sample.cpu < 0.2
    assert "run" in profile(item, Slow(), rounds=1)
