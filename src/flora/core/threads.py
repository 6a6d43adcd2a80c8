"""Threads that meet: each does its share of one work, and they add up in step."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from threading import Condition
from typing import Any, TypeVar

import numpy as np

from flora.core.collective import Integers, sum_of_integers
from flora.errors import CollectiveError

R = TypeVar("R")


def together(shares: Sequence[Callable[[], R]], leave: Callable[[], None]) -> list[R]:
    """Run shares in threads; ``leave`` ends the others' waiting when one has failed, or the user has had enough."""
    with ThreadPoolExecutor(len(shares)) as pool:
        futures = [pool.submit(share) for share in shares]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            leave()
    errors = [error for future in futures if (error := future.exception())]
    if errors:
        raise min(errors, key=_remoteness)
    return [future.result() for future in futures]


class LeftAloneError(CollectiveError):
    """A party waits for one that has left: never the cause of the end, always its consequence."""


@dataclass
class _Round:
    """One exchange: what each rank calls and contributes, and what came of it."""

    calls: dict[int, str] = field(default_factory=dict)
    contributions: dict[int, Any] = field(default_factory=dict)
    result: Any = None


class _Hub:
    """Puts the parties' contributions together when the last one has arrived, and hands the result to everyone."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.changed = Condition()
        self.round = _Round()
        self.somebody_left = False

    def exchange(self, rank: int, call: str, contribution: Any, combine: Callable[[list[Any]], Any]) -> Any:
        """Return what ``combine`` makes of all contributions, in the order of the ranks; all must make the same call.

        Who comes last does it, for all: with many parties each doing it would be most of a training's work.
        """
        with self.changed:
            now = self.round
            now.calls[rank], now.contributions[rank] = call, contribution
            if len(now.calls) == self.size:
                if len(set(now.calls.values())) == 1:
                    now.result = combine([now.contributions[k] for k in range(self.size)])
                self.round = _Round()  # the next one; who wakes late still holds this one
                self.changed.notify_all()
            self.changed.wait_for(lambda: len(now.calls) == self.size or self.somebody_left)
        if len(now.calls) < self.size:
            raise LeftAloneError("another party left the training")
        if len(set(now.calls.values())) > 1:
            raise CollectiveError(f"parties are out of step: {', '.join(now.calls[k] for k in range(self.size))}")
        return now.result

    def leave(self) -> None:
        """Let nobody wait for a party that will not come."""
        with self.changed:
            self.somebody_left = True
            self.changed.notify_all()


@dataclass(frozen=True)
class ThreadCollective:
    """One thread's end of the exchange."""

    rank: int
    size: int
    hub: _Hub

    def add_integers(self, values: Integers) -> Integers:
        """Return the parties' elementwise sum modulo 2^64."""
        own = np.array(values, dtype=np.int64)
        return np.array(self.hub.exchange(self.rank, f"sum of shape {own.shape}", own, sum_of_integers))

    def allgather(self, data: bytes) -> Sequence[bytes]:
        """Return every party's bytes, in the order of the ranks."""
        return self.exchange("gathering", bytes(data))

    def exchange(self, call: str, contribution: Any) -> list[Any]:
        """Return what all threads contributed to this call, in the order of the ranks."""
        found: list[Any] = self.hub.exchange(self.rank, call, contribution, list)
        return list(found)


def in_step(parties: Sequence[Callable[[ThreadCollective], R]]) -> list[R]:
    """Run the parties' shares of one training, each in a thread of its own; return what each returned."""
    hub = _Hub(len(parties))

    def run(rank: int) -> R:
        try:
            return parties[rank](ThreadCollective(rank, len(parties), hub))
        finally:
            hub.leave()

    return together([partial(run, rank) for rank in range(len(parties))], hub.leave)


def _remoteness(error: BaseException) -> int:
    """Return how far an error is from the cause: a party's own, then one met in the exchange, then being left alone."""
    return isinstance(error, CollectiveError) + isinstance(error, LeftAloneError)
