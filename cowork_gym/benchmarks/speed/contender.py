"""What is measured: one interface, so that every contender does the same work."""

from typing import Protocol

__all__ = ["Contender"]


class Contender(Protocol):
    """A way to keep the state of an episode. Each method is one item of the table."""

    name: str

    def reset(self) -> None:
        """Begin an episode, with the state ready to be called."""

    def read(self) -> object:
        """One reading call."""

    def write(self) -> object:
        """One writing call."""

    def fork(self) -> "Contender":
        """A second episode that goes on from here. What both share need not be copied yet."""

    def fork_and_read(self) -> object:
        """A fork, and its first reading call."""

    def fingerprint(self) -> str:
        """The hash of the whole state."""

    def diff(self) -> object:
        """Every row that differs from the start, before and after."""

    def episode(self) -> object:
        """Reset, ten calls, the answer, and the sealed record with fingerprint and diff."""
