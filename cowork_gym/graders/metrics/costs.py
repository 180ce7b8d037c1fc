"""Cost against performance: what tokens cost, one number for each model over several benchmarks, and the Pareto frontier."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Prices", "cost_per_task", "macro_cost", "min_max", "pareto_frontier", "performance", "token_cost"]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """What a provider asks for a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For input that is read from a cache; None where the route has no cache: that input is priced like any other."""

    def __post_init__(self) -> None:
        """Refuse what is no price.

        Raises:
            ValueError: A price is negative or no finite number.
        """
        for name, value in (("input", self.input), ("output", self.output), ("cached", self.cached)):
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"the price of {name} tokens is {value}")


def token_cost(prices: Prices, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
    """What a run costs: each kind of token times its price.

    Args:
        prices: Of one provider, all three from the same one.
        input_tokens: All tokens of the prompts, with those that came from the cache.
        output_tokens: All that were sampled.
        cached_tokens: Those of the input that came from the cache.

    Raises:
        ValueError: A count is negative, or more input was cached than there was.
    """
    if min(input_tokens, output_tokens, cached_tokens) < 0 or cached_tokens > input_tokens:
        raise ValueError(f"{cached_tokens} cached of {input_tokens} input tokens, {output_tokens} output tokens: that cannot be")
    cached = prices.input if prices.cached is None else prices.cached
    return ((input_tokens - cached_tokens) * prices.input + cached_tokens * cached + output_tokens * prices.output) / _MILLION


def min_max(scores: Sequence[Sequence[float]]) -> list[list[float]]:
    """Scores scaled to [0, 1] within each benchmark, over the models that are compared.

    A benchmark on which all are equal gives 0 to each: it tells nothing apart.

    Args:
        scores: [models, benchmarks].

    Raises:
        ValueError: There are none, the rows differ in length, or a score is no finite number.
    """
    _check(scores, "scores")
    bounds = [(min(column), max(column)) for column in zip(*scores, strict=True)]
    return [[(one - low) / (high - low) if high > low else 0.0 for one, (low, high) in zip(row, bounds, strict=True)] for row in scores]


def performance(scores: Sequence[Sequence[float]]) -> list[float]:
    """For each model 100 times the mean of its scaled scores, every benchmark with the same weight.

    Args:
        scores: [models, benchmarks].

    Raises:
        ValueError: As `min_max`.
    """
    return [100 * math.fsum(row) / len(row) for row in min_max(scores)]


def cost_per_task(total: float, tasks: int) -> float:
    """The cost of one task of a benchmark.

    Raises:
        ValueError: There is no task, or the cost is negative or no finite number.
    """
    if tasks < 1 or not 0 <= total < math.inf:
        raise ValueError(f"{total} for {tasks} tasks is no cost")
    return total / tasks


def macro_cost(costs: Sequence[Sequence[float]]) -> list[float]:
    """For each model the mean of its costs per task, every benchmark with the same weight, however many tasks it has.

    Args:
        costs: [models, benchmarks], per task.

    Raises:
        ValueError: There are none, the rows differ in length, or a cost is no finite number.
    """
    _check(costs, "costs")
    return [math.fsum(row) / len(row) for row in costs]


def pareto_frontier(value: Sequence[float], cost: Sequence[float]) -> list[int]:
    """The places of those that nobody dominates, in the order given.

    One dominates another when it costs no more and is worth no less, and one of both strictly. Equal ones do not dominate each other.

    Raises:
        ValueError: The lengths differ, or a number is not finite.
    """
    if len(value) != len(cost):
        raise ValueError(f"{len(value)} values, and {len(cost)} costs")
    if not all(map(math.isfinite, (*value, *cost))):
        raise ValueError("a value or a cost is no finite number")
    points = list(zip(value, cost, strict=True))
    return [at for at, (worth, price) in enumerate(points) if not any(w >= worth and p <= price and (w, p) != (worth, price) for w, p in points)]


def _check(table: Sequence[Sequence[float]], what: str) -> None:
    if not table or not table[0]:
        raise ValueError(f"there are no {what}")
    if len({len(row) for row in table}) > 1:
        raise ValueError(f"the rows of {what} differ in length: {', '.join(str(len(row)) for row in table)}")
    if not all(math.isfinite(one) for row in table for one in row):
        raise ValueError(f"one of the {what} is no finite number")
