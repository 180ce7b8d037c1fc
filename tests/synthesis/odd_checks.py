"""Functions for `python` checks that do what a check may not."""

from itertools import count

from cowork_gym.graders import Evidence

__all__ = ["counts"]

_TIMES = count()


def counts(evidence: Evidence) -> tuple[bool, str]:
    """Holds always, and tells how often it was asked in this process."""
    return True, f"asked {next(_TIMES)} times before"
