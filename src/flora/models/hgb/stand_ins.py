"""Fewer exchanges for LightGBM: where the others are far, a party finds their best splits itself.

LightGBM shares a leaf's summed histograms out by column, lets each party find the best split in its columns, and
gathers what they found: two exchanges for each split. Where an exchange takes long, a party takes the whole sum and
runs a LightGBM for every rank, each in a thread of its own. What these find is gathered here, for the other parties
find the same: one exchange for each split, and the same trees to the last bit. The LightGBM of another rank holds
next to nothing, and its histograms are thrown away: all that leaves is the party's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from flora.core.collective import Collective, Floats, Reduction
from flora.core.threads import ThreadCollective, in_step

R = TypeVar("R")


def with_stand_ins(collective: Collective, own: Callable[[Collective], R], other: Callable[[Collective], R]) -> R:
    """Return what ``own`` returns. Where the others are far, ``other`` is run for each of their ranks beside it."""
    if not collective.far:
        return own(collective)

    def seat(rank: int, here: ThreadCollective) -> R:
        if rank == collective.rank:
            return own(_Seat(here, collective.rank, collective))
        return other(_Seat(here, collective.rank))

    return in_step([partial(seat, rank) for rank in range(collective.size)])[collective.rank]


@dataclass
class _Seat:
    """One rank's place: the party's own speaks to the others, its stand-ins hear what it was told."""

    here: ThreadCollective
    speaker: int  # the party's own rank
    others: Collective | None = None  # far away; the party's own seat has it alone
    far: bool = False
    _found_here: bool = False  # what is gathered next is what each rank found in a sum that all have

    @property
    def rank(self) -> int:
        """The rank that sits here."""
        return self.here.rank

    @property
    def size(self) -> int:
        """The number of parties."""
        return self.here.size

    def allreduce(self, values: Floats, reduction: Reduction = "sum") -> Floats:
        """Return the sum over the parties, to which a stand-in adds nothing."""
        self._found_here = True
        total: Floats = self._told(lambda others: others.allreduce(values, reduction))
        return total

    def allgather(self, data: bytes) -> Sequence[bytes]:
        """Return every rank's bytes: its stand-in's where it had the same sum to go by, else the party's own."""
        if self._found_here:
            self._found_here = False
            return self.here.allgather(data)
        return self._told(lambda others: others.allgather(data))

    def _told(self, ask: Callable[[Collective], R]) -> R:
        answer = None if self.others is None else ask(self.others)
        told: R = self.here.exchange("what the others said", answer)[self.speaker]
        return told
