"""Bin edges on which all parties agree without a feature value leaving any of them.

Parties tell each other one thing only: how many of their rows lie at or below a point. Each edge is found by bisection
on the pooled counts, over all floating-point numbers in their order, so not even a minimum or maximum is exchanged. A
point is taken as soon as its count is near enough: it lies *between* values. It closes in on a value only where at
least three rows share that value, and then becomes two edges, one below and one above.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Collective, Floats

Keys = NDArray[np.int64]  # floating-point numbers by their place in the order of all of them
ROUNDS = 56  # of 64 bits: values that differ by less than 2^-44 of their size count as equal
ROWS_A_BIN = 3
_LARGEST = int(np.array(np.finfo(np.float64).max).view(np.int64))


@dataclass(frozen=True)
class Edges:
    """Where each column's bins part: bin k holds ``edges[k-1] < x <= edges[k]``. A categorical column has none."""

    columns: tuple[Floats, ...]
    missing: tuple[bool, ...]  # whether any party has a missing value there
    categories: tuple[int, ...]  # how many categories the column has; 0 where it is numeric

    def bins(self, X: Floats) -> Floats:
        """Return the number of each value's bin, (n, d) -> (n, d); codes of categories and NaN stay what they are."""
        binned = X.copy()
        for k, edges in enumerate(self.columns):
            if not self.categories[k]:
                known = ~np.isnan(X[:, k])
                binned[known, k] = np.searchsorted(edges, X[known, k], side="left")
        return binned

    def every_bin(self) -> Floats:
        """Return made-up rows: each column runs through its bins or categories, and NaN if it can be missing.

        Categories always have NaN beside them: without it LightGBM drops the last of 100 or more.
        """
        columns = [
            np.append(np.arange(float(n_categories or len(edges) + 1)), [np.nan] if missing or n_categories else [])
            for edges, missing, n_categories in zip(self.columns, self.missing, self.categories, strict=True)
        ]
        length = max((len(column) for column in columns), default=1)
        return np.column_stack([np.resize(column, length) for column in columns])


def agree_on_edges(X: Floats, categories: Sequence[int], collective: Collective, most: int = 254) -> Edges:
    """Return the parties' common edges of (n, d) rows: at most ``most`` a column, at quantiles of the pooled rows.

    Args:
        X: This party's rows; missing values are NaN.
        categories: The number of categories of each column; 0 where it is numeric.
        collective: How counts are added up. The arrays' shapes follow from columns and pooled counts.
        most: The largest number of edges, at least 2.
    """
    missing = np.isnan(X)
    present, absent = collective.allreduce(np.array([(~missing).sum(axis=0), missing.sum(axis=0)], dtype=np.float64))
    numeric = [k for k, n_categories in enumerate(categories) if not n_categories]
    columns = [np.sort(X[~missing[:, k], k]) for k in numeric]
    edges = dict(zip(numeric, _quantiles(columns, present[numeric], collective, most // 2), strict=True))
    columns_edges = tuple(edges.get(k, np.empty(0)) for k in range(len(categories)))
    return Edges(columns_edges, tuple((absent > 0).tolist()), tuple(categories))


def _quantiles(columns: Sequence[Floats], rows: Floats, collective: Collective, most: int) -> list[Floats]:
    """Return each column's edges, near the quantiles that part its pooled ``rows`` into equal bins."""
    per_column = np.clip(rows // ROWS_A_BIN, 1, most)
    width = int(per_column.max(initial=1))
    places = np.minimum(np.arange(1, width + 1), per_column[:, None])  # a column with few rows repeats its last target
    spacing = rows / (per_column + 1)
    targets, tolerance = spacing[:, None] * places, np.maximum(1, spacing // 8)[:, None]

    low, high = np.full(targets.shape, -_LARGEST), np.full(targets.shape, _LARGEST)
    below, above = np.zeros(targets.shape), np.broadcast_to(rows[:, None], targets.shape)
    for _ in range(ROUNDS):
        middle = low // 2 + high // 2 + (low & high & 1)
        counts = _pooled_counts(columns, _value(middle), collective)
        near = np.abs(counts - targets) <= tolerance  # then the bracket closes on the point
        left, right = near | (counts < targets), near | (counts >= targets)
        low, below = np.where(left, middle, low), np.where(left, counts, below)
        high, above = np.where(right, middle, high), np.where(right, counts, above)
        if np.all(low == high):
            break
    points, counts = np.hstack([_value(low), _value(high)]), np.hstack([below, above])
    return [_distinct(points[k], counts[k], total) for k, total in enumerate(rows)]


def _pooled_counts(columns: Sequence[Floats], points: Floats, collective: Collective) -> Floats:
    """Return how many of all parties' values lie at or below each point: (d, targets) -> (d, targets)."""
    own = np.zeros(points.shape)
    for k, column in enumerate(columns):
        own[k] = np.searchsorted(column, points[k], side="right")
    return collective.allreduce(own)


def _distinct(points: Floats, counts: Floats, total: float) -> Floats:
    """Return one edge for each way to part the rows: the middle of the points that part them alike."""
    ways = [points[counts == count] for count in np.unique(counts) if 0 < count < total]
    return np.array([way.min() / 2 + way.max() / 2 for way in ways])


def _value(keys: Keys) -> Floats:
    """Return the numbers at places in the order of all floating-point numbers; 0 is at 0."""
    return np.where(keys < 0, -1.0, 1.0) * np.abs(keys).view(np.float64)
