"""Folders that `local:` cannot use: each is told in one line that names the file and what is wrong with it."""

import json
import shutil

import pytest

pytest.importorskip("transformers")
pytest.importorskip("peft")

import peft
from tiny_model import tiny_llama
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from cowork_gym.cli.main import main
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.harness.policies.local import load_model
from cowork_gym.harness.policies.local.weights import load_tokenizer

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
TOKENIZER, TOKENS = "tokenizer_config.json", "tokenizer.json"
SHARD = "model-00001-of-00001.safetensors"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A model with its tokenizer and an adapter."""
    folder = tmp_path_factory.mktemp("models") / "whole"
    tiny_llama().save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0, "?": 1}, unk_token="?"))).save_pretrained(folder)
    peft.get_peft_model(tiny_llama(), peft.LoraConfig(r=4, target_modules=["q_proj"])).save_pretrained(folder / "adapter")
    return folder


@pytest.fixture
def model(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "model")


def refused(*arguments, **options):
    """What is told of a folder: one line."""
    with pytest.raises(UserError) as caught:
        load_model(*arguments, device="cpu", **options)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


def changed(file, **values):
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def cut(file, left):
    file.write_bytes(file.read_bytes()[:left])


def test_what_is_whole_is_loaded(model):
    for options in {}, {"adapter": model / "adapter"}:
        loaded, tokenizer = load_model(model, device="cpu", **options)
        assert tokenizer.convert_tokens_to_ids("a") == 0 and loaded.get_input_embeddings().num_embeddings == 300


@pytest.mark.parametrize("name", [CONFIG, TOKENIZER, TOKENS])
@pytest.mark.parametrize("content", [b"", b"{oops", b"\xff\xfe\x00", b"[]", b"[" * 100_000], ids=["empty", "broken", "binary", "list", "deep"])
def test_a_broken_file_is_named(model, name, content):
    (model / name).write_bytes(content)
    assert refused(model).startswith(f"{model / name}: ")


@pytest.mark.parametrize(("values", "problem"), [
    ({"model_type": "mega9"}, "no model that transformers knows: ValueError: "), ({"model_type": 5}, "no model that transformers knows: "),
    ({"model_type": "mega9", "auto_map": {"AutoConfig": "own.Own"}}, "no model that transformers knows: "),
    ({"model_type": "clip"}, "model_type: 'clip' is no causal language model"), ({"hidden_size": "x"}, "no model that transformers knows: "),
    ({"hidden_size": 33}, "no model that transformers knows: "),
])
def test_a_configuration_of_no_model_is_named(model, values, problem):
    changed(model / CONFIG, **values)
    assert refused(model).startswith(f"{model / CONFIG}: {problem}")


@pytest.mark.parametrize("left", [0, 4, 100, -1000])
@pytest.mark.parametrize("name", [WEIGHTS, "adapter/adapter_model.safetensors"])
def test_weights_that_are_cut_off_are_named(model, name, left):
    cut(model / name, left)
    options = {"adapter": model / "adapter"} if name != WEIGHTS else {}
    assert refused(model, **options).startswith(f"{model / name}: the weights are cut off or spoiled: ")


def test_weights_that_are_missing_are_told(model):
    (model / WEIGHTS).unlink()
    assert refused(model).startswith(f"{model}: no weights: it has none of {WEIGHTS}, ")
    (model / "pytorch_model.bin").write_bytes(b"x" * 5000)
    assert refused(model).startswith(f"{model / 'pytorch_model.bin'}: the weights cannot be loaded: UnpicklingError: ")


def test_each_of_several_files_of_weights_is_named(model):
    (model / WEIGHTS).rename(model / SHARD)
    (model / INDEX).write_text(json.dumps({"weight_map": {"lm_head.weight": SHARD, "model.norm.weight": "more.safetensors"}}))
    assert refused(model) == f"{model / 'more.safetensors'}: the file is missing, and {INDEX} has tensors in it"
    cut(model / SHARD, 100)
    assert refused(model).startswith(f"{model / SHARD}: the weights are cut off or spoiled: ")
    for content in ({}, {"weight_map": {}}, {"weight_map": {"lm_head.weight": 1}}):
        (model / INDEX).write_text(json.dumps(content))
        assert refused(model) == f"{model / INDEX}: weight_map: write the file of each tensor"
    (model / INDEX).write_text("{")
    assert refused(model).startswith(f"{model / INDEX}: not a JSON file: ")


def test_weights_of_another_model_are_told_and_none_is_made_up(model):
    changed(model / CONFIG, num_hidden_layers=4)
    missing = "model.layers.2.input_layernorm.weight: the tensor is missing (and 17 more), and config.json says that the model has it"
    assert refused(model) == f"{model / WEIGHTS}: {missing}"
    changed(model / CONFIG, num_hidden_layers=2, hidden_size=64)
    assert refused(model) == f"{model / WEIGHTS}: lm_head.weight: has the shape [300, 32], and by config.json it is [300, 64]"


def test_a_tokenizer_that_is_missing_is_told_before_the_weights_are_looked_at(model):
    (model / WEIGHTS).unlink()
    (model / TOKENS).unlink()
    assert refused(model).startswith(f"{model}: the tokenizer cannot be loaded: it has no {TOKENS}: ")
    (model / TOKENIZER).unlink()
    assert refused(model) == f"{model} is no folder with a tokenizer: it has no {TOKENIZER}"
    with pytest.raises(UserError, match="no folder with a tokenizer"):
        load_tokenizer(model)


def test_an_adapter_that_cannot_be_used_is_named(model):
    adapter = model / "adapter"
    changed(adapter / "adapter_config.json", r=8)
    assert refused(model, adapter=adapter).startswith(f"{adapter}: the adapter cannot be put on the model: RuntimeError: ")
    (adapter / "adapter_config.json").write_text("{")
    assert refused(model, adapter=adapter).startswith(f"{adapter / 'adapter_config.json'}: not a JSON file: ")
    (adapter / "adapter_config.json").write_text("{}")
    (adapter / "adapter_model.safetensors").unlink()
    assert refused(model, adapter=adapter).startswith(f"{adapter}: no weights: it has neither ")


def test_a_path_that_is_none_is_told(tmp_path):
    assert "no folder with a model" in refused(tmp_path / "none")
    assert refused("x" * 400).endswith(": no folder with a model: File name too long")
    with pytest.raises(PackageError):
        (tmp_path / CONFIG).write_text("7")
        load_model(tmp_path)


def test_the_command_tells_it_in_one_line(model, capfd):
    (model / CONFIG).write_text("{oops")
    assert main(["run", "M1003", "--agent", f"local:{model}"]) == 2
    assert f"cowork: {model / CONFIG}: not a JSON file: " in capfd.readouterr().err
