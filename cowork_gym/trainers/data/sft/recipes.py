"""Recipes: what is asked of a record before it becomes data, and what is done to it then. Three follow papers, as far as these say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cowork_gym.core.errors import UserError
from cowork_gym.core.grade import PASS
from cowork_gym.trainers.data.sft.converter import Limits
from cowork_gym.trainers.data.sft.dialogues import Shape
from cowork_gym.trainers.data.sft.findings import Examine, examine_record
from cowork_gym.trainers.data.sft.selection import REWARDS, Rewards, Thresholds

__all__ = ["POOLS", "RECIPES", "PoolPlan", "Recipe"]

POOLS = ("capability", "category", "task")


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """How pools are sampled.

    Raises:
        UserError: There is no such kind of pool, or `each` is less than 1.
    """

    by: Literal["capability", "category", "task"] = "capability"
    each: int | None = None
    """Episodes of each pool; None takes as many as the smallest pool has."""

    def __post_init__(self) -> None:
        if self.by not in POOLS:
            raise UserError(f"pools are made by {', '.join(POOLS)}, not by {self.by!r:.40}")
        if self.each is not None and self.each < 1:
            raise UserError(f"at least one of each pool is to be drawn, not {self.each}")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What becomes data, and how. The default takes episodes that passed, whole or segment by segment."""

    name: str = "plain"
    copies: Literal["attempt", "trial"] = "attempt"
    """Which records are copies of one another: `trial`, those of a task with the same trial id, as published; `attempt`, only if the release and
    the policy are the same, too. The same seal always is a copy."""
    rewards: Rewards = field(default_factory=lambda: Rewards(PASS))
    thresholds: Thresholds | None = None
    """For labels by mean completion; None labels nothing and sets nothing aside."""
    best: Literal["none", "dialogue", "all"] = "none"
    """Of which tasks the highest-scoring trial counts alone; `dialogue` are those of that category."""
    min_turns: int = 0
    valid_calls: bool = False
    """Whether an episode with an invalid action or a refused call is left out as a whole."""
    use: str = "training"
    """What the tasks must be authorised for, where releases are given."""
    shape: Shape = field(default_factory=Shape)
    examine: Examine | None = None
    """Finds what sanitisation mends or discards; None sanitises nothing."""
    limits: Limits | None = None
    """The structural limits of the converter; None has none and cuts nothing."""
    pools: PoolPlan | None = None
    distinct: bool = False
    """Whether of rows with equal messages and tools only the first stays."""

    def settings(self) -> Mapping[str, Any]:
        """All of it as plain JSON values, for a manifest."""
        limits, quality, thresholds, pools = self.limits, self.shape.quality, self.thresholds, self.pools
        return {
            "recipe": self.name, "copies": self.copies, "rewards": {"default": self.rewards.default, **dict(self.rewards.by_category)},
            "thresholds": thresholds and {"unsolvable": thresholds.unsolvable, "trivial": thresholds.trivial, "origin": "ours, not the paper's"},
            "best": self.best, "min_turns": self.min_turns, "valid_calls": self.valid_calls, "use": self.use, "unit": self.shape.unit,
            "children": self.shape.children, "audited": self.shape.audited, "tools": self.shape.tools, "prefixes": [*self.shape.prefixes],
            "not_learned": [name for name in ("invalid", "refused", "cut_off") if getattr(quality, name)]
            + (["appraised"] if quality.appraise else []),
            "sanitise": None if self.examine is None else getattr(self.examine, "__name__", "custom"),
            "limits": limits and {
                "messages": limits.messages, "tool_calls": limits.tool_calls, "observation": limits.observation, "characters": limits.characters,
                "system": limits.system, "serialised": "json.dumps(..., ensure_ascii=False)",
            },
            "pools": pools and {"by": pools.by, "each": pools.each}, "distinct": self.distinct,
        }


RECIPES: Mapping[str, Recipe] = {
    "plain": Recipe(),
    "coworkenv": Recipe(
        "coworkenv", copies="trial", thresholds=Thresholds(), best="dialogue", limits=Limits(), shape=Shape(unit="run", children=False),
        rewards=Rewards(REWARDS["mixed"], tuple((name, value) for name, value in REWARDS.items() if name != "mixed")),
    ),
    "navalia": Recipe("navalia", min_turns=2, valid_calls=True, pools=PoolPlan(), shape=Shape(unit="run")),
    "occamy": Recipe("occamy", examine=examine_record, distinct=True),
}
"""By name. `navalia`: its least number of turns and its pools are ours, windows are cut later. `occamy`: a passed episode is a correct outcome."""
