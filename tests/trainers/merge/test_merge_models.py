"""Real models, merged in folders and loaded by transformers again."""

import json

import pytest
from merge_models import load, logits, make_llama, rewrite, save, tensors, torch, tuned

from cowork_gym.trainers.merge import Recipe, merge, slerp, soup, task_arithmetic, ties


@pytest.fixture
def llamas(tmp_path):
    """Two of one lineage, and what they come from."""
    base = make_llama()
    folders = [save(one, tmp_path / name) for one, name in ((tuned(base, 1), "a"), (tuned(base, 2), "b"), (base, "base"))]
    return folders[0], folders[1], folders[2]


def test_the_soup_of_two_equal_models_is_that_model(tmp_path):
    model = make_llama(dtype=torch.bfloat16)
    parents = [save(model, tmp_path / name) for name in "ab"]
    merged = merge(parents, tmp_path / "out", Recipe("soup"))
    assert torch.equal(logits(load(merged.folder)), logits(load(parents[0])))
    assert {name: count for name, count in merged.counts.items() if name != "tensors"} == {
        "averaged": 21, "identical": 0, "inherited": 0, "expert_slices": 0,
    }


@pytest.mark.parametrize(("recipe", "formula"), [
    (Recipe("soup"), lambda a, b, base: soup([a, b])),
    (Recipe("soup", weights=(1.0, 3.0)), lambda a, b, base: soup([a, b], [1.0, 3.0])),
    (Recipe("slerp", t=0.3), lambda a, b, base: slerp(a, b, 0.3)),
    (Recipe("task", weights=(0.7, -0.2), lam=0.9), lambda a, b, base: task_arithmetic(base, [a, b], [0.7, -0.2], lam=0.9)),
    (Recipe("ties", density=0.3, lam=0.8), lambda a, b, base: ties(base, [a, b], 0.3, lam=0.8).merged),
    (Recipe("ties", weights=(0.6, 0.3)), lambda a, b, base: ties(base, [a, b], 0.5, [0.6, 0.3]).merged),
])
def test_every_tensor_is_what_the_formula_gives(tmp_path, llamas, recipe, formula):
    first, second, base = llamas
    merged = merge([first, second], tmp_path / "out", recipe, base=base if recipe.needs_base else None)
    found, parents = tensors(merged.folder), [tensors(folder) for folder in llamas]
    assert found.keys() == parents[0].keys()
    for name, tensor in found.items():
        assert torch.equal(tensor, formula(*(one[name] for one in parents))), name
    load(merged.folder)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("recipe", [Recipe("soup"), Recipe("soup", weights=(0.1, 0.2)), Recipe("slerp", t=0.4), Recipe("task"), Recipe("ties")])
def test_the_type_of_the_parents_is_kept_and_what_is_written_is_verified_in_it(tmp_path, dtype, recipe):
    base = make_llama(dtype=dtype)
    folders = [save(one, tmp_path / str(at)) for at, one in enumerate((tuned(base, 1, 0.02), tuned(base, 2, 0.02), base))]
    merged = merge(folders[:2], tmp_path / "out", recipe, base=folders[2] if recipe.needs_base else None)
    assert {tensor.dtype for tensor in tensors(merged.folder).values()} == {dtype}
    assert len(merged.record["verification"]["tensors"]) == 21


def test_three_parents_and_zeros_of_either_sign(tmp_path):
    base = make_llama(dtype=torch.bfloat16)
    parents = [save(tuned(base, seed), tmp_path / str(seed)) for seed in (1, 2, 3)]
    for folder in parents:
        rewrite(folder, lambda found: found["model.norm.weight"].fill_(-0.0))
    merged = merge(parents, tmp_path / "out", Recipe("soup"))
    name = "model.layers.0.mlp.up_proj.weight"
    assert torch.equal(tensors(merged.folder)[name], soup(tensors(folder)[name] for folder in parents))
    assert torch.signbit(tensors(merged.folder)["model.norm.weight"]).all()


def test_shards_index_configuration_and_tokenizer_are_the_selected_parents(tmp_path, llamas):
    sharded = save(load(llamas[1]), tmp_path / "sharded", max_shard_size="6KB")
    for folder, text in ((llamas[0], "first"), (sharded, "second")):
        (folder / "chat_template.jinja").write_text(text)
        (folder / "optimizer.pt").write_bytes(b"not for the merged model")
        (folder / "pytorch_model.bin").write_bytes(b"nor this")
        (folder / "additional_chat_templates").mkdir()
        (folder / "additional_chat_templates" / "tools.jinja").write_text(text)
    merged = merge([llamas[0], sharded], tmp_path / "out", Recipe("soup"), selected=1)
    names = {file.name for file in sharded.glob("*.safetensors")}
    assert len(names) > 3
    copied = ("model.safetensors.index.json", "config.json", "generation_config.json", "chat_template.jinja")
    for name in (*copied, "additional_chat_templates/tools.jinja"):
        assert (merged.folder / name).read_bytes() == (sharded / name).read_bytes()
    assert {file.name for file in merged.folder.iterdir()} == names | {*copied, "merge.json", "additional_chat_templates"}
    assert not list(tmp_path.glob(".out*"))
    mean = soup([tensors(llamas[0])["lm_head.weight"], tensors(sharded)["lm_head.weight"]])
    assert torch.equal(load(merged.folder).lm_head.weight, mean)


def test_a_size_of_files_can_be_asked_for(tmp_path, llamas):
    merged = merge(llamas[:2], tmp_path / "out", Recipe("soup"), shard_size=6000)
    files = sorted(merged.folder.glob("*.safetensors"))
    assert files[0].name == f"model-00001-of-{len(files):05}.safetensors"
    index = json.loads((merged.folder / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in tensors(llamas[0]).values())
    assert index["weight_map"].keys() == tensors(llamas[0]).keys()
    assert sorted(merged.record["files"]) == [file.name for file in files]
    assert torch.equal(logits(load(merged.folder)), logits(load(merge(llamas[:2], tmp_path / "one", Recipe("soup"), shard_size=10**9).folder)))
    assert [file.name for file in (tmp_path / "one").glob("model*")] == ["model.safetensors"]


def test_what_only_one_parent_has_is_inherited_and_recorded(tmp_path, llamas):
    head = torch.arange(6.0).view(2, 3)
    rewrite(llamas[1], lambda found: found.update({"mtp.head.weight": head, "model.layers.2.eh_proj.weight": head + 1}))
    merged = merge(llamas[:2], tmp_path / "out", Recipe("soup"))
    found = tensors(merged.folder)
    assert torch.equal(found["mtp.head.weight"], head)
    assert merged.record["tensors"]["inherited"] == {name: str(llamas[1]) for name in ("model.layers.2.eh_proj.weight", "mtp.head.weight")}
    assert len(merged.record["tensors"]["averaged"]) == 21
    with_base = merge(llamas[:2], tmp_path / "ties", Recipe("ties"), base=llamas[2])
    assert torch.equal(tensors(with_base.folder)["mtp.head.weight"], head)


def test_inherited_tensors_come_into_the_last_file_and_its_index(tmp_path, llamas):
    rewrite(llamas[1], lambda found: found.update({"mtp.head.weight": torch.ones(2)}))
    sharded = save(load(llamas[0]), tmp_path / "sharded", max_shard_size="6KB")
    merged = merge([sharded, llamas[1]], tmp_path / "out", Recipe("soup"))
    before, after = (json.loads((folder / "model.safetensors.index.json").read_text()) for folder in (sharded, merged.folder))
    assert after["weight_map"] == before["weight_map"] | {"mtp.head.weight": max(before["weight_map"].values())}
    assert after["metadata"] == {"total_size": before["metadata"]["total_size"] + 8, "total_parameters": before["metadata"]["total_parameters"] + 2}


def test_what_the_base_alone_has_is_left_out_and_recorded(tmp_path, llamas):
    rewrite(llamas[2], lambda found: found.update({"v_head.weight": torch.ones(2)}))
    merged = merge(llamas[:2], tmp_path / "out", Recipe("task"), base=llamas[2])
    assert merged.record["in_base_only"] == ["v_head.weight"]
    assert "v_head.weight" not in tensors(merged.folder)


def test_integers_are_copied_where_they_agree(tmp_path, llamas):
    counts = torch.tensor([[3, 5]], dtype=torch.int64)
    for folder in llamas:
        rewrite(folder, lambda found: found.update({"model.steps": counts, "model.flags": torch.tensor([True, False, True])}))
    merged = merge(llamas[:2], tmp_path / "out", Recipe("task"), base=llamas[2])
    assert torch.equal(tensors(merged.folder)["model.steps"], counts)
    assert set(merged.record["tensors"]["identical"]) == {"model.steps", "model.flags"}
    load(merged.folder)


@pytest.mark.parametrize("stored", [(False, False), (True, False), (False, True), (True, True)])
def test_tied_embeddings_are_merged_once(tmp_path, stored):
    base = make_llama(tie_word_embeddings=True)
    parents = [save(tuned(base, at), tmp_path / str(at)) for at in (1, 2)]
    for folder, head in zip(parents, stored, strict=True):
        if head:
            rewrite(folder, lambda found: found.update({"lm_head.weight": found["model.embed_tokens.weight"].clone()}))
    merged = merge(parents, tmp_path / "out", Recipe("slerp"))
    found = tensors(merged.folder)
    assert ("lm_head.weight" in found) is stored[0]
    assert torch.equal(found.get("lm_head.weight", found["model.embed_tokens.weight"]), found["model.embed_tokens.weight"])
    assert merged.record["tied"] == ({"lm_head.weight": "model.embed_tokens.weight"} if any(stored) else {})
    model = load(merged.folder)
    assert torch.equal(model.lm_head.weight, model.model.embed_tokens.weight)


def test_the_record_says_what_was_done(tmp_path, llamas):
    merged = merge(llamas[:2], tmp_path / "out", Recipe("ties", weights=(0.5, 0.25)), base=llamas[2], selected=1)
    record = json.loads((merged.folder / "merge.json").read_text())
    assert record == merged.record
    assert (record["method"], record["parameters"]) == ("ties", {"weights": [0.5, 0.25], "density": 0.5, "lambda": 1.0})
    assert (record["selected"], record["tokenizers_compared"], record["alignment"]) == (2, False, None)
    assert [one["folder"] for one in (*record["parents"], record["base"])] == [str(folder) for folder in llamas]
    assert len({one["fingerprint"] for one in (*record["parents"], record["base"])}) == 3
    assert set(record["parents"][0]["files"]) == {"config.json", "model.safetensors"}
    again = merge(llamas[:2], tmp_path / "again", Recipe("ties", weights=(0.5, 0.25)), base=llamas[2], selected=1)
    assert again.record == record
