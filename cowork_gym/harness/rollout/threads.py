"""Work in threads that nobody has to wait for: one may hang in a server that never answers, and the process can end all the same."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple, TypeAlias, TypeVar

from cowork_gym.core.errors import UserError

__all__ = ["Hands", "hands", "work_ahead"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Ended: TypeAlias = tuple[_Result, None] | tuple[None, BaseException]
_Todo: TypeAlias = SimpleQueue[Callable[[], None] | None]


class Hands(NamedTuple):
    """Threads that wait for work."""

    todo: _Todo
    number: int


@contextmanager
def hands(count: int) -> Iterator[Hands]:
    """A context in which so many threads wait for work. All of them are there before any of it is begun.

    Raises:
        UserError: The system gives the process fewer.
    """
    todo, begun = _Todo(), 0

    def serve() -> None:
        while (work := todo.get()) is not None:
            work()

    try:
        for begun in range(count):
            try:
                Thread(target=serve, name=f"rollout-{begun}", daemon=True).start()
            except RuntimeError:
                raise UserError(f"concurrency {count} is too much: the system gives this process {begun} threads more; choose less") from None
        yield Hands(todo, count)
    finally:
        for _ in range(count):
            todo.put(None)


def work_ahead(items: Iterable[_Item], work: Callable[[_Item], _Result], by: Hands) -> Iterator[_Result]:
    """What the work on each item gives, as it ends: one at a time for each thread, and no more ahead of whoever listens.

    The first exception ends it. When nobody listens any more, threads that are at work are left alone.

    Args:
        items: In the order in which they are begun.
        work: Done in threads.
        by: The threads.
    """
    ended = SimpleQueue[_Ended[_Result]]()

    def begin(item: _Item) -> None:
        def done() -> None:
            try:
                ended.put((work(item), None))
            except BaseException as error:  # it is raised where somebody listens
                ended.put((None, error))

        by.todo.put(done)

    waiting, open_ = iter(items), 0
    for item in islice(waiting, by.number):
        begin(item)
        open_ += 1
    while open_:
        result, error = ended.get()
        open_ -= 1
        if error is not None:
            raise error
        for item in islice(waiting, 1):
            begin(item)
            open_ += 1
        yield result  # type: ignore[misc]
