"""Tied embeddings: an output head that is the input embedding, and that some checkpoints save and others do not."""

from collections.abc import Sequence

from cowork_gym.core.errors import PackageError
from cowork_gym.trainers.merge.checkpoint import Checkpoint

__all__ = ["find_tied"]

_HEADS = frozenset({"lm_head.weight", "language_model.lm_head.weight", "model.lm_head.weight", "embed_out.weight"})
_EMBEDDINGS = ("embed_tokens.weight", "wte.weight", "embed_in.weight", "word_embeddings.weight")


def find_tied(checkpoints: Sequence[Checkpoint]) -> dict[str, str]:
    """The output heads that are to be merged as the embeddings they are, each with its embedding.

    They are tied where the configurations say so, or where one checkpoint saves the head and another leaves it out.

    Raises:
        PackageError: A head is not its embedding although another checkpoint, or the configuration, says that it is; or it is missing.
    """
    tied: dict[str, str] = {}
    heads = {name for one in checkpoints for name in one.entries if name in _HEADS}
    for head in sorted(heads):
        having = [one for one in checkpoints if head in one.entries]
        said = [one.setting("tie_word_embeddings") for one in checkpoints]
        if len(having) == len(checkpoints) and True not in said:
            continue
        lacking = next((one for one in checkpoints if head not in one.entries), None)
        embedding = _embedding(having[0], head)
        if lacking is not None and (False in said or embedding is None):
            raise PackageError(lacking.folder, head, f"the tensor is missing, and {having[0].folder} has it; the embeddings are not tied")
        if embedding is None:
            continue
        for one in having:
            _check_tied(one, head, embedding)
        tied[head] = embedding
    return tied


def _embedding(checkpoint: Checkpoint, head: str) -> str | None:
    """The only embedding of the head's shape; None where there is none, or several."""
    shape = checkpoint.entries[head].shape
    found = [name for name, entry in checkpoint.entries.items() if name.endswith(_EMBEDDINGS) and entry.shape == shape]
    return found[0] if len(found) == 1 else None


def _check_tied(checkpoint: Checkpoint, head: str, embedding: str) -> None:
    entry, other = checkpoint.entries[head], checkpoint.entries.get(embedding)
    same = other is not None and (other.dtype, other.shape) == (entry.dtype, entry.shape) and all(
        bool((checkpoint.read(head, *part) == checkpoint.read(embedding, *part)).all()) for part in checkpoint.chunks(head)
    )
    if not same:
        raise PackageError(entry.file, head, f"it is not {embedding}, and the embeddings are tied by the configuration or in the other checkpoints")
