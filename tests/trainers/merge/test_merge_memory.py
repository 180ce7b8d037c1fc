"""A merge of models that are far larger than the memory it may take."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from merge_models import torch

from cowork_gym.trainers.merge import Recipe, merge

SHARDS, EXPERTS, MEGABYTE = 8, 8, 1 << 20

MEASURED = """
import json, re, sys
from pathlib import Path
import torch
from cowork_gym.trainers.merge import Recipe, merge
torch.set_num_threads(1)

def run(room):
    merge([room / "a", room / "b"], room / sys.argv[1], Recipe(sys.argv[1]), base=room / "base" if sys.argv[1] == "ties" else None)

def kilobytes(name):
    return int(re.search(rf"{name}:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

run(Path(sys.argv[2]))  # small: all code is loaded
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
before = kilobytes("VmRSS")
run(Path(sys.argv[3]))
print(json.dumps((kilobytes("VmHWM") - before) // 1024))
"""


def _write(folder, seed, fused, hidden):
    """8 files in bfloat16 of 12 MB where hidden is 1024: dense tensors, or the experts of a layer."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"architectures": ["Any"], "model_type": "any"}')
    places, inner = {}, hidden // 4
    for shard in range(SHARDS):
        lineage, own = (torch.Generator().manual_seed(one) for one in (shard, 100 * seed + shard))

        def make(*shape, lineage=lineage, own=own):
            return (torch.randn(*shape, generator=lineage) + 0.1 * torch.randn(*shape, generator=own)).bfloat16()

        prefix = f"model.layers.{shard}.mlp.experts"
        if shard % 2 == 0:
            found = {f"model.layers.{shard}.{name}.weight": make(hidden // 2, hidden) for name in "abcdefghijkl"}
        elif fused:
            found = {f"{prefix}.gate_up_proj": make(EXPERTS, 2 * inner, hidden), f"{prefix}.down_proj": make(EXPERTS, hidden, inner)}
        else:
            gate_up, down = make(EXPERTS, 2 * inner, hidden), make(EXPERTS, hidden, inner)
            found = {
                f"{prefix}.{at}.{role}_proj.weight": matrix.contiguous()
                for at in range(EXPERTS) for role, matrix in zip(("gate", "up", "down"), (*gate_up[at].chunk(2), down[at]), strict=True)
            }
        file = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
        save_file(found, folder / file)
        places |= dict.fromkeys(found, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    made = {}
    for size, hidden in (("small", 32), ("large", 1024)):
        made[size] = tmp_path_factory.mktemp(size)
        for seed, (name, fused) in enumerate({"a": True, "b": False, "base": True}.items(), 1):
            _write(made[size] / name, seed, fused, hidden)
    return made


@pytest.mark.parametrize(("method", "sources"), [("soup", 2), pytest.param("ties", 3, marks=pytest.mark.slow)])
def test_the_peak_is_a_file_and_the_parents_parts_of_it(rooms, method, sources):
    command = [sys.executable, "-c", MEASURED, method, str(rooms["small"]), str(rooms["large"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    sizes = [file.stat().st_size // MEGABYTE for file in (rooms["large"] / method).glob("*.safetensors")]
    assert json.loads(done.stdout) < (sources + 1) * max(sizes) < sum(sizes)


def test_a_merge_is_the_same_in_any_process(rooms):
    command = [sys.executable, "-c", MEASURED.partition('Path("/proc/self/clear')[0], "slerp", str(rooms["small"])]
    subprocess.run(command, check=True, timeout=100)
    merged = merge([rooms["small"] / "a", rooms["small"] / "b"], Path(rooms["small"]) / "here", Recipe("slerp"))
    assert merged.record == json.loads((rooms["small"] / "slerp" / "merge.json").read_text())
