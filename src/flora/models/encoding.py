"""From rows with categories and holes to a dense matrix that any estimator takes.

The statistics are sums and maxima over the parties, so that every party encodes alike; a party that searches by
itself uses the same code with :class:`~flora.core.collective.Alone`.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flora.core.codec import read
from flora.core.collective import Collective
from flora.core.rules import check
from flora.errors import DataError, InputError
from flora.models.rows import Rows
from flora.models.sums import added, largest
from flora.problem.schema import Column, Schema

Floats = NDArray[np.float64]
Counts = NDArray[Any]  # whole numbers where all rows count the same
LOWEST = float(np.finfo(np.float64).min)  # the maximum of no values, finite so that it can be sent


@dataclass(frozen=True)
class EncodedColumn:
    """How one column of ``Rows.X`` becomes one or more dense columns."""

    place: int  # in Rows.X
    categories: int  # 0: a number
    low: float
    high: float
    fill: float  # stands for what is missing: the scaled mean, or the most frequent category's place
    flagged: bool  # some party has missing values in it, so that being missing is a feature

    def __post_init__(self) -> None:
        check(self)
        if min(self.place, self.categories) < 0:
            raise InputError(f"an encoded column has places and categories from 0, got {self.place}, {self.categories}")

    def __call__(self, values: Floats) -> Floats:
        """Return the column's dense columns: (n,) -> (n, width)."""
        missing = np.isnan(values)
        if self.categories:
            codes = np.where(missing, self.fill, values)
            dense = codes[:, None] == np.arange(self.categories)
        else:
            dense = np.where(missing, self.fill, _scaled(values, self.low, self.high))[:, None]
        return np.hstack([dense, missing[:, None]] if self.flagged else [dense]).astype(np.float64)

    @property
    def width(self) -> int:
        """The number of its dense columns."""
        return max(self.categories, 1) + self.flagged


@dataclass(frozen=True)
class Encoding:
    """Numbers scaled to [0, 1], categories one-hot, missing values filled in and flagged."""

    columns: tuple[EncodedColumn, ...]

    def __call__(self, X: Floats) -> Floats:
        """Return the dense matrix: (n, d) of ``Rows.X`` -> (n, width). Nothing is clipped to [0, 1]."""
        return np.hstack([column(X[:, column.place]) for column in self.columns])

    @property
    def width(self) -> int:
        """The number of dense columns."""
        return sum(column.width for column in self.columns)

    def to_json(self) -> dict[str, Any]:
        """Return the encoding as JSON's types."""
        return {"columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_json(cls, document: Any, schema: Schema) -> Self:
        """Read what :meth:`to_json` wrote for the columns of a schema."""
        found = read(cls, document, "encoding")
        if not found.columns:
            raise InputError("encoding: has no columns")
        for column in found.columns:
            if column.place >= len(schema.columns):
                raise InputError(
                    f"encoding: the schema has {len(schema.columns)} columns, got the place {column.place}"
                )
            if column.categories not in (0, len(schema.columns[column.place].categories)):
                name = schema.columns[column.place].name
                raise InputError(f"encoding: {name!r:.80} has not {column.categories} categories in the schema")
        return found


def fit_encoding(rows: Rows, collective: Collective) -> Encoding:
    """Return the encoding of all parties' rows.

    Sums, counts and maxima leave the party, and no maximum of a column whose range the schema makes public.
    """
    used = [(k, c) for k, c in enumerate(rows.schema.columns) if c.kind == "numeric" or c.categories]
    if not used:
        raise DataError("no column has a value at any party: there is nothing to learn from")
    ranges = _ranges(rows, used, collective)
    own = [_counts(rows.X[:, k], column, rows.weights) for k, column in used]
    add: Callable[[Counts], Counts] = (
        collective.add_integers if rows.weights is None else partial(added, collective=collective)
    )
    counts = np.split(add(np.concatenate(own)), np.cumsum([len(part) for part in own])[:-1])
    parts = np.array([_sum(rows.X[:, k], *ranges[k], rows.weights) for k in ranges])
    sums = dict(zip(ranges, added(parts, collective), strict=True))
    return Encoding(
        tuple(
            _number(k, ranges[k], sums[k], count) if k in ranges else _category(k, column, count)
            for (k, column), count in zip(used, counts, strict=True)
        )
    )


def _ranges(rows: Rows, used: list[tuple[int, Column]], collective: Collective) -> dict[int, tuple[float, float]]:
    """Return the numeric columns' lows and highs, by their places."""
    numeric = [(k, column) for k, column in used if column.kind == "numeric"]
    ranges = {k: (c.low, c.high) for k, c in numeric if c.low is not None and c.high is not None}
    asked = [k for k, _ in numeric if k not in ranges]
    if asked:
        X = rows.X[:, asked]
        both = np.stack([X, -X])
        extremes = np.max(both, axis=1, initial=LOWEST, where=~np.isnan(both))
        highs, lows = largest(extremes.ravel(), collective).reshape(2, -1) * [[1], [-1]]
        nowhere = lows > highs  # no party has a value
        pairs = zip(asked, np.where(nowhere, 0, lows), np.where(nowhere, 0, highs), strict=True)
        ranges |= {k: (float(low), float(high)) for k, low, high in pairs}
    return ranges


def _counts(values: Floats, column: Column, weights: Floats | None) -> Counts:
    """Return a column's (count of each category, present count, missing count); of rows with weights, their sums."""
    known = ~np.isnan(values)
    own = np.ones(len(values), dtype=np.int64) if weights is None else weights
    codes = values[known].astype(np.int64)
    categories = np.bincount(codes, own[known], len(column.categories)) if column.categories else ()
    return np.array([*categories, own[known].sum(), own[~known].sum()], dtype=own.dtype)


def _sum(values: Floats, low: float, high: float, weights: Floats | None) -> float:
    """Return the sum of a column's scaled numbers, each by its row's weight."""
    known = ~np.isnan(values)
    scaled = _scaled(values[known], low, high)
    return float((scaled if weights is None else scaled * weights[known]).sum())


def _category(place: int, column: Column, counts: Counts) -> EncodedColumn:
    return EncodedColumn(place, len(column.categories), 0.0, 0.0, float(np.argmax(counts[:-2])), bool(counts[-1] > 0))


def _number(place: int, span: tuple[float, float], total: float, counts: Counts) -> EncodedColumn:
    present, missing = counts
    return EncodedColumn(place, 0, *span, float(total / present) if present else 0.0, bool(missing > 0))


def _scaled(values: Floats, low: float, high: float) -> Floats:
    """Return :math:`(x - low) / (high - low)`; where that is nothing by nothing, 0."""
    return (values - low) / (high - low) if high > low else np.zeros_like(values)
