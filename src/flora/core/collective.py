"""How parties add up during the one training. The same code runs at each party, in step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Collective(Protocol):
    """One party's end of the exchange. Parties are ranked by name.

    There is one way to add up, of integers: its bytes do not depend on the order, and masks can cover it. What else
    parties agree on during a training is made of it (:mod:`flora.models.sums`).
    """

    @property
    def rank(self) -> int:
        """This party's place among the parties, from 0."""
        ...

    @property
    def size(self) -> int:
        """The number of parties."""
        ...

    def add_integers(self, values: Integers) -> Integers:
        """Return the parties' elementwise sum modulo 2^64: the same shape, the same in whatever order they come."""
        ...

    def allgather(self, data: bytes) -> Sequence[bytes]:
        """Return every party's bytes, in the order of the ranks: for what everybody may see."""
        ...


class Masks(Protocol):
    """What lets a party's sums leave under masks (:mod:`flora.core.masks`)."""

    @property
    def parties(self) -> tuple[str, ...]:
        """The parties that add up, in the order of the ranks."""
        ...

    def begin(self, collective: Collective, step: str) -> Collective:
        """Return the collective that masks the sums of a step, whose text this is."""
        ...


@dataclass(frozen=True)
class Alone:
    """The collective of a party that trains by itself, as in the local search."""

    rank: int = 0
    size: int = 1

    def add_integers(self, values: Integers) -> Integers:
        """Return the party's own numbers, as an array of its own."""
        return np.array(values, dtype=np.int64)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        """Return the party's own bytes."""
        return [data]


class PassesOn:
    """A party's end of a collective that stands before another; who inherits says what it does on the way."""

    inner: Collective

    @property
    def rank(self) -> int:
        """This party's rank."""
        return self.inner.rank

    @property
    def size(self) -> int:
        """The number of parties."""
        return self.inner.size

    def add_integers(self, values: Integers) -> Integers:
        """Return the parties' elementwise sum modulo 2^64."""
        return self.inner.add_integers(values)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        """Return every party's bytes, in the order of the ranks."""
        return self.inner.allgather(data)


@dataclass
class Followed(PassesOn):
    """A collective of a training that somebody follows at this end; nothing of that is sent to the others."""

    inner: Collective
    told: Callable[[int, int], None]  # of the iterations done, and of how many there are at most: 0, if nobody knows
    done: int = 0


def iteration_done(collective: Collective, most: int = 0) -> None:
    """Say that one more iteration of a training is done, where somebody follows it."""
    if isinstance(collective, Followed):
        collective.done += 1
        collective.told(collective.done, most)


def sum_of_integers(parts: Sequence[Integers]) -> Integers:
    """Return the elementwise sum of ``parts`` modulo 2^64, as numbers between -2^63 and 2^63."""
    total = np.array(parts[0], dtype=np.int64)
    for part in parts[1:]:
        total += part  # NumPy wraps around without a word, which is what is wanted here
    return total
