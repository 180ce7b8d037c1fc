"""The verb `merge`: two tiny models from folders into one, and what it says of that."""

import json
import sys

import pytest

from cowork_gym.cli import merge as verb
from cowork_gym.cli.main import main as command

torch = pytest.importorskip("torch")
save_file = pytest.importorskip("safetensors.torch").save_file

_CONFIG = {"architectures": ["Any"], "model_type": "any"}


def _model(folder, value, **more):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(_CONFIG))
    save_file({"w": torch.tensor([value, 1.0]), "n": torch.tensor([7])} | more, folder / "model.safetensors")
    return str(folder)


@pytest.fixture
def folders(tmp_path):
    return [_model(tmp_path / "a", 1.0), _model(tmp_path / "b", 3.0, **{"mtp.head": torch.ones(2)}), _model(tmp_path / "base", 0.0)]


def _weights(folder):
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")["w"].tolist()


def test_a_soup_says_what_it_did(tmp_path, folders, capsys):
    assert command(["merge", "--method", "soup", *folders[:2], "--out", str(tmp_path / "out")]) == 0
    assert _weights(tmp_path / "out") == [2.0, 1.0]
    assert capsys.readouterr().out.splitlines() == [
        "soup: 1 tensor averaged, 1 integer tensor kept as in all parents", f"inherited from {folders[1]}: mtp.head",
        "the tokenizers were not compared: not all of the folders have one", "verified: 3 tensors and 0 expert slices recomputed, all equal",
        str(tmp_path / "out"),
    ]


@pytest.mark.parametrize(("options", "expected"), [
    (["soup", "--weights", "1,3"], [2.5, 1.0]), (["slerp", "--t", "0"], [1.0, 1.0]), (["task", "--lambda", "0.5", "--base", 2], [2.0, 1.0]),
    (["task", "--weights", "1,-1", "--base", 2], [-2.0, 1.0]), (["ties", "--density", "0.5", "--base", 2, "--select", "2"], [2.0, 1.0]),
])
def test_each_method_takes_its_parameters(tmp_path, folders, options, expected, capsys):
    words = [folders[one] if isinstance(one, int) else one for one in options]
    assert command(["merge", *folders[:2], "--out", str(tmp_path / "out"), "--method", *words, "--shard-size", "1 KB", "--json"]) == 0
    assert _weights(tmp_path / "out") == expected
    document = json.loads(capsys.readouterr().out)
    assert document["out"] == str(tmp_path / "out")
    assert document == {"out": str(tmp_path / "out"), **json.loads((tmp_path / "out" / "merge.json").read_text())}
    assert document["selected"] == (2 if "--select" in options else 1)


@pytest.mark.parametrize(("options", "problem"), [
    (["--method", "mean"], "'mean' is not one of 'soup', 'slerp', 'task', 'ties'"), (["--method", "soup", "--t", "0.5"], "soup has no t"),
    (["--method", "soup", "--weights", "1,x"], "--weights 1,x: write a number for each parent"), (["--method", "task"], "task needs the --base"),
    (["--method", "soup", "--shard-size", "many"], "--shard-size many: write a size such as 5GB"),
    (["--method", "soup", "--shard-size", "0"], "a shard size of 0 bytes holds nothing"),
    (["--method", "soup", "--select", "3"], "there is no parent 3 to select among 2"),
])
def test_a_mistake_is_one_line(tmp_path, folders, options, problem, capsys):
    assert command(["merge", *folders[:2], "--out", str(tmp_path / "out"), *options]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert problem in told.err
    assert not (tmp_path / "out").exists()


def test_a_model_that_does_not_fit_is_one_line(tmp_path, folders, capsys):
    other = _model(tmp_path / "c", 1.0, w=torch.ones(3))
    assert command(["merge", "--method", "soup", folders[0], other, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"cowork: {other}/model.safetensors: w: the shape is [3], and [2] in {folders[0]}/model.safetensors\n"


def test_what_is_not_installed_is_told(tmp_path, folders, capsys, monkeypatch):
    monkeypatch.setattr(verb.importlib.util, "find_spec", lambda name: None)
    assert command(["merge", "--method", "soup", *folders[:2], "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "cowork: torch is not installed: pip install 'cowork-gym[train]'\n"


def test_looking_at_the_help_loads_no_training_library(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "cowork_gym.trainers.merge", None)
    assert command(["merge", "--help"]) == 0
    assert "--density" in capsys.readouterr().out
