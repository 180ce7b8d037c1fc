"""Numbers with their nouns, in sentences for people."""

__all__ = ["counted"]


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and what it counts.

    Example:
        >>> counted(1, "task"), counted(2, "reply", "replies")
        ('1 task', '2 replies')
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
