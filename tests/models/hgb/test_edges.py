from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.core.collective import Alone, Collective, Floats, Reduction
from flora.core.threads import in_step
from flora.models.hgb.edges import Edges, agree_on_edges
from tests.conftest import PassesOn


@dataclass(frozen=True)
class Recorded(PassesOn):
    """A collective that keeps what a party says."""

    inner: Collective
    said: list[Floats] = field(default_factory=list)

    def allreduce(self, values: Floats, reduction: Reduction = "sum") -> Floats:
        self.said.append(values.copy())
        return self.inner.allreduce(values, reduction)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        raise AssertionError(f"edges need sums only, got {data!r}")


def together(parts: Sequence[Floats], most: int = 254) -> list[Edges]:
    def share(part: Floats) -> Callable[[Collective], Edges]:
        return lambda collective: agree_on_edges(part, [0] * part.shape[1], collective, most)

    return in_step([share(part) for part in parts])


def one_column(values: Sequence[float] | Floats) -> Floats:
    return agree_on_edges(np.array(values, dtype=float).reshape(-1, 1), [0], Alone()).columns[0]


def skewed_parties() -> list[Floats]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3000), np.exp(5 * rng.normal(size=3000)), 1e6 + rng.normal(size=3000)])
    return np.split(X[np.argsort(X[:, 0])], [2000, 2993])


def test_edges_are_quantiles_of_the_pooled_rows_and_the_same_at_each_party() -> None:
    parts = skewed_parties()
    found = together(parts)
    pooled = np.vstack(parts)
    for k, edges in enumerate(found[0].columns):
        in_bins = np.bincount(np.searchsorted(edges, pooled[:, k]))
        assert len(edges) == 127
        assert in_bins.min() >= 3000 / 128 * 0.7
        assert in_bins.max() <= 3000 / 128 * 1.3
        assert all(np.array_equal(edges, other.columns[k]) for other in found)


def test_no_edge_is_a_value() -> None:
    parts = skewed_parties()
    edges = np.concatenate(together(parts)[0].columns)
    assert not np.isin(edges, np.vstack(parts)).any()


def test_parties_say_counts_in_shapes_that_know_no_party() -> None:
    parts = [part[:n] for part, n in zip(skewed_parties(), (211, 101, 5), strict=True)]
    said: list[list[Floats]] = [[] for _ in parts]

    def share(k: int) -> Callable[[Collective], Edges]:
        return lambda collective: agree_on_edges(parts[k], [0, 0, 0], Recorded(collective, said[k]))

    in_step([share(k) for k in range(3)])
    for part, arrays in zip(parts, said, strict=True):
        assert {array.shape for array in arrays} == {(2, 3), (3, 105)}  # 105: a third of all 317 rows
        for array in arrays:
            assert np.array_equal(array, array.round())
            assert array.min() >= 0
            assert array.max() <= len(part)


@pytest.mark.parametrize("rare", [0.0, 1.0, -7.5])
def test_a_rare_value_is_told_from_a_common_one(rare: float) -> None:
    common = 1 - rare if rare in (0, 1) else 3.25
    edges = one_column([rare] * 2 + [common] * 1998)
    assert np.searchsorted(edges, rare) != np.searchsorted(edges, common)


def test_whole_numbers_are_parted_half_way() -> None:
    assert one_column(np.tile(np.arange(10.0), 50)).tolist() == pytest.approx([k + 0.5 for k in range(9)])


def test_large_offsets_are_resolved() -> None:
    assert len(one_column(1e9 + np.random.default_rng(0).normal(size=1000))) == 127


def test_a_constant_or_empty_column_has_no_edge() -> None:
    X = np.column_stack([np.full(50, 3.0), np.full(50, np.nan), np.arange(50.0), np.zeros(50)])
    X[7, 0] = np.nan
    edges = agree_on_edges(X, [0, 0, 0, 4], Alone())
    assert [len(column) for column in edges.columns] == [0, 0, 16, 0]
    assert edges.missing == (True, True, False, False)


def test_missing_at_one_party_is_missing_for_all() -> None:
    parts = [np.arange(20.0).reshape(-1, 1), np.full((1, 1), np.nan)]
    assert [edges.missing for edges in together(parts)] == [(True,), (True,)]


VALUES = st.lists(st.sampled_from([-1e300, -2.0, -1e-310, 0.0, 1e-310, 0.1, 0.5, 3.0, 1e8, 1e300]), min_size=2)


@settings(deadline=None, max_examples=40)
@given(VALUES, st.integers(1, 30), st.integers(2, 20))
def test_edges_depend_on_the_pooled_rows_alone(values: list[float], cut: int, most: int) -> None:
    X = np.array(values).reshape(-1, 1)
    alone = agree_on_edges(X, [0], Alone(), most).columns[0]
    parts = [X[: 1 + cut % (len(X) - 1)], X[1 + cut % (len(X) - 1) :]]
    assert all(np.array_equal(edges.columns[0], alone) for edges in together(parts, most))
    assert len(alone) <= most
    assert (np.diff(alone) > 0).all()


def test_bins_are_closed_on_the_right() -> None:
    edges = Edges((np.array([1.0, 2.0]), np.empty(0)), (True, False), (0, 3))
    X = np.array([[0.5, 2.0], [1.0, 0.0], [1.5, 1.0], [2.5, np.nan], [np.nan, 2.0]])
    binned = edges.bins(X)
    expected = np.array([[0, 2], [0, 0], [1, 1], [2, np.nan], [np.nan, 2]])
    assert np.array_equal(binned, expected, equal_nan=True)


def test_made_up_rows_hold_every_bin_and_category() -> None:
    edges = Edges((np.array([1.0, 2.0]), np.empty(0)), (True, False), (0, 3))
    made_up = edges.every_bin()
    assert np.array_equal(made_up, np.array([[0, 0], [1, 1], [2, 2], [np.nan, np.nan]]), equal_nan=True)
