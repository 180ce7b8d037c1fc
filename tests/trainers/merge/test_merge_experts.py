"""Mixtures of experts: every layout gives the same merged model, and experts that do not correspond are never merged."""

import pytest
from merge_models import load, logits, make_moe, rewrite, save, swap_halves, tensors, torch, tuned

from cowork_gym.core.errors import PackageError
from cowork_gym.trainers.merge import Matching, Recipe, Thresholds, merge, soup

BANK = "model.layers.0.mlp.experts"
RECIPES = [Recipe("soup"), Recipe("slerp", t=0.3), Recipe("task", lam=0.9), Recipe("ties", density=0.4)]


def _transpose(found):
    """As some families save it: [E, H, 2I] and [E, I, H]."""
    for name, tensor in found.items():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            found[name] = tensor.transpose(1, 2).contiguous()


def _saved(model, folder, layout):
    save(model, folder, save_original_format=layout == "per_expert")
    if layout == "fused_transposed":
        rewrite(folder, _transpose)
    return folder


def _experts(folder):
    """The merged matrices of the first layer in one layout, [E, 2I, H] and [E, H, I]."""
    found = tensors(folder)
    if f"{BANK}.gate_up_proj" in found:
        gate_up, down = found[f"{BANK}.gate_up_proj"], found[f"{BANK}.down_proj"]
        return (gate_up, down) if down.shape[1] == 16 else (gate_up.transpose(1, 2), down.transpose(1, 2))
    of = {role: torch.stack([found[f"{BANK}.{at}.{role}_proj.weight"] for at in range(4)]) for role in ("gate", "up", "down")}
    return torch.cat([of["gate"], of["up"]], dim=1), of["down"]


@pytest.fixture(scope="module")
def lineage():
    base = make_moe()
    return tuned(base, 1), tuned(base, 2), base


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.method)
@pytest.mark.parametrize("layouts", [
    ("per_expert", "fused", "fused"), ("fused", "per_expert", "fused_transposed"), ("fused_transposed", "fused", "per_expert"),
    ("fused", "fused", "fused"), ("per_expert", "per_expert", "per_expert"),
], ids=",".join)
def test_the_layout_makes_no_difference(tmp_path, lineage, layouts, recipe):
    folders = [_saved(model, tmp_path / name, layout) for model, name, layout in zip(lineage, ("a", "b", "base"), layouts, strict=True)]
    plain = [_saved(model, tmp_path / f"plain-{name}", "per_expert") for model, name in zip(lineage, ("a", "b", "base"), strict=True)]
    base = (folders[2], plain[2]) if recipe.needs_base else (None, None)
    merged = merge(folders[:2], tmp_path / "out", recipe, base=base[0])
    expected = merge(plain[:2], tmp_path / "expected", recipe, base=base[1])
    for one, other in zip(_experts(merged.folder), _experts(expected.folder), strict=True):
        assert torch.equal(one, other)
    assert tensors(merged.folder).keys() == tensors(folders[0]).keys()
    assert merged.record["parents"][1]["expert_layouts"] == [layouts[1]]
    assert f"{BANK}.3 down" in merged.record["verification"]["expert_slices"]
    assert merged.record["alignment"]["lowest_matched"] > 0.98 and merged.record["alignment"]["highest_wrong"] < 0.5


def test_a_per_expert_and_a_fused_parent_become_a_model_that_transformers_loads(tmp_path, lineage):
    parents = [_saved(lineage[0], tmp_path / "each", "per_expert"), _saved(lineage[0], tmp_path / "fused", "fused")]
    for selected in (0, 1):
        merged = merge(parents, tmp_path / f"out{selected}", Recipe("soup"), selected=selected)
        assert torch.equal(logits(load(merged.folder)), logits(lineage[0]))
    sharded = save(lineage[0], tmp_path / "sharded", save_original_format=True, max_shard_size="4KB")
    merged = merge([parents[1], sharded], tmp_path / "out", Recipe("soup"), selected=1, shard_size=3000)
    assert torch.equal(logits(load(merged.folder)), logits(lineage[0]))


def test_narrow_experts_are_not_told_by_which_number_is_larger(tmp_path):
    model = make_moe(hidden_size=16, moe_intermediate_size=8)  # 2I = H: a fused tensor is square
    parents = [_saved(model, tmp_path / layout, layout) for layout in ("per_expert", "fused_transposed", "fused")]
    merged = merge(parents, tmp_path / "out", Recipe("soup"), selected=2)
    assert torch.allclose(logits(load(merged.folder)), logits(model), atol=1e-6)
    assert torch.equal(_experts(merged.folder)[0], soup([_experts(parents[0])[0]] * 3))


def test_draft_experts_of_one_parent_are_inherited_as_they_are(tmp_path, lineage):
    parents = [_saved(lineage[0], tmp_path / "a", "fused"), _saved(lineage[1], tmp_path / "b", "per_expert")]
    draft = {f"mtp.layers.0.mlp.experts.0.{role}_proj.weight": torch.randn(4, 4) for role in ("gate", "up", "down")}
    rewrite(parents[1], lambda found: found.update(draft))
    merged = merge(parents, tmp_path / "out", Recipe("soup"))
    assert merged.record["tensors"]["inherited"].keys() == draft.keys()
    assert all(torch.equal(tensors(merged.folder)[name], tensor) for name, tensor in draft.items())


def _swap_experts(found):
    for role in ("gate_up", "down"):
        found[f"{BANK}.{role}_proj"] = found[f"{BANK}.{role}_proj"][[1, 0, 2, 3]].contiguous()


def _spoil_one(found):
    found[f"{BANK}.gate_up_proj"][2, 3:8] *= -1


@pytest.mark.parametrize(("change", "name", "problem"), [
    (swap_halves, "gate_up_proj", r"the gate matrix of expert 0 does not correspond to .*weak: cosine -?0\.\d+, below 0\.9; the up matrix"),
    (_swap_experts, "gate_up_proj", r"the gate matrix of expert 0 .*weak: .*; the gate matrix of expert 1"),
    (_spoil_one, "gate_up_proj", r"the gate matrix of expert 2 .*weak: "),
    (lambda found: found[f"{BANK}.down_proj"].copy_(torch.randn(4, 16, 8)), "down_proj", r"the down matrix of expert 0 .*weak: "),
])
@pytest.mark.parametrize("layout", ["fused", "per_expert"])
def test_experts_that_do_not_correspond_abort_the_merge(tmp_path, lineage, layout, change, name, problem):
    first, other = _saved(lineage[0], tmp_path / "a", layout), _saved(lineage[1], tmp_path / "b", "fused")
    rewrite(other, change)
    with pytest.raises(PackageError, match=problem) as caught:
        merge([first, other], tmp_path / "out", Recipe("soup"))
    assert str(caught.value).startswith(f"{other / 'model.safetensors'}: {BANK}.{name}: ")
    assert not (tmp_path / "out").exists()


def test_experts_that_are_nearly_the_same_are_ambiguous(tmp_path, lineage):
    parents = [_saved(model, tmp_path / name, "per_expert") for model, name in zip(lineage[:2], "ab", strict=True)]

    def level(found):
        for role in ("gate", "up", "down"):
            found[f"{BANK}.1.{role}_proj.weight"] = found[f"{BANK}.0.{role}_proj.weight"].clone()

    for folder in parents:
        rewrite(folder, level)
    with pytest.raises(PackageError, match=r"experts\.0\.gate_proj\.weight: the gate matrix of expert 0 .*ambiguous: cosine .* less than 0\.2 apart"):
        merge(parents, tmp_path / "out", Recipe("soup"))
    merged = merge(parents, tmp_path / "out", Recipe("soup"), thresholds=Thresholds(margin=-2.0))
    assert merged.record["alignment"]["highest_wrong"] > 0.9


@pytest.mark.parametrize(("matched", "wrong", "problem"), [
    (0.95, 0.75, None), (0.9, 0.1, None), (0.89, 0.0, "weak"), (0.95, 0.76, "ambiguous"), (float("nan"), 0.0, "weak"),
    (0.95, float("nan"), "ambiguous"),
])
def test_when_a_correspondence_is_believed(matched, wrong, problem):
    found = Matching(matched, wrong).problem(Thresholds())
    assert (found is None) if problem is None else found.startswith(problem)


def test_experts_are_counted_and_measured_before_they_are_merged(tmp_path, lineage):
    first, other = _saved(lineage[0], tmp_path / "a", "per_expert"), _saved(lineage[1], tmp_path / "b", "fused")

    def cut(found):
        for name in list(found):
            if ".experts." in name:
                found[name] = found[name][:3].contiguous()

    rewrite(other, cut)
    with pytest.raises(PackageError, match="3 experts of F32, and 4 of F32 in"):
        merge([first, other], tmp_path / "out", Recipe("soup"))
    rewrite(other, lambda found: found.update({f"{BANK}.gate_up_proj": torch.zeros(3, 15, 16)}))
    with pytest.raises(PackageError, match=r"gate_up_proj: \[3, 15, 16\] F32 beside .*down_proj with \[3, 16, 8\] F32 is no layout of experts"):
        merge([first, other], tmp_path / "out", Recipe("soup"))


def test_a_lost_expert_is_told(tmp_path, lineage):
    first, other = _saved(lineage[0], tmp_path / "a", "per_expert"), _saved(lineage[1], tmp_path / "b", "per_expert")
    rewrite(other, lambda found: found.pop(f"{BANK}.3.up_proj.weight"))
    with pytest.raises(PackageError, match=r"b: model\.layers\.0\.mlp\.experts\.3\.up_proj\.weight: the tensor is missing, and .*a has it"):
        merge([first, other], tmp_path / "out", Recipe("soup"))
    fused = _saved(lineage[0], tmp_path / "fused", "fused")
    with pytest.raises(PackageError, match=r"the tensor is missing, and .* has it: its experts are in a layout not known here"):
        merge([fused, other], tmp_path / "out", Recipe("soup"))
