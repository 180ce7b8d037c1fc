"""Lengths of many things, counted as they come: how many, their sum, and quantiles."""

from array import array
from collections.abc import Mapping

__all__ = ["Lengths"]

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


class Lengths:
    """Whole numbers, kept at eight bytes each."""

    def __init__(self) -> None:
        self._values = array("q")

    def add(self, value: int) -> None:
        """Count one more."""
        self._values.append(value)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def total(self) -> int:
        """The sum."""
        return sum(self._values)

    @property
    def mean(self) -> float:
        """The mean; 0 of none."""
        return self.total / len(self) if self._values else 0.0

    def summary(self) -> Mapping[str, float]:
        """Sum, mean, the least, the most, and the quantiles `p5` to `p99`: the smallest number that as large a share does not exceed."""
        values = sorted(self._values)
        if not values:
            return {}
        at = {f"p{share * 100:g}": values[max(0, -int(-share * len(values) // 1) - 1)] for share in _QUANTILES}
        return {"sum": self.total, "mean": round(self.mean, 3), "min": values[0], **at, "max": values[-1]}
