import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flora.core.collective import Collective
from flora.core.threads import in_step
from flora.errors import CollectiveError

SIZES = [1, 2, 7]


@pytest.mark.parametrize("size", SIZES)
def test_everyone_has_a_rank_and_everyones_bytes(size: int) -> None:
    def share(collective: Collective) -> tuple[int, int, list[bytes]]:
        return collective.rank, collective.size, list(collective.allgather(b"p%d" % collective.rank))

    everyone = [b"p%d" % rank for rank in range(size)]
    assert in_step([share] * size) == [(rank, size, everyone) for rank in range(size)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reversed_arrival", [False, True])
def test_integers_are_added_modulo_two_to_the_64th_whoever_comes_first(size: int, reversed_arrival: bool) -> None:
    def share(collective: Collective) -> list[list[int]]:
        time.sleep(0.002 * (size - collective.rank if reversed_arrival else collective.rank))
        values = np.array([[2**63 - 1, collective.rank]])
        total = collective.add_integers(values)
        values[:] = 0  # what is given stays the party's own
        found: list[list[int]] = total.tolist()
        return found

    wrapped = (size * (2**63 - 1) + 2**63) % 2**64 - 2**63
    assert in_step([share] * size) == [[[wrapped, size * (size - 1) // 2]]] * size


@pytest.mark.parametrize("size", SIZES)
def test_many_rounds_stay_in_step(size: int) -> None:
    def share(collective: Collective) -> list[int]:
        return [int(collective.add_integers(np.array([k + collective.rank]))[0]) for k in range(200)]

    totals = [size * k + size * (size - 1) // 2 for k in range(200)]
    assert in_step([share] * size) == [totals] * size


def shape(rank: int) -> Callable[[Collective], Any]:
    return lambda collective: collective.add_integers(np.zeros(2 + (rank == 1), dtype=np.int64))


def call(rank: int) -> Callable[[Collective], Any]:
    return lambda collective: collective.allgather(b"12345678") if rank == 1 else collective.add_integers(np.array(1))


@pytest.mark.parametrize("share", [shape, call])
@pytest.mark.parametrize("size", [2, 7])
def test_parties_out_of_step_are_told(share: Callable[[int], Callable[[Collective], Any]], size: int) -> None:
    with pytest.raises(CollectiveError, match="parties are out of step: "):
        in_step([share(rank) for rank in range(size)])


@pytest.mark.parametrize("guilty", [0, 1, 6])
@pytest.mark.parametrize("error", [ValueError("my own"), CollectiveError("my own"), KeyboardInterrupt("my own")])
def test_a_party_that_raises_ends_all_and_its_error_is_the_one(guilty: int, error: BaseException) -> None:
    ends = []

    def share(collective: Collective) -> None:
        for k in range(5):
            if collective.rank == guilty and k == 2:
                raise error
            try:
                collective.add_integers(np.zeros(1, dtype=np.int64))
            except CollectiveError as end:
                ends.append(str(end))
                raise

    before = threading.active_count()
    with pytest.raises(type(error), match="my own"):
        in_step([share] * 7)
    assert ends == ["another party left the training"] * 6
    assert threading.active_count() == before


def test_a_party_that_ends_early_leaves_nobody_waiting() -> None:
    def share(collective: Collective) -> None:
        for _ in range(3 if collective.rank else 2):
            collective.allgather(b"")

    with pytest.raises(CollectiveError, match="another party left the training"):
        in_step([share] * 3)


def test_of_two_errors_the_first_partys_is_raised() -> None:
    def share(collective: Collective) -> None:
        collective.allgather(b"")
        raise ValueError(f"party {collective.rank}")

    with pytest.raises(ValueError, match="party 0"):
        in_step([share] * 3)
