"""Tables of all kinds, and parties that hold them unevenly: what several tests of the trees share."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flora.core.collective import Floats
from flora.models.rows import Rows
from flora.problem.schema import Column, Schema

COLUMNS = 7


def schema_of(categories: Sequence[int], classes: int) -> Schema:
    """Columns c0, c1, ...: of categories where a number is given, else numeric."""
    columns = tuple(
        Column(f"c{k}", "categorical" if count else "numeric", tuple(f"{j:03}" for j in range(count)))
        for k, count in enumerate(categories)
    )
    return Schema("t", "classification" if classes else "regression", columns, tuple(range(classes)))


def signal(X: Floats, rng: np.random.Generator) -> Floats:
    """A target with steps, a product and noise."""
    known = np.nan_to_num(X)
    return known[:, 3] + known[:, 4] * known[:, 5] + (known[:, 6] > 0.3) + rng.normal(0, 0.5, len(X))


def rows_of(X: Floats, target: Floats, classes: int, categories: Sequence[int] = (0,) * COLUMNS) -> Rows:
    """Return rows whose classes, if any, are equal parts of the target's range."""
    y: Any = target
    if classes:
        y = np.digitize(target, np.quantile(target, np.arange(1, classes) / classes)).astype(np.int64)
    return Rows(X, y, schema_of(categories, classes))


def numbers(rng: np.random.Generator, rows: int) -> Floats:
    return rng.normal(size=(rows, COLUMNS))


def with_missing(rng: np.random.Generator, rows: int) -> Floats:
    X = numbers(rng, rows)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def few_values(rng: np.random.Generator, rows: int) -> Floats:
    return np.round(2 * numbers(rng, rows)) / 2


def odd_columns(rng: np.random.Generator, rows: int) -> Floats:
    """A constant column, one that is mostly zero, one with heavy tails, and one that is mostly missing."""
    X = numbers(rng, rows)
    X[:, 0] = 7.0
    X[:, 3] = np.where(rng.random(rows) < 0.9, 0.0, np.exp(X[:, 3]))
    X[:, 4] = np.sign(X[:, 4]) * np.exp(4 * np.abs(X[:, 4]))
    X[rng.random(rows) < 0.9, 6] = np.nan
    return X


def with_categories(rng: np.random.Generator, rows: int) -> Floats:
    """Columns of 3, 40 and 200 categories, and missing values in all columns."""
    X = with_missing(rng, rows)
    for k, count in enumerate(CATEGORIES):
        if count:
            codes = np.minimum(rng.integers(0, count, rows), rng.integers(0, count, rows))
            codes[:count] = np.arange(count)  # every category is there: scikit-learn knows no others
            X[:, k] = np.where(np.isnan(X[:, k]) & (np.arange(rows) >= count), np.nan, codes)
    return X


CATEGORIES = (3, 40, 200, 0, 0, 0, 0)
KINDS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "numbers": numbers,
    "missing values": with_missing,
    "few values": few_values,
    "odd columns": odd_columns,
    "categories": with_categories,
}


def table(kind: str, classes: int, rows: int = 1500, seed: int = 0) -> Rows:
    """Return a table of a kind; 0 classes are a regression."""
    rng = np.random.default_rng([seed, rows])
    X = KINDS[kind](rng, rows)
    categories = CATEGORIES if kind == "categories" else (0,) * COLUMNS
    target = signal(X, rng)
    if kind == "categories":
        effects = rng.normal(size=256)
        target += sum(effects[np.nan_to_num(X[:, k]).astype(int)] for k in range(3))
    return rows_of(X, target, classes, categories)


def uneven(rows: Rows) -> list[Rows]:
    """Return five parties by the last column: they are not alike, one has a single row and one has none."""
    order = np.lexsort([rows.y, np.nan_to_num(rows.X[:, -1])])
    cuts = [1, len(order) // 10, len(order) // 10, len(order) // 2]
    return [rows.take(index) for index in np.split(order, cuts)]
