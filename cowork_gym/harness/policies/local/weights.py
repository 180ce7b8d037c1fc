"""Models from folders: what transformers and peft load for the local engine, and SmolLM2 as such a folder, made from its wheel."""

import importlib
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from cowork_gym.core.errors import MissingExtra, PackageError
from cowork_gym.harness.policies.local.checkpoint import check_json, check_loaded, check_tensors, find_weights, model_folder, reading
from cowork_gym.harness.policies.smol_server import weights

__all__ = ["DType", "load_model", "load_tokenizer", "smollm2", "smollm2_folder"]

DType: TypeAlias = Literal["float32", "bfloat16", "float16"]

_INSTALL = "pip install 'cowork-gym[train]'"
_START, _END, _PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"


def load_model(
    path: str | Path, *, adapter: str | Path | None = None, merge: bool = False, dtype: DType | None = None, device: str | None = None,
) -> tuple[Any, Any]:
    """A causal language model and its tokenizer. Nothing is fetched from anywhere, and no code of the model's own is run.

    Args:
        path: A folder as `save_pretrained` writes it.
        adapter: A folder with a LoRA adapter, as peft writes it.
        merge: Whether the adapter's weights are added to the model's; otherwise they stay apart and can be trained.
        dtype: By default bfloat16 on an accelerator, float32 elsewhere.
        device: Such as `cuda:1`; by default the accelerator, if there is one.

    Raises:
        UserError: There is no such model or adapter.
        PackageError: One of their files cannot be used, or the weights are not those of the configuration.
        MissingExtra: torch, transformers or peft is not installed.
    """
    _need("torch", "transformers", *(["peft"] if adapter else []))
    import torch

    folder = model_folder(path, "config.json", "a model")
    added = None if adapter is None else model_folder(adapter, "adapter_config.json", "an adapter")
    config, tokenizer = _load_config(folder), load_tokenizer(folder)  # before the weights, which take far longer
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    model: Any = _load_weights(folder, config, getattr(torch, dtype or ("float32" if device == "cpu" else "bfloat16"))).to(device)
    if added is not None:
        model = _load_adapter(model, added)
        model = model.merge_and_unload() if merge else model
    return model.eval(), tokenizer


def load_tokenizer(path: str | Path) -> Any:
    """The tokenizer in a folder, with its chat template.

    Raises:
        UserError: There is none.
        PackageError: One of its files cannot be used.
        MissingExtra: transformers is not installed.
    """
    _need("transformers")
    from transformers import AutoTokenizer

    folder = model_folder(path, "tokenizer_config.json", "a tokenizer")
    check_json(folder / "tokenizer_config.json")
    if (whole := folder / "tokenizer.json").is_file():
        with reading(whole, "the tokenizer cannot be read"):
            importlib.import_module("tokenizers").Tokenizer.from_file(str(whole))
    with reading(folder, "the tokenizer cannot be loaded" + ("" if whole.is_file() else f": it has no {whole.name}")):
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _load_config(folder: Path) -> Any:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig

    file = folder / "config.json"
    check_json(file)
    with reading(file, "no model that transformers knows"):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise PackageError(file, "model_type", f"{config.model_type!r} is no causal language model")
    return config


def _load_weights(folder: Path, config: Any, dtype: Any) -> Any:
    from transformers import AutoModelForCausalLM

    weights, load = find_weights(folder), cast(Any, AutoModelForCausalLM.from_pretrained)
    options = {"local_files_only": True, "trust_remote_code": False, "ignore_mismatched_sizes": True}  # a wrong size is told by us, in one line
    with reading(weights, "the weights cannot be loaded"):
        model, info = load(folder, config=config, dtype=dtype, output_loading_info=True, **options)
    check_loaded(info, weights)
    return model


def _load_adapter(model: Any, folder: Path) -> Any:
    from peft import PeftModel

    check_json(folder / "adapter_config.json")
    weights = folder / "adapter_model.safetensors"
    if weights.is_file():
        check_tensors(weights)
    elif not (weights := folder / "adapter_model.bin").is_file():
        raise PackageError(folder, "", "no weights: it has neither adapter_model.safetensors nor adapter_model.bin")
    with reading(folder, "the adapter cannot be put on the model"):
        return PeftModel.from_pretrained(model, str(folder))


def smollm2(*, dtype: DType | None = None, device: str | None = None) -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct and its tokenizer.

    Raises:
        MissingExtra: The weights, or what reads them, is not installed.
    """
    return load_model(smollm2_folder(), dtype=dtype, device=device)


def smollm2_folder(cache: Path | None = None) -> Path:
    """The folder with SmolLM2-135M-Instruct. The first call makes it, in about half a minute.

    Args:
        cache: Where it is kept; by default the user's cache.

    Raises:
        MissingExtra: The weights, or what reads them, is not installed.
    """
    cache = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cowork_gym"
    folder = cache / "smollm2-135m-instruct"
    if (folder / "config.json").exists():
        return folder
    file = weights()
    _need("torch", "transformers", "gguf")
    cache.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=cache))
    try:
        _convert(file, made)
        made.chmod(0o755)
        made.rename(folder)
    except OSError:
        if not (folder / "config.json").exists():  # else another process was faster
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder


def _convert(file: Path, folder: Path) -> None:
    """Write a GGUF file's model and tokenizer as transformers does."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    source: dict[str, Any] = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name, "local_files_only": True}
    tokenizer: Any = AutoTokenizer.from_pretrained(**source)
    read: Any = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    settings = read.config.to_dict()
    settings.pop("quantization_config", None)  # a model that was read from a quantised file is never saved
    empty: Any = LlamaForCausalLM
    model = empty(LlamaConfig(**settings))
    model.load_state_dict(read.state_dict(), strict=True)
    model.tie_weights()
    # The file's reader takes the start of a turn for its end.
    tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token = _START, _END, _PAD
    tokenizer.clean_up_tokenization_spaces = False
    for one in (model.config, model.generation_config):
        one.bos_token_id, one.eos_token_id, one.pad_token_id = tokenizer.convert_tokens_to_ids([_START, _END, _PAD])
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _need(*libraries: str) -> None:
    for one in libraries:
        if importlib.util.find_spec(one) is None:
            raise MissingExtra(one, _INSTALL)
