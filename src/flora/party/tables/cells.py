"""Cells as people write them: what is blank is missing, and so are the usual markers where the rest are numbers."""

import re
from typing import Any

import pandas as pd

from flora.models.rows import MARKERS
from flora.party.tables.format import Say, TableFormat

DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")
SIGNS = re.compile(r"[$€£¥%]|\b(USD|EUR|GBP|CHF)\b")  # beside a number
PLAIN = re.compile(r"[-+]?\d*[.,]?\d+")
GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(([,\s'’]\d{3})+(\.\d+)?|([.\s'’]\d{3})+,\d+|(\.\d{3}){2,})")  # 12,345.6
ONE_COMMA = re.compile(r"[-+]?\d{1,3},\d{3}")  # 1,234: grouped digits, or three decimals
FEW = 0.1  # of a column's cells: with more of them that are no numbers, it is a column of texts
MANY_NUMBERS = 20  # with more different numbers a column is a quantity, not a code


def tidied(table: pd.DataFrame, form: TableFormat, say: Say, *, typed: bool) -> pd.DataFrame:
    """Return the table with blank texts missing; columns of numbers and markers are numbers, unless cells have types.

    Parquet and Feather say themselves what is text: there a text of digits stays one.
    """
    changed: dict[str, pd.Series[Any]] = {}
    for name in table.columns:
        values = table[name]
        if not is_text(values):
            continue
        tidy = _without_blanks(values, form)
        numbers = None if typed else _numbers_with_markers(tidy, form)
        if numbers is not None:
            odd = tidy[tidy.notna() & numbers.isna()]
            if len(odd):
                shown = ", ".join(repr(str(text).strip()) for text in odd.unique()[:3])
                say(f"column {name!r}: {shown} in {len(odd)} of {len(values)} cells is taken for missing")
            tidy = numbers
        elif not typed and form.decimal == ",":
            tidy = _with_points(tidy)
        if tidy is not values:
            changed[name] = tidy
    if not changed:
        return table
    return pd.DataFrame({name: changed.get(name, table[name]) for name in table.columns}, index=table.index)


def is_text(values: "pd.Series[Any]") -> bool:
    """Return whether a column has texts in it, alone or among others."""
    if isinstance(values.dtype, pd.StringDtype):
        return True
    return values.dtype == object and any(isinstance(value, str) for value in values)


def _without_blanks(values: "pd.Series[Any]", form: TableFormat) -> "pd.Series[Any]":
    blank = _stripped(values).isin(["", *form.missing])
    return values.mask(blank) if blank.any() else values


def _stripped(values: "pd.Series[Any]") -> "pd.Series[Any]":
    return values.map(lambda value: value.strip() if isinstance(value, str) else None)


def _numbers_with_markers(values: "pd.Series[Any]", form: TableFormat) -> "pd.Series[Any] | None":
    """Return a column as numbers where all that is none is a marker of a missing value; None for other columns."""
    present = values.dropna()
    numbers = as_numbers(present, form.decimal or ".")
    odd = present[numbers.isna()]
    if numbers.notna().any() and all(isinstance(text, str) and text.strip().lower() in MARKERS for text in odd):
        return numbers.reindex(values.index)
    return None


def _with_points(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column of texts with its decimal commas as points, if it is a column of numbers but for a few cells."""
    numbers = as_numbers(values.dropna(), ",")
    if numbers.empty or numbers.notna().mean() < 1 - FEW:
        return values
    return values.astype(object).where(numbers.reindex(values.index).isna(), numbers.map(repr))


def as_numbers(present: "pd.Series[Any]", decimal: str = ".") -> "pd.Series[float]":
    """Return what each value is as a number, NaN where it is none."""
    texts = present.map(lambda value: value.strip() if isinstance(value, str) else value)
    if decimal != ".":
        texts = texts.map(lambda v: v.replace(decimal, ".") if isinstance(v, str) and v.count(decimal) == 1 else v)
    return pd.to_numeric(texts.astype(object), errors="coerce").astype(float)


def nearly_numeric(present: "pd.Series[Any]") -> tuple[str, str] | None:
    """Return what is wrong with a column of numbers in which a few cells are none, and what helps; None for others."""
    numbers = as_numbers(present)
    odd = present[numbers.isna()]
    if 0 < len(odd) <= FEW * len(present) and numbers.nunique() > MANY_NUMBERS:
        first = str(odd.iloc[0])
        what = f"numeric but for {len(odd)} of {len(present)} cells, such as {first!r:.40} in row {_row(odd)}"
        return what, f"mend the cells, or say --missing {_quoted(first)} where it stands for a missing value"
    commas = present.map(lambda value: isinstance(value, str) and DECIMAL_COMMA.fullmatch(value) is not None)
    if commas.mean() >= 1 - FEW and present.nunique() > MANY_NUMBERS:
        return f"numbers with decimal commas, such as {present[commas].iloc[0]!r:.40}", "say --decimal ','"
    return None


def dressed_numbers(present: "pd.Series[Any]") -> tuple[str, str] | None:
    """Return what is wrong with a column of numbers with signs or grouped digits, and what helps; None for others."""
    texts = present[[isinstance(value, str) for value in present]].str.strip()
    bare = texts.str.replace(SIGNS, "", regex=True).str.strip()
    grouped = bare.map(lambda text: GROUPED.fullmatch(text) is not None)
    numbers = grouped | bare.map(lambda text: PLAIN.fullmatch(text) is not None)
    if texts.nunique() <= MANY_NUMBERS or numbers.sum() < (1 - FEW) * len(present):
        return None
    dressed = numbers & ((bare != texts) | grouped)
    decimal = numbers & ~dressed & bare.str.contains(",")  # 0,5 or 12,25: a comma there is decimal
    if not dressed.any() or decimal.any():
        return None
    thousandths = texts[dressed].map(lambda text: ONE_COMMA.fullmatch(text) is not None).all()
    other = " (if the comma is a decimal sign: --decimal ',')" if thousandths else ""
    what = f"numbers with signs or grouped digits, such as {texts[dressed].iloc[0]!r:.40}"
    return what, f"write them as plain numbers, such as 12345.6{other}"


def _row(values: "pd.Series[Any]") -> Any:
    label = values.index[0]
    return int(label) + 1 if pd.api.types.is_integer(label) else label


def _quoted(text: str) -> str:
    return f"'{text:.40}'" if re.search(r"[^\w./-]", text) or not text else text
