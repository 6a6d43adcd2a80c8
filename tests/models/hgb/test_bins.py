from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

from flora.core.collective import Alone, Collective, Floats, Integers, PassesOn
from flora.core.threads import in_step
from flora.models.hgb import bins as bins_module
from flora.models.hgb.bins import Bins, agree_on_bins, binned_categories
from flora.models.rows import Rows
from tests.models.hgb.tables import schema_of


@dataclass(frozen=True)
class Recorded(PassesOn):
    """A collective that keeps what a party says, and carries sums of integers alone."""

    inner: Collective
    said: list[Integers] = field(default_factory=list)

    def add_integers(self, values: Integers) -> Integers:
        self.said.append(values.copy())
        return self.inner.add_integers(values)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        raise AssertionError(f"bins need sums only, got {data!r}")


_asked: list[Floats] = []  # the points at which rows were counted


@pytest.fixture(autouse=True)
def _note_points(monkeypatch: pytest.MonkeyPatch) -> None:
    _asked.clear()
    values_of = bins_module._values

    def noted(keys: Integers) -> Floats:
        _asked.append(values_of(keys))
        return _asked[-1]

    monkeypatch.setattr(bins_module, "_values", noted)


def rows_of(X: Floats, categories: Sequence[int] | None = None) -> Rows:
    return Rows(X, np.zeros(len(X)), schema_of(categories or [0] * X.shape[1], 0))


def together(parts: Sequence[Floats], most: int = 255) -> list[Bins]:
    def share(part: Floats) -> Callable[[Collective], Bins]:
        return lambda collective: agree_on_bins(rows_of(part), most, collective)

    return in_step([share(part) for part in parts])


def one_column(values: Sequence[float] | Floats, most: int = 255) -> Floats:
    return agree_on_bins(rows_of(np.array(values, dtype=float).reshape(-1, 1)), most, Alone()).edges[0]


def skewed_parties() -> list[Floats]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3000), np.exp(5 * rng.normal(size=3000)), 1e6 + rng.normal(size=3000)])
    return np.split(X[np.argsort(X[:, 0])], [2000, 2993, 2993])


def test_bins_hold_equal_shares_of_the_pooled_rows_and_are_the_same_at_each_party() -> None:
    parts = skewed_parties()
    found = together(parts)
    pooled = np.vstack(parts)
    for k, edges in enumerate(found[0].edges):
        in_bins = np.bincount(np.searchsorted(edges, pooled[:, k]))
        assert len(edges) == 254
        assert in_bins.min() >= 3000 / 255 * 0.7
        assert in_bins.max() <= 3000 / 255 * 1.3
        assert all(np.array_equal(edges, other.edges[k]) for other in found)


def test_no_edge_is_a_value() -> None:
    parts = skewed_parties()
    edges = np.concatenate(together(parts)[0].edges)
    assert not np.isin(edges, np.vstack(parts)).any()


def test_parties_say_counts_in_shapes_that_know_no_party() -> None:
    parts = [part[:n] for part, n in zip(skewed_parties(), (211, 101, 0, 5), strict=True)]
    said: list[list[Integers]] = [[] for _ in parts]

    def share(k: int) -> Callable[[Collective], Bins]:
        return lambda collective: agree_on_bins(rows_of(parts[k]), 255, Recorded(collective, said[k]))

    in_step([share(k) for k in range(4)])
    for part, arrays in zip(parts, said, strict=True):
        assert len(arrays) > 5
        assert [array.shape for array in arrays] == [array.shape for array in said[0]]
        for array in arrays:
            assert array.min() >= 0
            assert array.max() <= len(part)


def test_only_values_that_three_rows_share_are_closed_in_on() -> None:
    rng = np.random.default_rng(3)
    for values in (rng.normal(size=200), np.round(rng.normal(size=700), 1), rng.integers(0, 40, 90).astype(float)):
        _asked.clear()
        one_column(values)
        points = np.concatenate(_asked)
        distinct, counts = np.unique(values, return_counts=True)
        nearest = np.array([np.abs(points - value).min() for value in distinct])
        assert (nearest[counts < 3] > 1e-9).all()
        if (counts >= 5).any():
            assert (nearest[counts >= 5] < 1e-9).any()


def test_a_single_outlier_is_not_closed_in_on() -> None:
    values = np.append(np.random.default_rng(0).normal(size=999), 715897.0)
    assert one_column(values)[-1] < 1000
    points = np.concatenate(_asked)
    assert len(points) > 254
    # By the counts the outlier lies between two points that were asked for; they are far apart.
    below, above = points[points < 715897.0].max(), points[points > 715897.0].min()
    assert above > 2 * below


class TestValuesThatManyRowsShare:
    def test_a_column_that_is_mostly_zero_keeps_its_tail(self) -> None:
        rng = np.random.default_rng(0)
        values = np.where(rng.random(6000) < 0.92, 0.0, np.exp(2 * rng.normal(size=6000)))
        edges = one_column(values)
        in_bins = np.bincount(np.searchsorted(edges, values))
        assert in_bins[0] == (values == 0).sum()  # zero is alone
        tail = in_bins[1:]
        assert len(tail) > 100  # of 480 rows, three and more in each
        assert tail.max() <= 12

    def test_every_common_value_has_a_bin_of_its_own_as_in_scikit_learn(self) -> None:
        rng = np.random.default_rng(0)
        values = rng.integers(0, 100, 5000) / 7
        theirs = _BinMapper(n_bins=256).fit(values.reshape(-1, 1)).bin_thresholds_[0]
        ours = one_column(values)
        assert np.array_equal(np.searchsorted(ours, values), np.searchsorted(theirs, values))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)

    @pytest.mark.parametrize("rare", [0.0, 1.0, -7.5])
    def test_a_rare_value_is_told_from_a_common_one(self, rare: float) -> None:
        common = 1 - rare if rare in (0, 1) else 3.25
        edges = one_column([rare] * 20 + [common] * 1980)
        assert np.searchsorted(edges, rare) != np.searchsorted(edges, common)

    def test_whole_numbers_are_parted_half_way(self) -> None:
        assert one_column(np.tile(np.arange(10.0), 50)).tolist() == pytest.approx([k + 0.5 for k in range(9)])

    @pytest.mark.parametrize("most", [2, 3, 5])
    def test_few_bins_are_used_up(self, most: int) -> None:
        assert len(one_column(np.tile(np.arange(10.0), 50), most)) == most - 1
        assert len(one_column([0.0] * 90 + [1.0] * 10, most)) == 1


def test_large_offsets_are_resolved() -> None:
    assert len(one_column(1e9 + np.random.default_rng(0).normal(size=1000))) == 254


def test_a_constant_or_empty_column_has_no_edge() -> None:
    X = np.column_stack([np.full(50, 3.0), np.full(50, np.nan), np.arange(50.0), np.zeros(50)])
    X[7, 0] = np.nan
    bins = agree_on_bins(rows_of(X, [0, 0, 0, 4]), 255, Alone())
    assert [len(column) for column in bins.edges] == [0, 0, 24, 0]
    assert bins.missing.tolist() == [True, True, False, False]
    assert bins.numbers.tolist() == [1, 1, 25, 4]
    assert bins.categorical.tolist() == [0, 0, 0, 1]


def test_missing_at_one_party_is_missing_for_all() -> None:
    parts = [np.arange(20.0).reshape(-1, 1), np.full((1, 1), np.nan)]
    assert [bins.missing.tolist() for bins in together(parts)] == [[True], [True]]


VALUES = st.lists(st.sampled_from([-1e300, -2.0, -1e-310, 0.0, 1e-310, 0.1, 0.5, 3.0, 1e8, 1e300]), min_size=2)


@settings(deadline=None, max_examples=40)
@given(VALUES, st.integers(1, 30), st.integers(2, 20))
def test_bins_depend_on_the_pooled_rows_alone(values: list[float], cut: int, most: int) -> None:
    X = np.array(values).reshape(-1, 1)
    alone = agree_on_bins(rows_of(X), most, Alone()).edges[0]
    parts = [X[: 1 + cut % (len(X) - 1)], X[1 + cut % (len(X) - 1) :]]
    assert all(np.array_equal(bins.edges[0], alone) for bins in together(parts, most))
    assert len(alone) < most
    assert (np.diff(alone) > 0).all()


def test_bins_are_closed_on_the_right_and_missing_values_have_the_last() -> None:
    bins = Bins((np.array([1.0, 2.0]), np.empty(0)), (0, 3), np.array([True, False]), 7)
    X = np.array([[0.5, 2.0], [1.0, 0.0], [1.5, 1.0], [2.5, np.nan], [np.nan, 2.0]])
    numbers = bins.number(X)
    assert numbers.tolist() == [[0, 2], [0, 0], [1, 1], [2, 7], [7, 2]]
    assert numbers.flags.f_contiguous
    assert bins.number(X[:0]).shape == (0, 2)
    assert bins.used.tolist() == [0, 1, 2, 7, 8, 9, 10]


def test_numbers_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), np.round(rng.normal(size=500), 1)])
    X[::9, 1] = np.nan
    mapper = _BinMapper(n_bins=256).fit(X)
    bins = Bins(tuple(mapper.bin_thresholds_), (0, 0), np.array([False, True]), 255)
    assert np.array_equal(bins.number(X), mapper.transform(X))


def test_a_column_of_more_categories_than_bins_is_one_of_numbers() -> None:
    schema = schema_of([3, 255, 256, 0], 2)
    assert binned_categories(schema, 255) == (3, 255, 0, 0)
    assert binned_categories(schema, 16) == (3, 0, 0, 0)
    X = np.column_stack([np.arange(600) % 300, np.arange(600) % 7]).astype(float)
    bins = agree_on_bins(rows_of(X, [300, 7]), 255, Alone())
    assert bins.categories == (0, 7)
    assert len(bins.edges[0]) > 150
