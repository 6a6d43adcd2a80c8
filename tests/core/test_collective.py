import itertools

import numpy as np

from flora.core.collective import Alone, Collective, sum_of_integers


def test_integers_wrap_around_and_the_order_does_not_matter() -> None:
    largest, least = 2**63 - 1, -(2**63)
    parts = [np.array([largest, 3]), np.array([1, -5]), np.array([7, least])]
    expected = [least + 7, largest - 1]  # as if modulo 2^64, between -2^63 and 2^63
    assert {tuple(sum_of_integers(list(order)).tolist()) for order in itertools.permutations(parts)} == {
        tuple(expected)
    }
    assert parts[0].tolist() == [largest, 3]


def test_a_party_alone_hears_itself() -> None:
    alone: Collective = Alone()
    assert (alone.rank, alone.size) == (0, 1)
    assert list(alone.allgather(b"x")) == [b"x"]
    values = np.array([[2**62, -1]])
    total = alone.add_integers(values)
    assert total.dtype == np.int64
    total += 1
    assert values.tolist() == [[2**62, -1]]
