"""The numbers of a merge, tensor by tensor: parts are read, merged and handed on, and no more of the parents is in memory than a part."""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from cowork_gym.core.errors import PackageError
from cowork_gym.trainers.merge.layouts import Key, read_piece
from cowork_gym.trainers.merge.plan import Action, Models, Output, Plan
from cowork_gym.trainers.merge.recipe import Recipe

__all__ = ["compute"]


def compute(output: Output, models: Models, plan: Plan, recipe: Recipe) -> Iterator[Tensor]:
    """The parts of a tensor of the merged model, one after the other as they are to lie in the file.

    Raises:
        PackageError: A parent cannot be read, integers differ, or the result is no finite number in the parents' type.
    """
    match output.action:
        case Action.INHERITED:
            first = models.parents[output.owners[0]]
            for part in first.chunks(output.source):
                yield first.read(output.source, *part)
        case Action.IDENTICAL:
            yield from _identical(output, models)
        case Action.AVERAGED:
            yield from _averaged(output, models, recipe)
        case Action.EXPERTS:
            yield from _experts(output, models, plan, recipe)


def _identical(output: Output, models: Models) -> Iterator[Tensor]:
    first, *others = (models.parents[at] for at in output.owners)
    for start, count in first.chunks(output.source):
        part = first.read(output.source, start, count)
        for other in others:
            unequal = (other.read(output.source, start, count) != part).nonzero().flatten()
            if unequal.numel():
                text = f"entry {start + int(unequal[0])} differs from {first.folder}: {output.dtype} tensors must be the same in all parents"
                raise PackageError(other.entries[output.source].file, output.source, text)
        yield part


def _averaged(output: Output, models: Models, recipe: Recipe) -> Iterator[Tensor]:
    name, first = output.source, models.parents[output.owners[0]]
    parts = first.chunks(name) if recipe.elementwise else iter([(0, first.entries[name].count)])
    for part in parts:
        base = None if models.base is None else models.base.read(name, *part)
        yield _merged((models.parents[at].read(name, *part) for at in output.owners), base, output, recipe)


def _experts(output: Output, models: Models, plan: Plan, recipe: Recipe) -> Iterator[Tensor]:
    """In the selected parent's layout, or, where it has none of these experts, in that of the first that has."""

    def merged(key: Key) -> Tensor:
        pieces = [read_piece(models.all[at], plan.banks[at][output.source].pieces[key]) for at in places]
        base = pieces.pop() if models.base is not None else None
        return _merged(pieces, base, output, recipe)

    places = (*output.owners, *([] if models.base is None else [len(models.parents)]))
    bank = plan.banks[models.selected if models.selected in output.owners else output.owners[0]][output.source]
    for keys in bank.blocks(output.name):
        matrices = [merged(key) for key in keys]
        if bank.pieces[keys[0]].transposed:
            yield torch.cat([matrix.T for matrix in matrices], dim=1).flatten()
        else:
            yield from (matrix.flatten() for matrix in matrices)


def _merged(tensors: Iterable[Tensor], base: Tensor | None, output: Output, recipe: Recipe) -> Tensor:
    try:
        found = recipe.apply(tensors, output.owners, base)
    except ValueError as error:
        raise PackageError("the merged model", output.name, str(error)) from None
    if not bool(torch.isfinite(found).all()):
        raise PackageError("the merged model", output.name, f"the result is too large for {output.dtype}")
    return found
