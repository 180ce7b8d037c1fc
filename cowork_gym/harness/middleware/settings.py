"""Settings of middleware: the person who composes a harness is told of those that cannot be."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cowork_gym.core.errors import UserError

if TYPE_CHECKING:
    from cowork_gym.harness.middleware.middleware import Middleware

__all__ = ["require"]


def require(part: "Middleware", least: Mapping[str, float]) -> None:
    """See that settings are no smaller than they can be. Those that are None are not set.

    Args:
        part: Whose settings.
        least: The smallest value of each, by name.

    Raises:
        UserError: One is smaller.
    """
    for field, low in least.items():
        value = getattr(part, field)
        if value is not None and value < low:
            raise UserError(f"{part.name}: {field} must be at least {low}, not {value}")
