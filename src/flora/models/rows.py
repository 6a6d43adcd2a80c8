"""A table as numbers: what the families learn from. Nothing here leaves the party."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flora.core.naming import nearest
from flora.core.rules import one_line
from flora.errors import DataError
from flora.problem.schema import Column, Label, Schema

if TYPE_CHECKING:
    import pandas as pd  # the aggregator knows families too, and has no tables

Floats = NDArray[np.float64]


MARKERS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "-", "--", "?", "."})  # among numbers: missing
NUMBERS = (int, float, np.number, np.bool_, Decimal)


@dataclass(frozen=True)
class Rows:
    """Rows as numbers: categories are places in the column's list, what is missing or unheard of is NaN."""

    X: Floats  # (n, d)
    y: NDArray[Any]  # (n,): places in the list of classes, or real numbers
    schema: Schema
    weights: Floats | None = None  # (n,): how much each counts, above 0; None: all the same

    def __len__(self) -> int:
        return len(self.y)

    def take(self, index: NDArray[np.intp]) -> "Rows":
        """Return the rows at ``index``."""
        return Rows(self.X[index], self.y[index], self.schema, None if self.weights is None else self.weights[index])

    def with_positive(self, label: Label | None) -> "Rows":
        """Return the same rows with a class as the last of two; of one class only, nothing is asked of the last."""
        schema = self.schema if len(self.schema.classes) == 1 else self.schema.with_positive(label)
        if schema.classes == self.schema.classes:
            return self
        return Rows(self.X, 1 - self.y, schema, self.weights)

    @property
    def weight(self) -> float:
        """What all rows weigh together: their number where they have no weights."""
        return float(len(self.y) if self.weights is None else self.weights.sum())


def joined_weights(parts: Sequence[Rows]) -> Floats | None:
    """Return the weights of several parties' rows, one below the other; None where they have none."""
    known = [part.weights for part in parts if part.weights is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def encode(table: "pd.DataFrame", schema: Schema) -> Rows:
    """Return the rows as numbers. Rows without a target, or of weight 0, are left out; columns go by name."""
    if schema.target not in table.columns:
        raise not_in_table("target", schema.target, table.columns)
    kept, weights = counted(table, schema.target, schema.weight)
    return Rows(encode_features(kept, schema), _encode_target(kept[schema.target], schema), schema, weights)


def counted(table: "pd.DataFrame", target: str, weight: str | None) -> "tuple[pd.DataFrame, Floats | None]":
    """Return the rows that count, with a target and a weight above 0, and how much each counts where that differs."""
    kept = table[table[target].notna()]
    if weight is None:
        return kept, None
    weights = _weights(kept, weight)
    return kept[weights > 0], weights[weights > 0]


def _weights(table: "pd.DataFrame", name: str) -> Floats:
    """Return how much each row counts: numbers of at least 0, not all of them 0."""
    if name not in table.columns:
        raise not_in_table("weight", name, table.columns)
    found = to_numbers(f"weight {name!r}", table[name])
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(wrong):
        got = "nothing" if np.isnan(found[wrong[0]]) else f"{found[wrong[0]]:g}"
        raise DataError(
            f"weight {name!r}: must be a number of at least 0 in each row, got {got} in row {_row(table, wrong[0])}"
        )
    if not 0 < found.sum() < np.inf:
        raise DataError(f"weight {name!r}: must add up to a number above 0, got {found.sum():g}")
    return found


def _row(table: "pd.DataFrame", place: int) -> Any:
    """Return a row's number in its file, as far as the table still knows it."""
    label = table.index[place]
    return int(label) + 1 if isinstance(label, int | np.integer) else label


def encode_features(table: "pd.DataFrame", schema: Schema) -> Floats:
    """Return the features as numbers: (n, d), in the schema's order of columns."""
    missing = sorted(set(schema.names) - set(table.columns))
    if missing:
        one = len(missing) == 1
        what = f"column {missing[0]!r} is" if one else f"{len(missing)} columns are"
        which = "" if one else f" ({listed(missing)})"
        raise DataError(f"{what} missing{which}, columns are {listed(table.columns)}")
    columns = [_encode_column(table[column.name], column) for column in schema.columns]
    return np.column_stack(columns) if columns else np.empty((len(table), 0))


def label_of(target: str, value: Any) -> Label:
    """Return a class label as JSON can hold it: whole numbers as int, all else as text or bool."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, NUMBERS):
        if not float(value).is_integer():
            raise DataError(f"target {target!r}: a class is text or a whole number, got {value}; say --task regression")
        return int(value)
    return str(value)


def category_of(value: Any) -> str:
    """Return a category's text: 1.0 and 1 are the same."""
    if isinstance(value, float | np.floating) and value % 1 == 0:
        return str(int(value))
    return str(value)


def _encode_column(values: "pd.Series[Any]", column: Column) -> Floats:
    if column.kind == "empty":
        return np.full(len(values), np.nan)
    if column.kind == "numeric":
        numbers = feature_numbers(column.name, values)
        return np.where(np.isinf(numbers), np.nan, numbers)  # an overflow is a missing value
    place = {category: float(k) for k, category in enumerate(column.categories)}
    codes, found = _factorize(values)
    places = [place.get(category_of(value), np.nan) for value in found]
    return np.array([*places, np.nan])[codes]  # what is missing has the code -1: the last


def feature_numbers(name: str, values: "pd.Series[Any]") -> Floats:
    """Return a numeric column's values as floats; the usual markers of a missing value are NaN."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(values):
        marked = [isinstance(value, str) and value.strip().lower() in MARKERS for value in values]
        values = values.mask(np.array(marked, dtype=bool)) if any(marked) else values
    return to_numbers(f"column {name!r}", values)


def to_numbers(what: str, values: "pd.Series[Any]") -> Floats:
    """Return a column's values as floats; ``what`` names the column in the error."""
    import pandas as pd

    source = values if pd.api.types.is_numeric_dtype(values) else values.astype(object)
    try:
        return np.asarray(source.to_numpy(dtype=np.float64, na_value=np.nan))
    except (ValueError, TypeError):
        text = next(str(value) for value in values.dropna() if not _is_number(value))
        raise DataError(f"{what}: must be numeric, got {text!r:.40}") from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (ValueError, TypeError):
        return False
    return True


def target_numbers(target: str, values: "pd.Series[Any]") -> Floats:
    """Return a target's values as finite floats."""
    numbers = to_numbers(f"target {target!r}", values)
    if np.isinf(numbers).any():
        raise DataError(f"target {target!r}: must be finite, got {numbers[np.isinf(numbers)][0]}")
    return numbers


def _encode_target(values: "pd.Series[Any]", schema: Schema) -> NDArray[Any]:
    if schema.task == "regression":
        return target_numbers(schema.target, values)
    codes, found = _factorize(values.astype(object))
    places = places_of([label_of(schema.target, value) for value in found], schema)
    return np.array(places, dtype=np.int64)[codes]


def places_of(labels: Sequence[Label], schema: Schema) -> list[int]:
    """Return the indices of labels among the classes."""
    place = {(type(label), label): k for k, label in enumerate(schema.classes)}  # True is not 1
    for label in labels:
        if (type(label), label) not in place:
            raise DataError(f"target {schema.target!r}: {label!r} is not among the classes {list(schema.classes)[:10]}")
    return [place[type(label), label] for label in labels]


def _factorize(values: "pd.Series[Any]") -> tuple[NDArray[np.intp], "pd.Index"]:
    import pandas as pd

    return pd.factorize(values)


def not_in_table(what: str, name: str, columns: "pd.Index") -> DataError:
    """Return the error for a column that a table lacks, with the one that was probably meant."""
    meant = nearest(name, map(str, columns))
    hint = "" if meant is None else f"; did you mean {meant!r:.80}?"
    if len(columns) == 1:
        hint = "; if that is several, say --sep"
    return DataError(f"{what} {name!r} is not in the table, columns are {listed(columns)}{hint}")


def listed(names: "Sequence[Any] | pd.Index") -> str:
    """Return the first names, and how many there are."""
    shown = ", ".join(one_line(f"{name!s:.80}") for name in list(names)[:12])
    return shown if len(names) <= 12 else f"{shown}, ... ({len(names)} in all)"
