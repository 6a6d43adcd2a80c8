import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.core.collective import Alone, Collective, Floats, Integers, PassesOn
from flora.core.threads import in_step
from flora.errors import DataError
from flora.models.sums import added, fixed_point_sum, from_first, largest, pooled_sum, pooled_sums

ANY = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(max_examples=150, deadline=None)
@given(st.lists(ANY, max_size=30))
def test_a_sum_is_exact_and_rounded_once(values: list[float]) -> None:
    try:
        exact = float(sum(map(Fraction, values), Fraction(0)))
    except OverflowError:
        with pytest.raises(DataError, match="too large"):
            pooled_sum(np.array(values), Alone())
    else:
        assert pooled_sum(np.array(values), Alone()) == exact


def test_who_holds_which_rows_does_not_matter() -> None:
    values = np.random.default_rng(0).normal(size=(60, 3)) * 10.0 ** np.arange(-30, 30)[:, None]
    expected = pooled_sums(values, Alone())

    def share(part: Floats, collective: Collective) -> Floats:
        return pooled_sums(part, collective)

    for order in itertools.permutations(np.split(values, [1, 1, 40])):
        found = in_step([partial(share, part) for part in order])
        assert all(np.array_equal(one, expected) for one in found)
    assert len({np.sum(values[order, 0]) for order in (slice(None), slice(None, None, -1))}) == 2  # floats alone differ


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(DataError, match="must be finite"):
        pooled_sum(np.array([1.0, value]), Alone())


@dataclass(frozen=True)
class Recorded(PassesOn):
    """A party's end of a collective that remembers the sums it heard."""

    inner: Collective
    heard: list[Integers] = field(default_factory=list)

    def add_integers(self, values: Integers) -> Integers:
        self.heard.append(self.inner.add_integers(values))
        return self.heard[-1]

    def allgather(self, data: bytes) -> Any:
        raise AssertionError(f"sums gather nothing, got {data!r}")


def at_parties(parts: list[Floats], share: Callable[[Floats, Collective], Floats]) -> list[Floats]:
    """Return what each party gets, which must be the same bytes."""
    found = in_step([partial(share, part) for part in parts])
    assert len({one.tobytes() for one in found}) == 1
    return found


def test_few_numbers_are_added_exactly() -> None:
    parts = [np.array([0.1, 1e300, 5e-324]), np.array([0.2, 1.0, 0.0]), np.array([0.3, -1e300, 5e-324])]
    exact = [float(sum(map(Fraction, column), Fraction(0))) for column in zip(*parts, strict=True)]
    assert at_parties(parts, added)[0].tolist() == exact
    assert added(parts[0], Alone()).tolist() == parts[0].tolist()
    assert at_parties([np.empty(0)] * 2, added)[0].tolist() == []


class TestFixedPoint:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.lists(st.floats(-100, 100), min_size=4, max_size=4), min_size=1, max_size=5))
    def test_a_sum_is_as_near_as_the_bound_says_and_floats_near_the_bound_lose_nothing(
        self, parts: list[list[float]]
    ) -> None:
        total = 100.0 * len(parts)
        shares = [np.array([part]) for part in parts]
        found = at_parties(shares, lambda values, line: fixed_point_sum(values, 100.0, total, line))[0]
        exact = [sum(map(Fraction, column), Fraction(0)) for column in zip(*parts, strict=True)]
        for one, other in zip(found, exact, strict=True):
            assert abs(Fraction(float(one)) - other) <= Fraction(total) * len(parts) / 2**61 + abs(other) / 2**53
        large = [np.where(np.abs(share) > 1, share, 0) for share in shares]
        found = at_parties(large, lambda values, line: fixed_point_sum(values, 100.0, total, line))[0]
        assert found.tolist() == [math.fsum(column) for column in zip(*(share[0] for share in large), strict=True)]

    def test_rows_of_one_party_count_as_parties(self) -> None:
        rows = np.random.default_rng(0).normal(size=(3, 5))
        together = fixed_point_sum(rows, 30.0, 30.0, Alone())
        apart = at_parties([row[None, :] for row in rows], lambda row, line: fixed_point_sum(row, 10.0, 30.0, line))
        assert together.tolist() == apart[0].tolist()

    def test_numbers_beyond_the_bound_are_added_in_a_second_try_which_shows_nothing_else(self) -> None:
        heard: list[Integers] = []

        def share(values: Floats, line: Collective) -> Floats:
            recorded = Recorded(line, heard if line.rank == 0 else [])
            return fixed_point_sum(values, 1.0, 3.0, recorded)

        found = at_parties([np.array([[0.5]]), np.array([[700.0]]), np.array([[0.25]])], share)
        assert found[0].tolist() == [700.75]
        assert len(heard) == 2
        assert heard[0][-1] != 0
        assert (
            abs(heard[0][0] - 0.75 * 2**60) > 2**20
        )  # not the others' sum: it would tell the rest, once all are added
        assert heard[1][-1] == 0

    @pytest.mark.parametrize("total", [np.inf, 1e308])
    def test_a_bound_that_is_no_number_is_refused(self, total: float) -> None:
        with pytest.raises(DataError, match="must stay below 1e307"):
            fixed_point_sum(np.zeros((1, 1)), 1.0, total, Alone())

    def test_a_bound_of_nothing_is_refused_for_something(self) -> None:
        with pytest.raises(DataError, match="must stay below 1e307"):
            fixed_point_sum(np.ones((1, 1)), 0.0, 1.0, Alone())


class TestLargest:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.lists(ANY, min_size=3, max_size=3), min_size=1, max_size=5))
    def test_it_is_the_maximum(self, parts: list[list[float]]) -> None:
        found = at_parties([np.array(part) for part in parts], largest)[0]
        assert found.tolist() == np.max(parts, axis=0).tolist()

    def test_it_is_the_same_bytes_for_either_zero(self) -> None:
        for order in itertools.permutations([0.0, -0.0]):
            assert at_parties([np.array([zero]) for zero in order], largest)[0].tobytes() == np.zeros(1).tobytes()

    def test_sums_tell_the_maximum_and_nothing_else(self) -> None:
        def heard(parts: list[float]) -> list[list[bool]]:
            ends: list[Recorded] = []

            def share(values: Floats, line: Collective) -> Floats:
                ends.append(Recorded(line))
                return largest(values, ends[-1])

            at_parties([np.array([part]) for part in parts], share)
            return [(sums != 0).ravel().tolist() for sums in ends[0].heard]

        assert heard([3.5, 1.0, -7.0]) == heard([3.5, 3.5, 3.5]) == heard([-1e300, 3.5, 3.25])
        assert heard([3.5]) == []
        assert heard([3.5, 1.0]) != heard([3.25, 1.0])

    def test_whoever_reaches_a_digit_says_it_with_noise(self) -> None:
        def heard() -> bytes:
            ends: list[Recorded] = []

            def share(values: Floats, line: Collective) -> Floats:
                ends.append(Recorded(line))
                return largest(values, ends[-1])

            at_parties([np.array([2.0]), np.array([1.0])], share)
            return b"".join(sums.tobytes() for sums in ends[0].heard)

        assert heard() != heard()


def test_what_the_first_computes_is_everybodys_to_the_bit() -> None:
    values = np.array([[0.1, -0.0, 5e-324], [1e308, -1.0, 3.0]])

    def share(rank: int, line: Collective) -> Floats:
        return from_first(lambda: values if rank == 0 else np.array([1.0]), values.shape, line)

    found = in_step([partial(share, rank) for rank in range(3)])
    assert [one.tobytes() for one in found] == [values.tobytes()] * 3


@pytest.mark.parametrize("add", [added, largest])
def test_few_numbers_must_be_finite(add: Callable[[Floats, Collective], Floats]) -> None:
    with pytest.raises(DataError, match="must be finite"):
        add(np.array([np.inf]), Alone())
