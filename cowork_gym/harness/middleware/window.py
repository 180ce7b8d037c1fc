"""The FIFO window: every so many turns, the oldest are dropped at once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cowork_gym.core.errors import UserError
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.middleware.oldest import since, taken
from cowork_gym.harness.middleware.settings import require
from cowork_gym.harness.view import Rewritten

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["Window"]


@dataclass(frozen=True, slots=True)
class Window(Middleware):
    """Before turn t, counted from 0, what is visible begins with turn `stride * max(0, t // stride - size // stride + 1)`.

    So the history grows for `stride` turns and never has more than `size` of them, the one that is asked for included.

    Raises:
        UserError: The size is no multiple of the stride, or so small that the last result would be dropped.
    """

    size: int = 30
    stride: int = 10
    name: ClassVar[str] = "window"

    def __post_init__(self) -> None:
        require(self, {"stride": 1})
        if self.size % self.stride or self.size < 2 * self.stride:
            raise UserError(f"window: size must be a multiple of stride, and not the stride itself: {self.size} is none of {self.stride}")

    def rewrite(self, run: "LiveRun") -> Rewritten | None:
        """The view from the window's first turn on, when it begins anew."""
        first = self.stride * (taken(run) // self.stride - self.size // self.stride + 1)
        return since(run, first) if first > 0 else None
