"""How independent pieces of work are shared out: one after the other, or over processes of this machine."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from flora.errors import FloraError

A = TypeVar("A")
B = TypeVar("B")


class Map(Protocol):
    """Applies a function to each item and returns the results in the items' order."""

    def __call__(self, function: Callable[[A], B], items: Sequence[A]) -> list[B]:
        """Return ``[function(item) for item in items]``."""
        ...


def one_by_one(function: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """Apply the function here, one item after the other."""
    return [function(item) for item in items]


@contextmanager
def workers(jobs: int) -> Iterator[Map]:
    """Give a map over ``jobs`` processes; several threads may use it at the same time."""
    if jobs == 1:
        yield one_by_one
        return
    from loky import get_reusable_executor

    yield OverProcesses(get_reusable_executor(max_workers=jobs, timeout=60), jobs)


@dataclass(frozen=True)
class OverProcesses:
    """A map over the processes of loky's executor."""

    executor: Any
    jobs: int

    def __call__(self, function: Callable[[A], B], items: Sequence[A]) -> list[B]:
        """Return ``[function(item) for item in items]``."""
        from loky.process_executor import BrokenProcessPool

        try:
            return list(self.executor.map(function, items))
        except BrokenProcessPool as error:
            raise FloraError(
                "a worker process ended (out of memory?); what is done is kept, and fewer --jobs need less memory"
            ) from error


def at_once(spread: Map) -> int:
    """Return how many items a map works on at the same time."""
    return int(getattr(spread, "jobs", 1))


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread: sums are then the same whatever the number of jobs.

    OpenMP's limit belongs to a thread, and BLAS's to the process, where threadpoolctl obeys the thread that asked
    first: so who starts threads holds this around them, and each of them holds it too.
    """
    with _thread_pools(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> Any:  # noqa: ARG001  (a module that came later may have brought a library of its own)
    import scipy.linalg  # noqa: F401  (a library must be loaded to be found)
    import sklearn.utils  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
