"""What stands between a loop and its policy: parts of a harness, each of which does one thing."""

from collections.abc import Mapping

from cowork_gym.harness.middleware.budget import Budget
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.middleware.normalise import Normalise
from cowork_gym.harness.middleware.prune import Prune
from cowork_gym.harness.middleware.retry import Retry
from cowork_gym.harness.middleware.slide import Slide
from cowork_gym.harness.middleware.summary import Summary
from cowork_gym.harness.middleware.trace import Trace
from cowork_gym.harness.middleware.window import Window

__all__ = ["MIDDLEWARE", "Budget", "Middleware", "Normalise", "Prune", "Retry", "Slide", "Summary", "Trace", "Window"]

MIDDLEWARE: Mapping[str, type[Middleware]] = {
    one.name: one for one in (Summary, Window, Slide, Prune, Retry, Budget, Normalise, Trace)
}
"""The middleware by name."""
