"""How a conformance suite objects: with an `AssertionError` that says what was promised and what came."""

__all__ = ["demand"]


def demand(holds: bool, otherwise: str) -> None:
    """Object unless something holds.

    Raises:
        AssertionError: It does not hold.
    """
    if not holds:
        raise AssertionError(otherwise)
