"""The sliding window: the last few turns and no others, so that every turn is a rewrite once they are reached."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.middleware.oldest import since, taken
from cowork_gym.harness.middleware.settings import require
from cowork_gym.harness.view import Rewritten

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["Slide"]


@dataclass(frozen=True, slots=True)
class Slide(Middleware):
    """Shows the last `size` turns.

    Raises:
        UserError: The size is no number of turns.
    """

    size: int = 10
    name: ClassVar[str] = "slide"

    def __post_init__(self) -> None:
        require(self, {"size": 1})

    def rewrite(self, run: "LiveRun") -> Rewritten | None:
        """The view without what is older."""
        return since(run, taken(run) - self.size)
