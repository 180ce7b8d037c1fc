"""What cannot be merged is refused in one line that names file and tensor, and leaves nothing behind."""

import json
import shutil

import pytest
from merge_models import make_llama, make_moe, rewrite, save, tensors, torch, tuned

from cowork_gym.core.errors import UserError
from cowork_gym.trainers.merge import Recipe, merge

UP = "model.layers.1.mlp.up_proj.weight"


@pytest.fixture
def pair(tmp_path):
    base = make_llama()
    return save(base, tmp_path / "a"), save(tuned(base, 1), tmp_path / "b")


def _refused(parents, out, match, recipe=None, **options):
    before = sorted(out.parent.iterdir())
    with pytest.raises(UserError, match=match) as caught:
        merge(parents, out, recipe or Recipe("soup"), **options)
    assert "\n" not in str(caught.value)
    assert sorted(out.parent.iterdir()) == before, "something was left behind"
    return str(caught.value)


@pytest.mark.parametrize(("change", "problem"), [
    (lambda found: found.update({UP: torch.zeros(24, 17)}), r"the shape is \[24, 17\], and \[24, 16\] in "),
    (lambda found: found.update({UP: found[UP].bfloat16()}), "the type is BF16, and F32 in "),
    (lambda found: found.update({UP: found[UP].to(torch.float8_e4m3fn)}), r"quantised or of an unknown type \(F8_E4M3\)"),
    (lambda found: found[UP].view(-1)[5:6].fill_(float("nan")), "it has entries that are no finite numbers"),
])
def test_a_tensor_that_does_not_fit_is_named_with_its_file(tmp_path, pair, change, problem):
    rewrite(pair[1], change)
    text = _refused(pair, tmp_path / "out", problem)
    assert text.startswith(f"{pair[1] / 'model.safetensors'}: {UP}: ")


def test_a_lost_tensor_is_not_taken_from_another_parent(tmp_path, pair):
    rewrite(pair[1], lambda found: found.pop(UP))
    text = _refused(pair, tmp_path / "out", "the tensor is missing, and ")
    assert text.startswith(f"{pair[1]}: {UP}: ")
    _refused([pair[1], pair[0]], tmp_path / "out", f"b: {UP}: the tensor is missing")
    third = save(make_llama(), tmp_path / "c")
    _refused([pair[0], third, pair[1]], tmp_path / "out", f"b: {UP}: the tensor is missing")
    _refused([pair[0], third], tmp_path / "out", f"b: {UP}: the base has no such tensor", Recipe("task"), base=pair[1])


def test_models_with_other_names_have_nothing_to_average(tmp_path, pair):
    found = tensors(pair[1])
    rewrite(pair[1], lambda old: (old.clear(), old.update({f"language_model.{name}": tensor for name, tensor in found.items()})))
    _refused(pair, tmp_path / "out", "is missing|too few")


def test_integers_are_never_averaged(tmp_path, pair):
    for folder, last in zip(pair, (3, 4), strict=True):
        rewrite(folder, lambda found, last=last: found.update({"model.steps": torch.tensor([1, 2, last])}))
    _refused(pair, tmp_path / "out", r"b/model\.safetensors: model\.steps: entry 2 differs from .*: I64 tensors must be the same in all parents")


def test_a_head_that_is_not_the_embedding_although_they_are_tied(tmp_path):
    base = make_llama(tie_word_embeddings=True)
    parents = [save(tuned(base, at), tmp_path / str(at)) for at in (1, 2)]
    rewrite(parents[1], lambda found: found.update({"lm_head.weight": torch.ones(64, 16)}))
    _refused(parents, tmp_path / "out", r"2/model\.safetensors: lm_head\.weight: it is not model\.embed_tokens\.weight, and the embeddings are tied")


def test_a_head_that_one_parent_lost(tmp_path, pair):
    rewrite(pair[1], lambda found: found.pop("lm_head.weight"))
    _refused(pair, tmp_path / "out", r"b: lm_head\.weight: the tensor is missing, .*the embeddings are not tied")


@pytest.mark.parametrize(("change", "problem"), [
    ({"architectures": ["MistralForCausalLM"]}, r'architectures: \["MistralForCausalLM"\] here, and \["LlamaForCausalLM"\] in '),
    ({"model_type": "mistral"}, 'model_type: "mistral" here'), ({"num_attention_heads": 4}, "num_attention_heads: 4 here, and 2 in "),
    ({"rope_parameters": {"rope_theta": 1e6}}, r"rope_parameters\.rope_theta: 1000000\.0 here, and 10000\.0 in "),
    ({"quantization_config": {"bits": 4}}, "quantization_config: quantised weights have no mean"),
])
def test_another_architecture_is_told(tmp_path, pair, change, problem):
    config = json.loads((pair[1] / "config.json").read_text())
    (pair[1] / "config.json").write_text(json.dumps(config | change))
    assert _refused(pair, tmp_path / "out", problem).startswith(f"{pair[1] / 'config.json'}: ")


def test_settings_that_do_not_touch_the_weights_may_differ(tmp_path, pair):
    config = json.loads((pair[1] / "config.json").read_text())
    changes = {"transformers_version": "4.50.0", "eos_token_id": 5, "use_cache": False, "attention_dropout": 0.1, "only_here": 1}
    (pair[1] / "config.json").write_text(json.dumps(config | changes))
    merge(pair, tmp_path / "out", Recipe("soup"))


def _tokenizer(vocab, merges=(), **more):
    model = {"type": "BPE", "vocab": vocab, "merges": [*merges]}
    return json.dumps({"model": model, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "truncation": None} | more)


@pytest.mark.parametrize(("other", "problem"), [
    (_tokenizer({"a": 0, "b": 2, "ab": 1}, ["a b"]), r'model\.vocab: \'ab\': 1 here, and 2 in '),
    (_tokenizer({"a": 0, "b": 1, "ab": 2}), "model.merges: another tokenizer than in "),
    (_tokenizer({"a": 0, "b": 1, "ab": 2}, ["a b"], added_tokens=[{"content": "<x>", "id": 3}]), r"added_tokens: '<x>': 3 here, and null in "),
    (_tokenizer({"a": 0, "b": 1, "ab": 2}, ["a b"], normalizer={"type": "NFC"}), "normalizer: "), ("[]", "no tokenizer: "), ("{", "no tokenizer: "),
])
def test_another_tokenizer_is_told(tmp_path, pair, other, problem):
    (pair[0] / "tokenizer.json").write_text(_tokenizer({"a": 0, "b": 1, "ab": 2}, ["a b"]))
    (pair[1] / "tokenizer.json").write_text(other)
    assert _refused(pair, tmp_path / "out", problem).startswith(f"{pair[1] / 'tokenizer.json'}: ")


def test_one_tokenizer_in_two_spellings_is_one(tmp_path, pair):
    (pair[0] / "tokenizer.json").write_text(_tokenizer({"a": 0, "b": 1, "ab": 2}, ["a b"]))
    (pair[1] / "tokenizer.json").write_text(_tokenizer({"a": 0, "b": 1, "ab": 2}, [["a", "b"]], truncation={"max_length": 5}))
    assert merge(pair, tmp_path / "out", Recipe("soup")).record["tokenizers_compared"] is True


def test_sentencepiece_files_are_compared_too(tmp_path, pair):
    for folder in pair:
        (folder / "tokenizer.model").write_bytes(str(folder).encode())
    _refused(pair, tmp_path / "out", r"b/tokenizer\.model: another tokenizer than in ")


def test_a_missing_shard_and_one_that_is_cut_off(tmp_path, pair):
    sharded = save(make_llama(), tmp_path / "sharded", max_shard_size="6KB")
    places = json.loads((sharded / "model.safetensors.index.json").read_text())["weight_map"]
    file = sharded / places[UP]
    whole = file.read_bytes()
    for length in (4, 100, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert _refused([pair[0], sharded], tmp_path / "out", "cut off").startswith(str(file))
    assert f"the tensor ends at byte {len(whole)}, and the file has {len(whole) - 1}" in _refused([pair[0], sharded], tmp_path / "out", "cut off")
    file.write_bytes(whole + b"0")
    _refused([pair[0], sharded], tmp_path / "out", "1 bytes stand behind its last tensor")
    file.unlink()
    first = min(name for name, place in places.items() if place == file.name)
    text = _refused([pair[0], sharded], tmp_path / "out", "the file is missing")
    assert text.startswith(f"{file}: {first}: ")


@pytest.mark.parametrize(("change", "problem"), [
    (lambda index: index["weight_map"].update({"no.such": index["weight_map"][UP]}), "no.such: the tensor is missing, and model.safetensors.index"),
    (lambda index: index["weight_map"].pop(UP), f"{UP}: model.safetensors.index.json says that the tensor is in no file"),
    (lambda index: index.pop("weight_map"), "weight_map: it must name the file of each tensor"),
    (lambda index: index["weight_map"].update({UP: "../a/model.safetensors"}), "weight_map: it must name the file of each tensor"),
])
def test_an_index_that_says_something_else(tmp_path, pair, change, problem):
    sharded = save(make_llama(), tmp_path / "sharded", max_shard_size="6KB")
    index = json.loads((sharded / "model.safetensors.index.json").read_text())
    change(index)
    (sharded / "model.safetensors.index.json").write_text(json.dumps(index))
    _refused([pair[0], sharded], tmp_path / "out", problem)


def test_folders_that_are_no_models(tmp_path, pair):
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    _refused([pair[0], adapter], tmp_path / "out", "adapter: a LoRA adapter, not a model: merge it into its base's weights first")
    (adapter / "adapter_config.json").rename(adapter / "config.json")
    _refused([pair[0], adapter], tmp_path / "out", "no weights: it has neither")
    (adapter / "pytorch_model.bin").write_bytes(b"")
    _refused([pair[0], adapter], tmp_path / "out", r"pytorch_model\.bin is of another format: load it and save it as safetensors")
    (adapter / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0[]")
    _refused([pair[0], adapter], tmp_path / "out", "no safetensors file: its header is no JSON object")
    (adapter / "config.json").unlink()
    _refused([pair[0], adapter], tmp_path / "out", "it has no config.json")
    _refused([pair[0], tmp_path / "nowhere"], tmp_path / "out", "nowhere: there is no such folder")


def test_the_same_parent_twice(tmp_path, pair):
    link = tmp_path / "link"
    link.symlink_to(pair[0])
    _refused([pair[0], link], tmp_path / "out", "link is named twice, as parent 1 and as parent 2")
    _refused([pair[0], pair[1]], tmp_path / "out", "named twice, as parent 2 and as the base", Recipe("task"), base=pair[1] / ".." / "b")
    copy = shutil.copytree(pair[0], tmp_path / "copy")
    merge([pair[0], copy], tmp_path / "out", Recipe("soup"))


def test_a_folder_that_exists_is_not_written_to(tmp_path, pair):
    for out in (tmp_path / "made", pair[0]):
        out.mkdir(exist_ok=True)
        _refused(pair, out, "exists: name a new folder")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    _refused(pair, tmp_path / "dangling", "exists: name a new folder")


@pytest.mark.parametrize(("make", "problem"), [
    (lambda: Recipe("mean"), "no method 'mean'"), (lambda: Recipe("soup", t=0.5), "soup has no t"),
    (lambda: Recipe("slerp", lam=1.0), "slerp has no lambda"), (lambda: Recipe("ties", weights=(1.0, 0.0)), "each must be above 0"),
    (lambda: Recipe("task", density=0.5), "task has no density"), (lambda: Recipe("slerp", t=1.5), "must be between 0 and 1"),
    (lambda: Recipe("ties", density=0.0), "must be above 0"), (lambda: Recipe("task", lam=float("inf")), "lambda is inf"),
    (lambda: Recipe("soup", weights=(0.5, -0.5)), "none may be negative"), (lambda: Recipe("soup", weights=(0.0, 0.0)), "none may be negative"),
    (lambda: Recipe("task", weights=(1.0, float("nan"))), "each must be finite"),
])
def test_recipes_that_cannot_be(make, problem):
    with pytest.raises(UserError, match=problem):
        make()


def test_recipes_that_do_not_fit_the_parents(tmp_path, pair):
    out = tmp_path / "out"
    _refused(pair[:1], out, "at least two parents")
    _refused([*pair, tmp_path], out, "slerp merges two parents, not 3", Recipe("slerp"))
    _refused(pair, out, "ties needs the --base", Recipe("ties"))
    _refused(pair, out, "soup has no base", base=tmp_path)
    _refused(pair, out, "1 weights for 2 parents", Recipe("soup", weights=(1.0,)))
    _refused(pair, out, "no parent 3 to select among 2", selected=2)
    _refused(pair, out, "holds nothing", shard_size=0)


def test_a_result_that_the_type_cannot_hold(tmp_path):
    base = make_llama(dtype=torch.float16)
    folders = [save(one, tmp_path / str(at)) for at, one in enumerate((base, tuned(base, 1), tuned(base, 2)))]
    rewrite(folders[1], lambda found: found[UP].fill_(60000.0))
    _refused(folders[1:], tmp_path / "out", f"{UP}: the result is too large for F16", Recipe("task", lam=2.0), base=folders[0])


@pytest.mark.parametrize("layout", ["dense", "per_expert", "fused"])
@pytest.mark.parametrize("recipe", [Recipe("soup"), Recipe("slerp"), Recipe("task"), Recipe("ties")], ids=lambda recipe: recipe.method)
def test_what_was_written_wrongly_gets_no_name(tmp_path, monkeypatch, layout, recipe):
    from cowork_gym.trainers.merge import merging
    from cowork_gym.trainers.merge.headers import read_header

    model = make_llama() if layout == "dense" else make_moe()
    parents = [save(tuned(model, at), tmp_path / str(at), save_original_format=layout == "per_expert") for at in range(3)]
    names = {
        "dense": "model.norm.weight", "per_expert": "model.layers.0.mlp.experts.3.up_proj.weight", "fused": "model.layers.0.mlp.experts.gate_up_proj",
    }
    write = merging.write_shard

    def spoil(file, *rest):
        digest, entry = write(file, *rest), read_header(file)[0][names[layout]]
        content = bytearray(file.read_bytes())
        content[entry.start + entry.size - 4] ^= 1  # of the last number the bit that matters least
        file.write_bytes(content)
        return digest

    monkeypatch.setattr(merging, "write_shard", spoil)
    where = {"dense": "", "per_expert": "the up matrix of expert 3: ", "fused": "the up matrix of expert 3: "}[layout]
    match = f"{names[layout]}: {where}what was written is not what the parents give"
    _refused(parents[:2], tmp_path / "out", match, recipe, base=parents[2] if recipe.needs_base else None)


def test_an_interrupted_merge_leaves_nothing(tmp_path, pair):
    def interrupt(line):
        if line.startswith("verifying"):
            raise KeyboardInterrupt

    before = sorted(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        merge(pair, tmp_path / "out", Recipe("soup"), tell=interrupt)
    assert sorted(tmp_path.iterdir()) == before
