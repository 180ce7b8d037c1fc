"""Faker, asked one thing at a time: the same number gives the same answer in every process. It is imported when it is first asked."""

from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faker import Faker

__all__ = ["CHINESE", "ENGLISH", "fake"]

ENGLISH, CHINESE = "en_US", "zh_CN"
_LOCK = Lock()


@lru_cache
def _faker(locale: str) -> "Faker":
    from faker import Faker

    return Faker(locale)


def fake(locale: str, what: str, number: int, *arguments: Any) -> str:
    """What Faker says.

    Args:
        locale: `ENGLISH` or `CHINESE`.
        what: The provider's method, such as `last_name`.
        number: What it draws by.
        arguments: Of the method.
    """
    with _LOCK:  # its generator is one object, and worlds may be made in several threads
        faker = _faker(locale)
        faker.seed_instance(number)
        return str(getattr(faker, what)(*arguments))
