"""Bins that all parties share, found by counts alone: no feature value leaves any party.

Parties tell each other one thing only: how many of their rows lie at or below a point. All that was heard of a column
is kept, and it is looked at twice:

1. The quantiles that part all rows into equal bins are looked for. A value that holds a bin's worth of rows, as the
   zeros of a column of amounts do, cannot be missed by them: it gets a bin of its own.
2. The bins that are left are spread over the rows that are left.

A point is taken as soon as its count is near enough, so it lies *between* values. The search closes in on a value only
where at least three rows share it, and not even a minimum or maximum is exchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Collective, Floats, Integers
from flora.models.rows import Rows
from flora.problem.schema import Schema

Keys = NDArray[np.int64]  # floating-point numbers by their place in the order of all of them; 0 is at 0
ROWS_A_BIN = 2  # with 3, a table of 145 rows (sonar) lost 0.0115 ± 0.0028 of AUC against pooled; with 2, 0.002 ± 0.003
SHARED_BY = 3  # rows: only a value that so many have is closed in on
WAYS = 8  # an exchange cuts each bracket into so many
SAME = 256  # values so many places apart count as equal: 2^-44 of their size
_LARGEST = int(np.array(np.finfo(np.float64).max).view(np.int64))


@dataclass(frozen=True, eq=False)
class Bins:
    """Each column's bins; bin k holds ``edges[k-1] < x <= edges[k]``, or the category k. The last: missing values."""

    edges: tuple[Floats, ...]  # none where the column is one of categories
    categories: tuple[int, ...]  # how many the column has; 0 where it is one of numbers
    missing: NDArray[np.bool_]  # whether any party has a missing value in the column
    most: int  # the largest number of bins beside that of missing values

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and bins of a histogram."""
        return len(self.edges), self.most + 1

    @cached_property
    def numbers(self) -> NDArray[np.uint32]:
        """How many bins each column has, beside that of missing values."""
        pairs = zip(self.edges, self.categories, strict=True)
        return np.array([count or len(edges) + 1 for edges, count in pairs], dtype=np.uint32)

    @cached_property
    def categorical(self) -> NDArray[np.uint8]:
        """1 for each column of categories, else 0."""
        return (np.array(self.categories, dtype=np.int64) > 0).astype(np.uint8)

    @cached_property
    def used(self) -> Integers:
        """The places of the bins that can hold rows, in a flat histogram: only these travel."""
        can_hold = np.arange(self.most + 1) < self.numbers[:, None]
        can_hold[:, -1] |= self.missing
        return np.flatnonzero(can_hold)

    def number(self, X: Floats) -> NDArray[np.uint8]:
        """Return each value's bin: (n, d) -> (n, d), one column after the other in memory."""
        found = np.full(X.shape, self.most, dtype=np.uint8, order="F")
        for k, (edges, count) in enumerate(zip(self.edges, self.categories, strict=True)):
            column = np.ascontiguousarray(X[:, k])
            known = ~np.isnan(column)
            values = column[known]
            found[known, k] = values if count else np.searchsorted(edges, values, side="left")
        return found


def agree_on_bins(rows: Rows, most: int, collective: Collective) -> Bins:
    """Return the bins of all parties' rows: at most ``most`` a column, and one for missing values.

    Args:
        rows: This party's own; there may be none.
        most: The largest number of bins.
        collective: Adds up counts. The arrays' shapes follow from the columns and from pooled counts.
    """
    X, categories = rows.X, binned_categories(rows.schema, most)
    missing = np.isnan(X)
    present, absent = collective.add_integers(np.array([(~missing).sum(axis=0), missing.sum(axis=0)]))
    numeric = [k for k, count in enumerate(categories) if not count]
    columns = [np.sort(X[~missing[:, k], k]) for k in numeric]
    found = dict(zip(numeric, _agree_on_edges(columns, present[numeric], collective, most), strict=True))
    edges = tuple(found.get(k, np.empty(0)) for k in range(len(categories)))
    return Bins(edges, categories, absent > 0, most)


def binned_categories(schema: Schema, most: int) -> tuple[int, ...]:
    """Return how many categories each column has, as far as they have bins of their own: else it is one of numbers.

    So is one with more categories than bins: its categories are in the order of their list.
    """
    counts = [len(column.categories) for column in schema.columns]
    return tuple(count if count <= most else 0 for count in counts)


@dataclass(frozen=True)
class _Known:
    """What is known of a column: how many of all parties' rows lie at or below each of some points."""

    keys: Keys  # ascending
    counts: Integers

    def having_heard(self, keys: Keys, counts: Integers) -> "_Known":
        """Return what is known with more points. Of those that part the rows alike, the first and the last are kept."""
        order = np.argsort(np.concatenate([self.keys, keys]), kind="stable")
        all_keys, all_counts = np.concatenate([self.keys, keys])[order], np.concatenate([self.counts, counts])[order]
        changes = np.diff(all_counts) != 0
        kept = np.append(True, changes) | np.append(changes, True)
        return _Known(all_keys[kept], all_counts[kept])

    def brackets(self, targets: Floats) -> Integers:
        """Return for each target the place i where ``counts[i] < target <= counts[i + 1]``."""
        return np.clip(np.searchsorted(self.counts, targets, side="left") - 1, 0, len(self.keys) - 2)

    def within_one_value(self, places: Integers) -> NDArray[np.bool_]:
        """Return which brackets are as narrow as a value."""
        return self.keys[places + 1] // SAME - self.keys[places] // SAME <= 1

    def questions(self, targets: Floats, tolerance: float) -> Keys:
        """Return the points to be asked for next: none where every target has one that is near enough."""
        places = self.brackets(targets)
        below, above = self.counts[places], self.counts[places + 1]
        settled = np.minimum(targets - below, above - targets) <= tolerance
        places = places[~(settled | self.within_one_value(places))]
        places = places[np.diff(places, prepend=-1) > 0]  # they are in order: each once
        low, high = self.keys[places], self.keys[places + 1]
        steps = high // WAYS - low // WAYS  # their difference may not fit into 64 bits
        return (low[:, None] + steps[:, None] * np.arange(1, WAYS)).ravel()

    def edges(self, counts: Integers) -> Floats:
        """Return for each count the middle of the points that have so many rows below: they part the rows alike."""
        first = np.searchsorted(self.counts, counts, side="left")
        last = np.searchsorted(self.counts, counts, side="right") - 1
        return _values(self.keys[first]) / 2 + _values(self.keys[last]) / 2


@dataclass(frozen=True)
class _Plan:
    """Where a column's edges are looked for: at these numbers of rows below, with so many rows between them."""

    targets: Floats
    spacing: float

    @classmethod
    def sparing(cls, heavy: Integers, rows: int, most: int) -> "_Plan":
        """Return the plan that parts the rows outside of ``heavy`` values, in ascending order, into equal bins."""
        free = most - 1 - len(_sides(heavy, rows, most - 1))
        rest = rows - int((heavy[:, 1] - heavy[:, 0]).sum())
        number = int(np.clip(rest // ROWS_A_BIN - 1, 0, max(free, 0)))
        spacing = rest / (number + 1)
        targets = spacing * np.arange(1, number + 1)
        # From ranks among the rest to ranks among all: the heavy rows below a target are to be counted too.
        before = np.concatenate([[0], np.cumsum(heavy[:, 1] - heavy[:, 0])])
        return cls(targets + before[np.searchsorted(heavy[:, 0] - before[:-1], targets)], spacing)

    @property
    def tolerance(self) -> float:
        """How many rows away from its target a point may be."""
        return max(1.0, self.spacing // 8)

    def points(self, known: _Known) -> Integers:
        """Return the counts at the points that are nearest to the targets."""
        places = known.brackets(self.targets)
        below, above = known.counts[places], known.counts[places + 1]
        return np.unique(np.where(self.targets - below <= above - self.targets, below, above))

    def heavy_values(self, known: _Known) -> Integers:
        """Return the rows below, and those below or at, each value that holds a bin's worth of rows: (values, 2)."""
        places = known.brackets(self.targets)
        ends = np.column_stack([known.counts[places], known.counts[places + 1]])
        full = ends[:, 1] - ends[:, 0] >= max(self.spacing, SHARED_BY)
        return np.unique(ends[full & known.within_one_value(places)], axis=0)


def _agree_on_edges(columns: Sequence[Floats], rows: Integers, collective: Collective, most: int) -> list[Floats]:
    """Return each column's edges; ``columns`` are one party's sorted values, ``rows`` count all parties'."""
    known = [_Known(np.array([-_LARGEST, _LARGEST]), np.array([0, count])) for count in rows]
    heavy = [np.empty((0, 2), dtype=np.int64) for _ in columns]
    plans: list[_Plan] = []
    for _ in range(2):
        plans = [_Plan.sparing(found, int(count), most) for found, count in zip(heavy, rows, strict=True)]
        known = _settle(columns, known, plans, collective)
        more = [plan.heavy_values(about) for plan, about in zip(plans, known, strict=True)]
        heavy = [np.unique(np.concatenate(both), axis=0) for both in zip(heavy, more, strict=True)]
    points = [plan.points(about) for plan, about in zip(plans, known, strict=True)]
    return [_edges(*each, most) for each in zip(known, heavy, points, rows.tolist(), strict=True)]


def _settle(
    columns: Sequence[Floats], known: Sequence[_Known], plans: Sequence[_Plan], collective: Collective
) -> list[_Known]:
    """Ask for counts until every target is settled; one exchange serves all columns."""
    now = list(known)
    while True:
        asked = [about.questions(plan.targets, plan.tolerance) for about, plan in zip(now, plans, strict=True)]
        sizes = [len(keys) for keys in asked]
        if not any(sizes):
            return now
        own = [np.searchsorted(column, _values(keys), "right") for column, keys in zip(columns, asked, strict=True)]
        heard = np.split(collective.add_integers(np.concatenate(own)), np.cumsum(sizes)[:-1])
        now = [
            about.having_heard(keys, counts) if len(keys) else about
            for about, keys, counts in zip(now, asked, heard, strict=True)
        ]


def _edges(known: _Known, heavy: Integers, points: Integers, rows: int, most: int) -> Floats:
    """Return at most ``most - 1`` edges: both sides of heavy values, the heaviest first, then points where room is."""
    sides = _sides(heavy, rows, most - 1)
    others, room = np.setdiff1d(points, sides), most - 1 - len(sides)
    if len(others) > room:
        others = others[np.linspace(0, len(others) - 1, room).astype(np.int64)]
    counts = np.union1d(sides, others)
    return known.edges(counts[(counts > 0) & (counts < rows)])


def _sides(heavy: Integers, rows: int, room: int) -> Integers:
    """Return the numbers of rows below and above heavy values, the heaviest first, as long as there is room."""
    found: set[int] = set()
    for below, upto in heavy[np.argsort(heavy[:, 0] - heavy[:, 1], kind="stable")].tolist():
        new = {below, upto} - {0, rows} - found  # an edge parts some rows from others
        if len(found) + len(new) > room:
            break
        found |= new
    return np.array(sorted(found), dtype=np.int64)


def _values(keys: Keys) -> Floats:
    """Return the floating-point numbers at places in their order."""
    return np.where(keys < 0, -1.0, 1.0) * np.abs(keys).view(np.float64)
