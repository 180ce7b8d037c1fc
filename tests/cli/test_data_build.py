"""The verb `data build`: options, what it prints, and mistakes told in one line."""

import json

import pytest

from cowork_gym.cli.main import main
from cowork_gym.core.record import write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import make_agent, play
from cowork_gym.harness.rollout import rollout

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "first"
    rollout([load_task(id) for id in ("M1003", "M133")], lambda form: make_agent("reference", form), n=2, out=out)
    return out


def told(capsys, *words):
    code = main(["data", "build", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_counts_are_printed_by_reason(run, tmp_path, capsys):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "x.jsonl").write_text("{}\n", encoding="utf-8")
    code, out, err = told(capsys, run, tmp_path / "more", "--out", tmp_path / "set", "--best")
    assert code == 0
    assert out.splitlines()[0] == f"{tmp_path / 'set'}: 2 dialogues of 2 episodes, from 5 records"
    assert out.splitlines()[1] == "left out: not_best 2"
    assert err == "cowork: not read: more/x.jsonl: line 1: not an episode file\n"


def test_json_is_one_document(run, tmp_path, capsys):
    code, out, _ = told(capsys, run, "--out", tmp_path / "set", "--keep", "0.2,0.95", "--json")
    report = json.loads(out)
    assert (code, report["rows"], report["labels"], report["left_out"]) == (0, 2, {"TRIVIAL": 2}, {"trivial_prefix": 2})
    assert report["content"]["dialogues.jsonl"] == json.loads((tmp_path / "set" / "manifest.json").read_text())["content"]["dialogues.jsonl"]


def test_options_change_a_recipe(run, tmp_path, capsys):
    words = ("--recipe", "coworkenv", "--keep", "none", "--all", "--min-reward", "0.1,safety=0.9", "--unit", "segment", "--no-limits", "--children")
    code, _, _ = told(capsys, run, "--out", tmp_path / "set", *words, "--tools", "none", "--pool", "category", "--per-pool", "1", "--seed", "4")
    settings = json.loads((tmp_path / "set" / "manifest.json").read_text())["settings"]
    assert code == 0
    assert settings["rewards"] == {"default": 0.1, "safety": 0.9}
    assert [settings[name] for name in ("thresholds", "best", "unit", "limits", "children")] == [None, "none", "segment", None, True]
    assert (settings["pools"], settings["seed"], settings["tools"], settings["recipe"]) == ({"by": "category", "each": 1}, 4, "none", "coworkenv")


def test_releases_say_what_may_be_used(run, tmp_path, capsys):
    words = ["release", "desk", "M1003", "--for", "evaluation", "--author", "Ada Moreau", "--teacher", "Lin Wei", "--to", str(tmp_path)]
    assert main(words) == 0
    capsys.readouterr()
    code, out, err = told(capsys, run, "--out", tmp_path / "set", "--release", tmp_path / "desk")
    assert (code, out) == (2, "")
    assert "not_authorised 2, undeclared_release 2" in err
    code, out, _ = told(capsys, run, "--out", tmp_path / "set", "--release", tmp_path / "desk", "--for", "evaluation")
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert (code, manifest["counts"]["left_out"]) == (0, {"undeclared_release": 2})
    assert (manifest["roles"]["authors"], manifest["roles"]["teachers"]) == (["Ada Moreau"], ["Lin Wei"])
    assert manifest["authorisation"]["declared"]
    assert [*manifest["authorisation"]["tasks"].values()] == [["evaluation"]]


def test_tokens_are_counted_where_a_tokenizer_is_named(run, tmp_path, capsys):
    pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={one: at for at, one in enumerate(letters)}, merges=[]))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", additional_special_tokens=["<|im_start|>"])
    tokenizer.chat_template = _TEMPLATE
    tokenizer.save_pretrained(tmp_path / "letters")
    code, out, _ = told(capsys, run, "--out", tmp_path / "set", "--tokenizer", tmp_path / "letters")
    numbers = json.loads((tmp_path / "set" / "manifest.json").read_text())["statistics"]
    assert code == 0
    assert len(numbers["unrendered"]) == 0
    tokens = numbers["lengths"]["tokens"]
    assert f"{tokens['sum']} tokens, {numbers['lengths']['learned_tokens']['sum']} of them learned" in out
    assert 0 < numbers["lengths"]["learned_tokens"]["sum"] < tokens["sum"]
    assert tokens["sum"] == sum(one["tokens"] for one in numbers["domains"].values())


_TEMPLATE = (
    "{% if tools %}<tools>{{ tools | tojson }}</tools>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}<tool_call>\n{\"name\": \"{{ c.function.name }}\", "
    "\"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_packages_of_ones_own_are_named(tmp_path, capsys):
    assert main(["new", "task", "Rooms", "--into", str(tmp_path)]) == 0
    package = tmp_path / "Rooms"
    env = CoworkEnv(str(package))
    write_episode(play(env, make_agent("reference", env.task), seed=0), tmp_path / "runs")
    capsys.readouterr()
    code, _, err = told(capsys, tmp_path / "runs", "--out", tmp_path / "set")
    assert code == 2
    assert "is not installed; name its package (--task FOLDER), or build without tool schemas (--tools none)" in err
    assert told(capsys, tmp_path / "runs", "--out", tmp_path / "a", "--task", package)[0] == 0
    assert told(capsys, tmp_path / "runs", "--out", tmp_path / "b", "--tools", "none")[0] == 0


@pytest.mark.parametrize(("words", "text"), [
    (("--recipe", "occam"), "unknown recipe 'occam', did you mean 'occamy'?"),
    (("--keep", "0.9,0.2"), "thresholds are two numbers from 0 to 1, the lower one first, not 0.9 and 0.2"),
    (("--keep", "0.9"), "--keep takes two numbers"),
    (("--keep", "a,b"), "--keep: 'a' is no number"),
    (("--min-reward", "safety=x"), "--min-reward: 'x' is no number"),
    (("--min-reward", "0.5,safty=0.8"), "--min-reward: no task is of the category 'safty', did you mean 'safety'?"),
    (("--min-reward", "2"), "a reward is a number from 0 to 1, not 2"),
    (("--pool", "colour"), "pools are made by capability, category, task, not by 'colour'"),
    (("--for", "trainin"), "--for: unknown use 'trainin', did you mean 'training'?"),
    (("--release", "nowhere"), "nowhere: no such folder"),
    (("--task", "nowhere"), "unknown task 'nowhere'"),
    (("--tokenizer", "nowhere"), "nowhere"),
])
def test_mistakes_are_told_in_one_line(run, tmp_path, capsys, words, text):
    code, out, err = told(capsys, run, "--out", tmp_path / "set", *words)
    assert (code, out) == (2, "")
    assert text in err
    assert err.count("\n") == 1
    assert not (tmp_path / "set").exists()
