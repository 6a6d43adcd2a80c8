"""A party's rows: from a file to numbers. Nothing here leaves the party."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from flora.errors import DataError
from flora.models.rows import (
    NUMBERS,
    Rows,
    category_of,
    encode,
    label_of,
    listed,
    places_of,
    target_numbers,
    to_numbers,
)
from flora.problem.schema import Column, Kind, Label, Schema, Task

MOST_CLASSES = 20  # whole numbers with more distinct values are taken for a quantity
MOST_CATEGORIES = 1000
DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T]\d{1,2}:\d{2}.*)?\s*")


@dataclass(frozen=True)
class Table:
    """A party's rows as they came, with the column to predict and those to leave out."""

    frame: pd.DataFrame
    target: str
    drop: Sequence[str] = ()

    @property
    def count(self) -> int:
        """The number of rows that have a target."""
        return int(self.frame[self.target].notna().sum()) if self.target in self.frame.columns else len(self.frame)

    def described(self, task: Task | None, like: Schema | None) -> tuple[Schema, int, list[str]]:
        """Return the schema, the number of rows with a target, and what the user should know."""
        schema = describe(self.frame, self.target, task=task, like=like, drop=self.drop)
        rows = self.count
        constant = constant_columns(self.frame, schema)
        notes = [f"one value only in {_columns(constant)}"] if constant else []
        if rows < len(self.frame):
            notes.append(f"{len(self.frame) - rows} rows without a target are left out")
        return schema, rows, notes

    def local_rows(self, task: Task | None, like: Schema | None) -> Rows:
        """Return the rows for the local search.

        They depend on this party's table and the columns' kinds alone, not on the other parties' categories or
        classes: so a party that searches by itself finds the same trials as one in a federation.
        """
        schema = describe(self.frame, self.target, task=task, like=like, drop=self.drop)
        filled = tuple(column for column in schema.columns if self.frame[column.name].notna().any())
        if not filled:
            raise DataError("need at least one column with values besides the target, got none")
        return encode(self.frame, replace(schema, columns=filled))

    def rows(self, schema: Schema) -> Rows:
        """Return the rows as the agreed schema has them."""
        return encode(self.frame, schema)


def _columns(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return f"column {shown}" if len(names) == 1 else f"{len(names)} columns: {shown}{', ...' * (len(names) > 5)}"


def read_table(path: str | Path) -> pd.DataFrame:
    """Return the table of a CSV file (``.gz`` too) or a Parquet file."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        table = pd.read_parquet(path) if path.suffix in (".parquet", ".pq") else _read_csv(path)
    except pd.errors.EmptyDataError:
        raise DataError(f"{path}: the file is empty, expected a table with a header") from None
    except DataError:
        raise
    except (ValueError, OSError, EOFError, zlib.error, NotImplementedError, KeyError, TypeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]  # a ParserError is a ValueError
        raise DataError(f"{path}: not a table that can be read ({reason})") from error
    if table.empty:
        raise DataError(
            f"{path}: need at least one row, got a table of {len(table)} rows, {len(table.columns)} columns"
        )
    table = table.rename(columns=str)
    _check_header(path, table.columns)
    return table


def _read_csv(path: Path) -> pd.DataFrame:
    packed: Literal["gzip"] | None = "gzip" if path.suffix == ".gz" else None
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, compression=packed)
    names = pd.Index(header.iloc[0])  # as written: pandas would rename what comes twice
    _check_header(path, names[names != ""])
    table = pd.read_csv(path, low_memory=False, compression=packed)
    if not table.index.equals(pd.RangeIndex(len(table))):  # pandas would take the surplus for row names
        raise DataError(f"{path}: the rows have more values than the header's {len(names)} names")
    return table


def _check_header(path: Path, names: pd.Index) -> None:
    for separator, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(names) == 1 and separator in names[0]:
            raise DataError(f"{path}: the file seems to be separated by {called}, expected commas: {names[0]!r:.60}")
    repeated = names[names.duplicated()]
    if len(repeated):
        raise DataError(f"{path}: column names must differ, {repeated[0]!r} comes twice")


def describe(
    table: pd.DataFrame, target: str, *, task: Task | None = None, like: Schema | None = None, drop: Sequence[str] = ()
) -> Schema:
    """Return the schema of one party's table; ``like`` (the consortium's) decides the kinds where it is given."""
    _check_columns(table, target, drop, like)
    known = {column.name: column for column in like.columns} if like else {}
    names = sorted(set(map(str, table.columns)) - {target} - set(drop))
    columns = tuple(_describe_column(table[name], known.get(name)) for name in names)
    values = table[target].dropna()
    _refuse_dates(f"target {target!r}", values, "turn it into numbers (days since an event, year, month)")
    task = (like.task if like else None) or task or _task_of(target, values)
    if task == "regression":
        target_numbers(target, values)
        return Schema(target, task, columns)
    classes = _classes_of(target, values)
    if like:
        places_of(classes, like)
    return Schema(target, task, columns, classes)


def constant_columns(table: pd.DataFrame, schema: Schema) -> list[str]:
    """Return the names of columns with one value only: no error, but worth a warning."""
    return [name for name in schema.names if table[name].nunique(dropna=False) <= 1]


def _check_columns(table: pd.DataFrame, target: str, drop: Sequence[str], like: Schema | None) -> None:
    for name in (target, *drop):
        if name not in table.columns:
            what = "target" if name == target else "dropped column"
            raise DataError(f"{what} {name!r} is not in the table, columns are {listed(table.columns)}")
    if like is not None:
        if like.target != target:
            raise DataError(f"the schema's target is {like.target!r}, got {target!r}")
        for name in sorted((set(table.columns) - {target} - set(drop)) ^ set(like.names)):
            where = "the schema, not in the table" if name in like.names else "the table, not in the schema"
            raise DataError(f"column {name!r} is in {where}")
    if table[target].notna().sum() == 0:
        raise DataError(f"target {target!r}: every value is missing")


def _describe_column(values: "pd.Series[Any]", known: Column | None) -> Column:
    name, present = str(values.name), values.dropna()
    kind = known.kind if known and known.kind != "empty" else _kind_of(name, present)
    if kind == "categorical":
        found = tuple(sorted({category_of(value) for value in present.unique()}))
        if known is None:
            _refuse_free_text(name, found, len(present))
        return Column(name, "categorical", found)
    if kind == "numeric":
        to_numbers(f"column {name!r}", values)
    return Column(name, kind, low=known.low if known else None, high=known.high if known else None)


def _kind_of(name: str, present: "pd.Series[Any]") -> Kind:
    if present.empty:
        return "empty"
    if isinstance(present.dtype, pd.CategoricalDtype):
        return "categorical"
    if _is_numeric(present):
        return "numeric"
    _refuse_dates(
        f"column {name!r}",
        present,
        f"turn it into numbers (days since an event, year, month), or leave it out with --drop {name}",
    )
    if present.dtype == object and not present.map(pd.api.types.is_scalar).all():
        raise DataError(f"column {name!r}: a value is a number, a bool or a text, got {present.iloc[0]!r:.40}")
    return "categorical"


def _is_numeric(present: "pd.Series[Any]") -> bool:
    if pd.api.types.is_numeric_dtype(present):
        return not pd.api.types.is_complex_dtype(present)
    return present.dtype == object and all(isinstance(value, NUMBERS) for value in present)


def _refuse_dates(what: str, present: "pd.Series[Any]", advice: str) -> None:
    sample = present.iloc[:: max(1, len(present) // 100)].astype(str)
    typed = pd.api.types.is_datetime64_any_dtype(present) or pd.api.types.is_timedelta64_dtype(present)
    if typed or sample.map(lambda text: DATE.fullmatch(text) is not None).mean() > 0.9:
        raise DataError(f"{what}: dates are not supported, got {sample.iloc[0]!r:.40}; {advice}")


def _refuse_free_text(name: str, found: Sequence[str], count: int) -> None:
    many = len(found) > 20 and len(found) > count / 2
    if many or len(found) > MOST_CATEGORIES:
        raise DataError(
            f"column {name!r}: {len(found)} different texts in {count} rows look like free text or an identifier, "
            f"and a list of categories would leave the party; leave it out with --drop {name}, or group its values"
        )


def _task_of(target: str, values: "pd.Series[Any]") -> Task:
    if _is_numeric(values):
        numbers = target_numbers(target, values)
        if (numbers % 1 != 0).any() or len(np.unique(numbers)) > MOST_CLASSES:
            return "regression"
    return "classification"


def _classes_of(target: str, values: "pd.Series[Any]") -> tuple[Label, ...]:
    places, found = pd.factorize(values.astype(object))
    labels = [label_of(target, value) for value in found]
    counts = np.bincount(places)
    rarest = int(np.argmin(counts))
    if len(labels) < 2:
        raise DataError(f"target {target!r}: need at least 2 classes, every row has {labels[0]!r}")
    if len(labels) > MOST_CATEGORIES:
        raise DataError(f"target {target!r}: {len(labels)} classes; say --task regression if it is a quantity")
    if counts[rarest] < 2:
        raise DataError(f"target {target!r}: a class needs at least 2 rows, {labels[rarest]!r} has {counts[rarest]}")
    if len({type(label) for label in labels}) > 1:
        raise DataError(f"target {target!r}: classes must be of one type, got {labels[:5]}")
    return tuple(sorted(labels))
