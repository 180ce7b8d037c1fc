"""The build: real episodes in, a data set out; whatever cannot be used is counted, and equal input gives equal bytes."""

import json
import shutil
from dataclasses import replace

import pytest
from sft_records import ACTIONS, TASK, Lines, clumsy, delegated, plain, played, scripted, summarised, windowed

from cowork_gym.core.errors import Blame, Fault, UserError
from cowork_gym.core.messages import call, final
from cowork_gym.core.record import write_episode
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import make_agent
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.rollout import rollout
from cowork_gym.trainers.data.sft.attempts import collect, survey
from cowork_gym.trainers.data.sft.build import Order, build
from cowork_gym.trainers.data.sft.converter import Limits
from cowork_gym.trainers.data.sft.dialogues import Shape
from cowork_gym.trainers.data.sft.manifest import sha256_of
from cowork_gym.trainers.data.sft.output import read_dialogues
from cowork_gym.trainers.data.sft.recipes import RECIPES, PoolPlan, Recipe
from cowork_gym.trainers.data.sft.sanitise import Finding
from cowork_gym.trainers.data.sft.selection import Rewards

pytest.importorskip("pyarrow")

TASKS = [load_task(id) for id in ("M1003", "M1100", "M133")]
ANY = Recipe(rewards=Rewards(0.0))


class _Away(Policy):
    name = "reference"

    def reset(self, tools, seed):
        raise Fault(Blame.MODEL_SERVER, "somewhere", "connection refused")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three tasks twice each by the reference; one attempt ends in a fault."""
    out, made = tmp_path_factory.mktemp("runs") / "first", []

    def agent(form):
        made.append(form)
        return _Away() if len(made) == 2 else make_agent("reference", form)

    rollout(TASKS, agent, n=2, out=out)
    return out


def rows(out):
    return [json.loads(line) for line in (out / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_rollout_becomes_a_data_set(run, tmp_path):
    out = tmp_path / "set"
    report = build(Order((run,), out))
    assert {one.relative_to(out).as_posix() for one in out.rglob("*") if one.is_file()} == {
        "README.md", "data/train.parquet", "dialogues.jsonl", "manifest.json",
    }
    assert (report.counts["records"], report.counts["left_out"], report.counts["rows"]) == (6, {"quarantined": 1}, 5)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert {name: value for name, value in manifest.items() if name != "sources"} == json.loads(json.dumps(report.manifest))
    assert manifest["content"] == {name: sha256_of(out / name) for name in ("dialogues.jsonl", "data/train.parquet")}
    sealed = [line for file in (run / "episodes").iterdir() for line in file.read_text().splitlines() if line.startswith('{"event":"seal"')]
    assert sorted(one["seal"] for one in manifest["sources"]) == sorted(json.loads(line)["sha256"] for line in sealed)
    assert sum(one["rows"] for one in manifest["sources"]) == 5
    assert manifest["settings"]["recipe"] == "plain"


def test_equal_input_gives_equal_bytes(run, tmp_path):
    elsewhere = shutil.copytree(run, tmp_path / "moved" / "first")
    for name, order in (("a", Order((run,), tmp_path / "a")), ("b", Order((elsewhere,), tmp_path / "b"))):
        build(replace(order, recipe=RECIPES["navalia"], seed=3))
        assert (tmp_path / name).is_dir()
    for file in ("README.md", "manifest.json", "dialogues.jsonl", "data/train.parquet"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_datasets_loads_what_was_written(run, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    out, cache = tmp_path / "set", str(tmp_path / "cache")
    build(Order((run,), out))
    loaded = [
        datasets.load_dataset(str(out), split="train", cache_dir=cache),
        datasets.load_dataset("parquet", data_files=str(out / "data" / "train.parquet"), split="train", cache_dir=cache),
        datasets.load_dataset("json", data_files=str(out / "dialogues.jsonl"), split="train", cache_dir=cache),
    ]
    for one in loaded:
        assert [row["id"] for row in one] == [row["id"] for row in rows(out)]
        assert [row["messages"] for row in one] == [row["messages"] for row in rows(out)]
        assert json.loads(one[0]["tools"])[0]["type"] == "function"


def test_whatever_is_no_episode_is_counted(tmp_path):
    folder = tmp_path / "mixed" / "deep"
    good = write_episode(plain(), folder, stem="good")
    whole = good.read_bytes()
    (folder / "cut.jsonl").write_bytes(whole[: len(whole) // 2])
    (folder / "changed.jsonl").write_bytes(whole.replace(b'"seed":0', b'"seed":1', 1))
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "trace.jsonl").write_text('{"at": 1}\n', encoding="utf-8")
    (folder / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    (folder / "gone.jsonl").symlink_to("nowhere")
    (folder / "note.txt").write_text("no record", encoding="utf-8")
    write_episode(replace(plain(), grade=None), folder, stem="ungraded")
    report = build(Order((tmp_path / "mixed",), tmp_path / "set"))
    assert (report.counts["records"], report.counts["unreadable"], report.counts["left_out"]) == (8, 6, {"no_score": 1})
    assert [one.partition(":")[0] for one in report.unreadable] == [
        f"mixed/deep/{name}.jsonl" for name in ("binary", "changed", "cut", "empty", "gone", "trace")
    ]


def test_nothing_left_is_told_with_its_reasons_and_leaves_nothing_behind(tmp_path):
    write_episode(scripted(final("no")), tmp_path / "runs")
    with pytest.raises(UserError, match=r"nothing is left of 1 record: below_reward 1$"):
        build(Order((tmp_path / "runs",), tmp_path / "set"))
    (tmp_path / "runs" / "text.jsonl").write_text("no record\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"unreadable 1, below_reward 1; the first that could not be read is runs/text\.jsonl: "):
        build(Order((tmp_path / "runs",), tmp_path / "set"))
    (tmp_path / "bare").mkdir()
    with pytest.raises(UserError, match=r"nothing is left of 0 records: there were none$"):
        build(Order((tmp_path / "bare",), tmp_path / "set"))
    with pytest.raises(UserError, match="no such file or folder"):
        build(Order((tmp_path / "missing",), tmp_path / "set"))
    with pytest.raises(UserError, match="named twice"):
        build(Order((tmp_path / "bare", tmp_path / "bare"), tmp_path / "set"))
    assert {one.name for one in tmp_path.iterdir()} == {"runs", "bare"}


def test_a_data_set_is_never_written_over(run, tmp_path):
    build(Order((run,), tmp_path / "set"))
    before = (tmp_path / "set" / "manifest.json").read_bytes()
    with pytest.raises(UserError, match="is there already"):
        build(Order((run,), tmp_path / "set", replace(ANY, best="all")))
    assert (tmp_path / "set" / "manifest.json").read_bytes() == before


def test_harnesses_and_children_come_through(tmp_path):
    for name, episode in {"w": windowed(), "s": summarised(), "d": delegated(), "c": clumsy()}.items():
        write_episode(episode, tmp_path / "runs", stem=name)
    report = build(Order((tmp_path / "runs",), tmp_path / "set", ANY))
    found = [*read_dialogues(tmp_path / "set")]
    assert [one.source.trial for one in found if one.source.segment is None] == ["c", "d", "d"]
    answers = {(one.source.trial, at, each.message) for one in found for at, each in enumerate(one.utterances) if each.trained}
    assert len(answers) == sum(one.supervised for one in found)
    assert report.manifest["statistics"]["not_learned"]["replayed"] > 0
    whole = build(Order((tmp_path / "runs",), tmp_path / "runs-set", replace(ANY, shape=Shape(unit="run", children=False))))
    assert (whole.counts["rows"], whole.counts["rejected"]) == (4, {"child_run": 1})


def test_copies_replacements_and_the_first_that_wins(run, tmp_path):
    copied = shutil.copytree(run, tmp_path / "second")
    twice = build(Order((run, copied), tmp_path / "a", ANY))
    assert (twice.counts["rows"], twice.counts["left_out"]) == (5, {"duplicate": 5, "quarantined": 2})
    rollout([TASKS[2]], lambda form: make_agent("text-only", form), n=1, out=tmp_path / "again")
    report = build(Order((run,), tmp_path / "b", ANY, (tmp_path / "again",)))
    assert report.counts["left_out"] == {"quarantined": 1, "superseded": 2}
    assert [one.source.agent for one in read_dialogues(tmp_path / "b") if one.source.task == TASKS[2].id] == ["text-only"]


def test_the_coworkenv_recipe_counts_each_reason(tmp_path):
    long = [call("helpdesk_get_ticket", ticket_id="TCK-5802")] * 21
    for name, episode in {
        "good": played(make_agent("reference", TASK)), "long": played(Lines(*ACTIONS[:-1], *long, ACTIONS[-1])), "short": scripted(final("no")),
        "wordy": played(Lines(*ACTIONS[:-1], final("word " * 9000))),
    }.items():
        write_episode(episode, tmp_path / "runs", stem=name)
    recipe = replace(RECIPES["coworkenv"], thresholds=None, rewards=Rewards(0.0))
    report = build(Order((tmp_path / "runs",), tmp_path / "set", recipe))
    assert report.counts["rejected"] == {"over_budget": 1, "too_few_messages": 1, "too_many_tool_calls": 1}
    (one,) = read_dialogues(tmp_path / "set")
    assert one.source.trial == "good"
    assert one.messages[0].role == "system"
    assert max(len(each.content or "") for each in one.messages if each.role == "tool") <= 1014


def test_pools_are_drawn_after_what_is_rejected(run, tmp_path):
    order = Order((run,), tmp_path / "set", replace(ANY, pools=PoolPlan("task", 1)), seed=5)
    report = build(order)
    assert report.counts["rows"] == 3
    assert report.counts["left_out"] == {"not_drawn": 2, "quarantined": 1}
    assert {one["drawn"] for one in report.counts["pools"].values()} == {1}
    everyone = build(replace(order, out=tmp_path / "all", recipe=replace(ANY, pools=PoolPlan("task", 9))))
    assert everyone.counts["left_out"] == {"quarantined": 1}
    assert len({one.source.task for one in read_dialogues(tmp_path / "set")}) == 3


def test_sanitisation_and_equal_conversations(run, tmp_path):
    def examine(episode, dialogue):
        return Finding(unreliable=True, why="doubtful") if episode.task == TASKS[0].id else Finding(bad_spans=(0,), why="hasty")

    report = build(Order((run,), tmp_path / "set", replace(ANY, examine=examine, distinct=True)))
    assert report.counts["sanitised"] == {"discard: doubtful": 1, "mask_span: hasty": 4}
    assert report.counts["rejected"] == {"same_conversation": 2}
    assert report.manifest["statistics"]["not_learned"] == {"hasty": 2}
    assert report.manifest["settings"]["sanitise"] == "examine"


def test_unicode_and_huge_texts_come_through(tmp_path):
    huge = "Zürich €5 会議室 📅 " * 12_000
    episode = scripted(final(huge))
    write_episode(episode, tmp_path / "runs")
    report = build(Order((tmp_path / "runs",), tmp_path / "set", ANY))
    (one,) = read_dialogues(tmp_path / "set")
    assert one.messages[-1].content == huge
    assert report.manifest["statistics"]["lengths"]["characters"]["max"] == len(huge) + len(TASK.request)


def test_half_a_surrogate_pair_leaves_only_its_own_dialogue_out(tmp_path):
    from cowork_gym.core.messages import Message, ToolCall

    odd = scripted(Message("assistant", None, (ToolCall("crm_get_customer", '{"customer_id": "\ud800"}'),)), final("x"))
    write_episode(odd, tmp_path / "runs", stem="odd")
    write_episode(plain(), tmp_path / "runs", stem="plain")
    report = build(Order((tmp_path / "runs",), tmp_path / "set", ANY))
    assert (report.counts["rows"], report.counts["rejected"]) == (1, {"not_unicode": 1})


def test_a_record_that_changes_meanwhile_stops_the_build(run, tmp_path, monkeypatch):
    from cowork_gym.trainers.data.sft import build as module

    monkeypatch.setattr(module, "read_episode", lambda file: windowed())
    with pytest.raises(UserError, match="was changed while"):
        build(Order((run,), tmp_path / "set"))
    assert not [one for one in tmp_path.iterdir() if one.name != "cache"]


def test_collections_are_named_by_their_folders(run, tmp_path):
    (tmp_path / "first").mkdir()
    single = write_episode(plain(), tmp_path / "x", stem="one")
    found = collect([run, tmp_path / "first", single], [])
    assert [(one.name, len(one.files)) for one in found] == [("first", 6), ("first#2", 0), ("one.jsonl", 1)]
    assert [one.fault for one in survey(found).attempts if one.fault] == ["model_server"]
    assert survey(found).attempts[-1].trial == "one"


def test_tool_results_are_cut_before_they_are_measured(run, tmp_path):
    build(Order((run,), tmp_path / "set", replace(ANY, limits=Limits(observation=50, system=""))))
    results = [one.content for each in read_dialogues(tmp_path / "set") for one in each.messages if one.role == "tool"]
    assert all(len(one) <= 64 for one in results)
    assert any(one.endswith("...[truncated]") for one in results)
