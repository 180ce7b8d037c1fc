"""Work in threads that nobody has to wait for: one may hang in a server that never answers, and the process can end all the same."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias, TypeVar

__all__ = ["work_ahead"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Ended: TypeAlias = tuple[_Result, None] | tuple[None, BaseException]


def work_ahead(items: Iterable[_Item], work: Callable[[_Item], _Result], concurrency: int) -> Iterator[_Result]:
    """What the work on each item gives, as it ends: so many at once, and no more ahead of whoever listens.

    The first exception ends it. When nobody listens any more, threads that are at work are left alone.

    Args:
        items: In the order in which they are begun.
        work: Done in threads.
        concurrency: How many.
    """
    todo, ended = SimpleQueue[tuple[_Item] | None](), SimpleQueue[_Ended[_Result]]()

    def serve() -> None:
        while (given := todo.get()) is not None:
            try:
                ended.put((work(given[0]), None))
            except BaseException as error:  # it is raised where somebody listens
                ended.put((None, error))

    waiting, begun, open_ = iter(items), 0, 0
    try:
        for item in islice(waiting, concurrency):
            Thread(target=serve, name=f"rollout-{begun}", daemon=True).start()
            begun += 1
            todo.put((item,))
            open_ += 1
        while open_:
            result, error = ended.get()
            open_ -= 1
            if error is not None:
                raise error
            for item in islice(waiting, 1):
                todo.put((item,))
                open_ += 1
            yield result  # type: ignore[misc]
    finally:
        for _ in range(begun):
            todo.put(None)
