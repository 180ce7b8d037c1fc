"""Tiny models with random weights, saved in the layouts that transformers knows, and what tests look at in merged ones."""

import os
from pathlib import Path

import pytest

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

_SIZES = {
    "vocab_size": 64, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
    "head_dim": 8,
}


def make_llama(seed=0, dtype=torch.float32, **changes):
    torch.manual_seed(seed)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**_SIZES | changes)).to(dtype).eval()


def make_moe(seed=0, dtype=torch.float32, **changes):
    torch.manual_seed(seed)
    sizes = _SIZES | {"moe_intermediate_size": 8, "num_experts": 4, "num_experts_per_tok": 2} | changes
    return transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(**sizes)).to(dtype).eval()


def tuned(model, seed, scale=0.002):
    """The same model, as if it had been trained a little."""
    other = type(model)(model.config).to(model.dtype).eval()
    other.load_state_dict(model.state_dict())
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(torch.randn_like(parameter) * scale)
    return other


def save(model, folder, **options):
    model.save_pretrained(folder, **options)
    return Path(folder)


def load(folder):
    """A merged model as transformers loads it, every tensor from its files."""
    model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, dtype="auto")
    assert not info["missing_keys"] and not info["mismatched_keys"], info
    return model.eval()


def logits(model):
    with torch.no_grad():
        return model(torch.arange(24).view(2, 12)).logits


def tensors(folder):
    found = {}
    for file in sorted(Path(folder).glob("*.safetensors")):
        found.update(load_file(file))
    return found


def rewrite(folder, change):
    """Put other tensors in a folder's only file."""
    found = tensors(folder)
    change(found)
    save_file(found, Path(folder) / "model.safetensors", metadata={"format": "pt"})


def swap_halves(found):
    """The up matrices before the gates, under a name that says otherwise."""
    for name, tensor in found.items():
        if name.endswith("gate_up_proj"):
            found[name] = torch.cat(tensor.chunk(2, dim=1)[::-1], dim=1).contiguous()
