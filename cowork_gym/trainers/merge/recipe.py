"""A recipe: the method of a merge with its parameters, checked before anything is read."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from torch import Tensor

from cowork_gym.core.errors import UserError, nearest
from cowork_gym.trainers.merge.formulas import slerp, soup, task_arithmetic, ties

__all__ = ["METHODS", "Method", "Recipe"]

Method: TypeAlias = Literal["soup", "slerp", "task", "ties"]
METHODS: tuple[Method, ...] = get_args(Method)
_TAKES: dict[str, frozenset[str]] = {
    "soup": frozenset({"weights"}), "slerp": frozenset({"t"}), "task": frozenset({"weights", "lam"}),
    "ties": frozenset({"weights", "density", "lam"}),
}
_WORDS = {"lam": "lambda"}
"""What a person calls a parameter, where the name is a keyword."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the parents of a merge become one. A parameter that the method has, and that is None, has its default."""

    method: Method
    weights: tuple[float, ...] | None = None
    """One for each parent: 1 by default. A soup divides by their sum, TIES by that of the entries that agree."""
    t: float | None = None
    """Of SLERP: 0 is the first parent, 1 the second, the default halfway."""
    density: float | None = None
    """Of TIES: the share of each tensor's changes that stays, half by default."""
    lam: float | None = None
    """Of task arithmetic and TIES: a factor on the change, 1 by default."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            UserError: There is no such method, a parameter is not the method's, or out of its range.
        """
        if self.method not in METHODS:
            raise UserError(f"no method {self.method!r}: {nearest(str(self.method), METHODS)}")
        for name in ("weights", "t", "density", "lam"):
            if getattr(self, name) is not None and name not in _TAKES[self.method]:
                raise UserError(f"{self.method} has no {_WORDS.get(name, name)}")
        if self.t is not None and not 0 <= self.t <= 1:
            raise UserError(f"t is {self.t}, and must be between 0 and 1")
        if self.density is not None and not 0 < self.density <= 1:
            raise UserError(f"density is {self.density}, and must be above 0 and at most 1")
        if self.lam is not None and not math.isfinite(self.lam):
            raise UserError(f"lambda is {self.lam}")
        self._check_weights()

    def _check_weights(self) -> None:
        if (weights := self.weights) is None:
            return
        limits: dict[str, tuple[Callable[[float], bool], str]] = {
            "soup": (lambda one: one >= 0, "and none may be negative"), "ties": (lambda one: one > 0, "and each must be above 0"),
        }
        allowed, text = limits.get(self.method, (lambda one: True, "and each must be finite"))
        if not all(math.isfinite(one) and allowed(one) for one in weights) or (self.method == "soup" and not sum(weights)):
            raise UserError(f"the weights are {', '.join(f'{one:g}' for one in weights)}, {text}")

    def check(self, parents: int, base: bool) -> None:
        """See that a number of parents, with or without a base, can be merged so.

        Raises:
            UserError: They cannot.
        """
        if parents < 2:
            raise UserError("name at least two parents")
        if self.method == "slerp" and parents != 2:
            raise UserError(f"slerp merges two parents, not {parents}")
        if base is not self.needs_base:
            raise UserError(f"{self.method} needs the --base that its parents were trained from" if self.needs_base else f"{self.method} has no base")
        if self.weights is not None and len(self.weights) != parents:
            raise UserError(f"there are {len(self.weights)} weights for {parents} parents")

    @property
    def needs_base(self) -> bool:
        """Whether the method works on what the parents changed."""
        return self.method in ("task", "ties")

    @property
    def elementwise(self) -> bool:
        """Whether an entry depends on that entry of the parents alone, so that a tensor may be merged piece by piece."""
        return self.method in ("soup", "task")

    def parameters(self) -> dict[str, Any]:
        """The parameters in force, defaults filled in; None for weights that are all the same."""
        values = {"weights": self.weights and [*self.weights], "t": self._t, "density": self._density, "lam": self._lam}
        return {_WORDS.get(name, name): value for name, value in values.items() if name in _TAKES[self.method]}

    def apply(self, tensors: Iterable[Tensor], owners: Sequence[int], base: Tensor | None) -> Tensor:
        """Merge one tensor.

        Args:
            tensors: Of the parents that have it; read one after the other where the method allows.
            owners: The places of these parents among all.
            base: The base's.

        Raises:
            ValueError: As the formulas.
        """
        weights = None if self.weights is None else [self.weights[at] for at in owners]
        if self.method == "soup":
            return soup(tensors, weights)
        if self.method == "slerp":
            first, second = tensors
            return slerp(first, second, self._t)
        if base is None:
            raise ValueError(f"{self.method} without a base")
        if self.method == "task":
            return task_arithmetic(base, tensors, weights, lam=self._lam)
        return ties(base, [*tensors], self._density, weights, lam=self._lam).merged

    @property
    def _t(self) -> float:
        return 0.5 if self.t is None else self.t

    @property
    def _density(self) -> float:
        return 0.5 if self.density is None else self.density

    @property
    def _lam(self) -> float:
        return 1.0 if self.lam is None else self.lam
