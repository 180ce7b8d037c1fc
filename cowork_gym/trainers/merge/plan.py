"""The plan of a merge: what becomes of every tensor, decided from names, types and shapes before any number is read."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cowork_gym.core.errors import PackageError
from cowork_gym.trainers.merge.checkpoint import Checkpoint
from cowork_gym.trainers.merge.headers import FLOATS, Entry
from cowork_gym.trainers.merge.layouts import Bank, find_banks
from cowork_gym.trainers.merge.tied import find_tied

__all__ = ["Action", "Models", "Names", "Output", "Plan", "make_plan", "sort_names"]

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_LAYER = re.compile(r"\.(?:layers|h|blocks|block)\.(\d+)\.")
_EXPERTS = ".experts."


class Action(StrEnum):
    """What becomes of a tensor."""

    AVERAGED = "averaged"
    """Merged by the recipe."""
    EXPERTS = "experts"
    """Merged by the recipe, matrix by matrix, whatever the layouts."""
    IDENTICAL = "identical"
    """Integers and truth values: the same in all parents, and never averaged."""
    INHERITED = "inherited"
    """In one parent only: taken over as it is."""


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor of the merged model."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    action: Action
    source: str
    """What the parents call it; of experts, the prefix of the bank."""
    owners: tuple[int, ...]
    """The places of the parents that have it."""


class Names(NamedTuple):
    """Names sorted by who has them, those of the selected parent first."""

    averaged: list[str]
    inherited: dict[str, int]
    """In one parent only, with its place."""
    missing: list[str]
    """In the base only: no parent has them, and the merged model does not either."""


class Models(NamedTuple):
    """The checkpoints of a merge."""

    parents: tuple[Checkpoint, ...]
    selected: int
    """The place of the one whose layout, index, configuration and tokenizer are kept."""
    base: Checkpoint | None = None

    @property
    def kept(self) -> Checkpoint:
        """The selected parent."""
        return self.parents[self.selected]

    @property
    def all(self) -> tuple[Checkpoint, ...]:
        """The parents, then the base where there is one."""
        return self.parents if self.base is None else (*self.parents, self.base)


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of every tensor."""

    outputs: Mapping[str, Output]
    """By name, in the selected parent's order; what only others have comes last."""
    banks: tuple[Mapping[str, Bank], ...]
    """The experts that are merged matrix by matrix, of each of `Models.all`, by prefix."""
    tied: Mapping[str, str]
    """Output heads that are their embedding, merged once."""
    missing: tuple[str, ...]
    """Tensors that the base alone has."""

    def of(self, action: Action) -> list[Output]:
        """The tensors with which this is done."""
        return [one for one in self.outputs.values() if one.action is action]


def sort_names(parents: Sequence[Collection[str]], selected: int, base: Collection[str] = ()) -> Names:
    """Sort the names of tensors: those of several parents are averaged, those of a single one inherited from it.

    Args:
        parents: The names that each parent has.
        selected: The place of the parent whose order comes first.
        base: The names that the base has.
    """
    order = [parents[selected], *parents]
    names = dict.fromkeys(name for one in order for name in one)
    owners = {name: [at for at, one in enumerate(parents) if name in one] for name in names}
    inherited = {name: having[0] for name, having in owners.items() if len(having) == 1}
    return Names([name for name in names if name not in inherited], inherited, sorted({*base} - names.keys()))


def make_plan(models: Models) -> Plan:
    """Decide what becomes of every tensor.

    Raises:
        PackageError: Tensors of one name differ in shape or type, a tensor is missing from a parent, or little is in common.
    """
    tied = find_tied(models.all)
    banks = _common_banks(models)
    apart = [{name for bank in mine.values() for name in bank.tensors} | tied.keys() for mine in banks]
    plain = [[name for name in one.entries if name not in gone] for one, gone in zip(models.all, apart, strict=True)]
    parents, base = plain[: len(models.parents)], plain[len(models.parents):]
    names = sort_names([dict.fromkeys(one) for one in parents], models.selected, base[0] if base else ())
    _check_one_sided(models, (*names.averaged, *names.inherited))
    outputs = {name: _averaged(models, name) for name in names.averaged}
    for name, at in names.inherited.items():
        entry = models.parents[at].entries[name]
        outputs[name] = Output(name, entry.dtype, entry.shape, Action.INHERITED, name, (at,))
    for prefix in dict.fromkeys(prefix for mine in banks for prefix in mine):
        outputs.update(_experts(models, banks, prefix))
    for head, embedding in tied.items():
        if head in models.kept.entries:
            entry, like = models.kept.entries[head], outputs[embedding]
            outputs[head] = Output(head, entry.dtype, entry.shape, like.action, embedding, like.owners)
    _check_common(models, outputs)
    order = {name: at for at, name in enumerate(models.kept.entries)}
    ordered = sorted(outputs.values(), key=lambda one: order.get(one.name, len(order)))
    return Plan({one.name: one for one in ordered}, banks, tied, tuple(names.missing))


def _common_banks(models: Models) -> tuple[dict[str, Bank], ...]:
    """The banks that two parents or more have, and that every checkpoint with tensors under the same prefix has as well."""
    found = [find_banks(one) for one in models.all]
    kept = set()
    for prefix in {prefix for banks in found for prefix in banks}:
        having = [at for at, one in enumerate(models.all) if any(name.startswith(f"{prefix}.") for name in one.entries)]
        if sum(at < len(models.parents) for at in having) > 1 and all(prefix in found[at] for at in having):
            kept.add(prefix)
    return tuple({prefix: bank for prefix, bank in banks.items() if prefix in kept} for banks in found)


def _averaged(models: Models, name: str) -> Output:
    owners = tuple(at for at, one in enumerate(models.parents) if name in one.entries)
    first = models.parents[owners[0]].entries[name]
    for at in owners[1:]:
        _check_same(first, models.parents[at].entries[name])
    if models.base is not None:
        if name not in models.base.entries:
            raise PackageError(models.base.folder, name, "the base has no such tensor, and several parents have it")
        _check_same(first, models.base.entries[name])
    return Output(name, first.dtype, first.shape, Action.AVERAGED if first.dtype in FLOATS else Action.IDENTICAL, name, owners)


def _experts(models: Models, banks: Sequence[Mapping[str, Bank]], prefix: str) -> dict[str, Output]:
    owners = tuple(at for at in range(len(models.parents)) if prefix in banks[at])
    at = models.selected if models.selected in owners else owners[0]
    first, kept = banks[at][prefix], models.parents[at]
    others = [*owners, *([len(models.parents)] if models.base is not None else [])]
    for other in others:
        file = models.all[other]
        if prefix not in banks[other]:
            raise PackageError(file.folder, first.tensors[0], "the base has no such experts, and several parents have them")
        theirs = banks[other][prefix]
        entry = file.entries[theirs.tensors[0]]
        if theirs.experts != first.experts or theirs.dtype != first.dtype:
            found, wanted = f"{theirs.experts} experts of {theirs.dtype}", f"{first.experts} of {first.dtype}"
            raise PackageError(entry.file, entry.name, f"{found}, and {wanted} in {kept.folder}")
        for key, piece in first.pieces.items():
            if theirs.pieces[key].shape != piece.shape:
                found, wanted = f"{[*theirs.pieces[key].shape]}", f"{[*piece.shape]}"
                entry = file.entries[theirs.pieces[key].tensor]
                raise PackageError(entry.file, entry.name, f"the {key[1]} matrix of expert {key[0]} is {found}, and {wanted} in {kept.folder}")
    entries = (kept.entries[name] for name in first.tensors)
    return {entry.name: Output(entry.name, entry.dtype, entry.shape, Action.EXPERTS, prefix, owners) for entry in entries}


def _check_same(first: Entry, other: Entry) -> None:
    if first.shape != other.shape:
        raise PackageError(other.file, other.name, f"the shape is {[*other.shape]}, and {[*first.shape]} in {first.file}")
    if first.dtype != other.dtype:
        raise PackageError(other.file, other.name, f"the type is {other.dtype}, and {first.dtype} in {first.file}")


def _check_one_sided(models: Models, names: Iterable[str]) -> None:
    """Tell what only some parents are meant to have, such as a draft head, from what one has lost: a layer's tensor, some of its experts."""
    patterns = [{_pattern(name) for name in one.entries} for one in models.parents]
    mixtures = [{name.partition(_EXPERTS)[0] for name in one.entries if _EXPERTS in name} for one in models.parents]
    for name in names:
        having = next(one for one in models.parents if name in one.entries)
        for at, one in enumerate(models.parents):
            if name in one.entries:
                continue
            if _pattern(name) in patterns[at] and not _beyond(name, models.kept.setting("num_hidden_layers")):
                raise PackageError(one.folder, name, f"the tensor is missing, and {having.folder} has it")
            if _EXPERTS in name and name.partition(_EXPERTS)[0] in mixtures[at]:
                raise PackageError(one.folder, name, f"the tensor is missing, and {having.folder} has it: its experts are in a layout not known here")


def _pattern(name: str) -> str:
    """A name without the numbers of layers and experts. One that has no number is its own pattern."""
    return _NUMBER.sub("#", name)


def _beyond(name: str, layers: object) -> bool:
    """Whether a tensor belongs to a layer behind the model's last one, where some families keep their draft head."""
    return isinstance(layers, int) and any(int(number) >= layers for number in _LAYER.findall(name))


def _check_common(models: Models, outputs: Mapping[str, Output]) -> None:
    """Refuse checkpoints of which less than half is merged: their names belong to different models."""
    kept = [one for one in outputs.values() if one.name in models.kept.entries]
    total, common = (sum(models.kept.entries[one.name].count for one in chosen) for chosen in (
        kept, [one for one in kept if one.action is not Action.INHERITED],
    ))
    if 2 * common < total or not common:
        lone = next(one for one in kept if one.action is Action.INHERITED)
        other = next(one for at, one in enumerate(models.parents) if at != models.selected)
        text = f"no such tensor: {common} of the {total} parameters of {models.kept.folder} have a counterpart, too few"
        raise PackageError(other.folder, lone.name, text)
