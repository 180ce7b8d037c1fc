"""Models from folders: what transformers and peft load for the local engine, and SmolLM2 as such a folder, made from its wheel."""

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cowork_gym.core.errors import MissingExtra, UserError
from cowork_gym.harness.policies.smol_server import weights

__all__ = ["DType", "load_model", "load_tokenizer", "smollm2", "smollm2_folder"]

DType: TypeAlias = Literal["float32", "bfloat16", "float16"]

_INSTALL = "pip install 'cowork-gym[train]'"
_START, _END, _PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"


def load_model(
    path: str | Path, *, adapter: str | Path | None = None, merge: bool = False, dtype: DType | None = None, device: str | None = None,
) -> tuple[Any, Any]:
    """A causal language model and its tokenizer. Nothing is fetched from anywhere.

    Args:
        path: A folder as `save_pretrained` writes it.
        adapter: A folder with a LoRA adapter, as peft writes it.
        merge: Whether the adapter's weights are added to the model's; otherwise they stay apart and can be trained.
        dtype: By default bfloat16 on an accelerator, float32 elsewhere.
        device: Such as `cuda:1`; by default the accelerator, if there is one.

    Raises:
        UserError: There is no such model or adapter.
        MissingExtra: torch, transformers or peft is not installed.
    """
    _need("torch", "transformers", *(["peft"] if adapter else []))
    import torch
    from transformers import AutoModelForCausalLM

    folder = _folder(path, "config.json", "a model")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    kind = getattr(torch, dtype or ("float32" if device == "cpu" else "bfloat16"))
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=kind, local_files_only=True)
    model = model.to(device)
    if adapter is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, str(_folder(adapter, "adapter_config.json", "an adapter")))
        model = model.merge_and_unload() if merge else model
    return model.eval(), load_tokenizer(folder)


def load_tokenizer(path: str | Path) -> Any:
    """The tokenizer in a folder, with its chat template.

    Raises:
        UserError: There is none.
        MissingExtra: transformers is not installed.
    """
    _need("transformers")
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(_folder(path, "tokenizer_config.json", "a tokenizer"), local_files_only=True)


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


def _folder(path: str | Path, file: str, what: str) -> Path:
    folder = Path(path).expanduser()
    if not (folder / file).is_file():
        raise UserError(f"{folder} is no folder with {what}: it has no {file}")
    return folder


def _need(*libraries: str) -> None:
    for one in libraries:
        if importlib.util.find_spec(one) is None:
            raise MissingExtra(one, _INSTALL)
