"""Budgets of a harness, beside those of the task: what one run may use before it is ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cowork_gym.core.episode import Ending
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.middleware.settings import require
from cowork_gym.harness.policies.policy import Policy

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["Budget"]

_PRICED = 1_000_000
"""Tokens that a price is for."""


@dataclass(frozen=True, slots=True)
class Budget(Middleware):
    """Ends a run before the action for which something is spent. What is None is not limited.

    Turns and calls are the run's own; tokens and cost are those of its children as well; seconds are the episode's. A policy that counts no
    tokens spends none.

    Raises:
        UserError: A limit is no positive number, or a price negative.
    """

    turns: int | None = None
    calls: int | None = None
    tokens: int | None = None
    """Sampled ones, summaries and plans included."""
    prompt_tokens: int | None = None
    """Those of each prompt anew, cached or not."""
    seconds: float | None = None
    cost: float | None = None
    input_price: float = 0.0
    """For a million tokens of prompts."""
    output_price: float = 0.0
    """For a million sampled tokens."""
    name: ClassVar[str] = "budget"

    def __post_init__(self) -> None:
        require(self, {"turns": 1, "calls": 1, "tokens": 1, "prompt_tokens": 1, "seconds": 0, "cost": 0, "input_price": 0, "output_price": 0})

    def lacks(self, policy: Policy, tools: Sequence[str]) -> str | None:
        """Prices, for a limit of the cost."""
        return "prices of tokens for its limit of the cost" if self.cost is not None and not (self.input_price or self.output_price) else None

    def stop(self, run: "LiveRun") -> Ending | None:
        """The first limit that is reached."""
        prompted, sampled = _tokens(run)
        spent = (
            (Ending.TURNS, self.turns, run.spent.turns), (Ending.CALLS, self.calls, run.spent.calls), (Ending.TOKENS, self.tokens, sampled),
            (Ending.TOKENS, self.prompt_tokens, prompted), (Ending.SECONDS, self.seconds, run.session.seconds),
            (Ending.COST, self.cost, (prompted * self.input_price + sampled * self.output_price) / _PRICED),
        )
        return next((ending for ending, limit, used in spent if limit is not None and used >= limit), None)


def _tokens(run: "LiveRun") -> tuple[int, int]:
    """Tokens of prompts and sampled tokens, of a run and all its children."""
    family = {run.number}
    for one in run.crew:  # parents stand before their children
        if one.asker is not None and one.asker.run in family:
            family.add(one.number)
    spent = [one.spent for one in run.crew if one.number in family]
    return sum(one.prompt_tokens for one in spent), sum(one.completion_tokens for one in spent)
