import itertools

import numpy as np
import pytest

from flora.core.collective import Alone, Collective, reduce_in_order, sum_of_integers

PARTS = [np.array([0.1, 1e16, -3.0]), np.array([0.2, 1.0, 5.0]), np.array([0.3, -1e16, 4.0])]


def test_sums_are_made_from_the_first_to_the_last() -> None:
    assert reduce_in_order(PARTS, "sum").tolist() == [0.1 + 0.2 + 0.3, 1e16 + 1.0 - 1e16, 6.0]
    orders = {reduce_in_order(list(order), "sum").tobytes() for order in itertools.permutations(PARTS)}
    assert len(orders) > 1  # so the order of arrival would show


def test_maxima_are_elementwise() -> None:
    assert reduce_in_order(PARTS, "max").tolist() == [0.3, 1e16, 5.0]


def test_the_parts_stay_as_they_are() -> None:
    before = [part.copy() for part in PARTS]
    total = reduce_in_order(PARTS[:1], "sum")
    total += 1
    reduce_in_order(PARTS, "sum")
    assert all(np.array_equal(one, other) for one, other in zip(before, PARTS, strict=True))


@pytest.mark.parametrize("reduction", ["sum", "max"])
def test_a_party_alone_hears_itself(reduction: str) -> None:
    alone: Collective = Alone()
    values = np.array([[1, 2]])
    total = alone.allreduce(values, reduction)  # type: ignore[arg-type]
    assert total.tolist() == [[1.0, 2.0]]
    assert total.dtype == np.float64
    total += 1
    assert values.tolist() == [[1, 2]]
    assert list(alone.allgather(b"x")) == [b"x"]
    assert (alone.rank, alone.size) == (0, 1)


def test_integers_wrap_around_and_the_order_does_not_matter() -> None:
    largest, least = 2**63 - 1, -(2**63)
    parts = [np.array([largest, 3]), np.array([1, -5]), np.array([7, least])]
    expected = [least + 7, largest - 1]  # as if modulo 2^64, between -2^63 and 2^63
    assert {tuple(sum_of_integers(list(order)).tolist()) for order in itertools.permutations(parts)} == {
        tuple(expected)
    }
    assert parts[0].tolist() == [largest, 3]


def test_a_party_alone_hears_its_own_integers() -> None:
    values = np.array([[2**62, -1]])
    total = Alone().add_integers(values)
    assert total.dtype == np.int64
    total += 1
    assert values.tolist() == [[2**62, -1]]
