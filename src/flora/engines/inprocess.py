"""All parties in one process: a party is a thread, and the collective is a meeting of all threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from threading import Condition, Event
from typing import Any, TypeVar

import numpy as np

from flora.collective import Collective, Floats, Reduction, reduce_in_order
from flora.errors import CollectiveError
from flora.federation import Ask, Reply, Step
from flora.party import Party, check_names
from flora.workers import one_thread

R = TypeVar("R")


def in_process(parties: Sequence[Party], *, jobs: int = 1) -> Ask:
    """Ask the parties of this process: in turn, or at the same time where there are several jobs."""
    check_names(parties)
    ordered = sorted(parties, key=lambda party: party.name)

    def ask(step: Step) -> list[Reply]:
        with one_thread():
            if step.name in ("certify", "train"):  # inside them the parties add up
                return in_step([partial(party.answer, step) for party in ordered])
            if jobs == 1:
                return [party.answer(step) for party in ordered]
            return _at_the_same_time(ordered, step)

    return ask


def _at_the_same_time(parties: Sequence[Party], step: Step) -> list[Reply]:
    """Ask each party in a thread of its own, where their folds share the workers. The first error ends all."""
    over = Event()

    def answer(party: Party) -> Reply:
        def report(name: str, done: int, total: int) -> None:
            party.progress(name, done, total)
            if over.is_set():
                raise _LeftAloneError("another party left the search")

        return replace(party, progress=report).answer(step)

    return _together([partial(answer, party) for party in parties], over.set)


def _together(shares: Sequence[Callable[[], R]], leave: Callable[[], None]) -> list[R]:
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


class _LeftAloneError(CollectiveError):
    """A party waits for one that has left: never the cause of the end, always its consequence."""


class _Hub:
    """Hands every party's contribution to everyone when the last one has arrived."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.changed = Condition()
        self.arrived: dict[int, tuple[str, Any]] = {}  # the present round's calls and contributions, by rank
        self.somebody_left = False

    def exchange(self, rank: int, call: str, contribution: Any) -> list[Any]:
        """Return all contributions in the order of the ranks; all must make the same ``call``."""
        with self.changed:
            arrived = self.arrived
            arrived[rank] = (call, contribution)
            if len(arrived) == self.size:
                self.arrived = {}  # the next round; who wakes late still holds this one
                self.changed.notify_all()
            self.changed.wait_for(lambda: len(arrived) == self.size or self.somebody_left)
        if len(arrived) < self.size:
            raise _LeftAloneError("another party left the training")
        calls = [arrived[k][0] for k in range(self.size)]
        if len(set(calls)) > 1:
            raise CollectiveError(f"parties are out of step: {', '.join(calls)}")
        return [arrived[k][1] for k in range(self.size)]

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

    def allreduce(self, values: Floats, reduction: Reduction = "sum") -> Floats:
        """Return the parties' elementwise sum or maximum, made in the order of the ranks."""
        own = np.array(values, dtype=np.float64)
        return reduce_in_order(self.hub.exchange(self.rank, f"{reduction} of shape {own.shape}", own), reduction)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        """Return every party's bytes, in the order of the ranks."""
        return self.hub.exchange(self.rank, "gathering", bytes(data))


def in_step(parties: Sequence[Callable[[Collective], R]]) -> list[R]:
    """Run the parties' shares of one training, each in a thread of its own; return what each returned."""
    hub = _Hub(len(parties))

    def run(rank: int) -> R:
        try:
            return parties[rank](ThreadCollective(rank, len(parties), hub))
        finally:
            hub.leave()

    return _together([partial(run, rank) for rank in range(len(parties))], hub.leave)


def _remoteness(error: BaseException) -> int:
    """Return how far an error is from the cause: a party's own, then one met in the exchange, then being left alone."""
    return isinstance(error, CollectiveError) + isinstance(error, _LeftAloneError)
