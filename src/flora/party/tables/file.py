"""A party's file as a table: CSV as it is written in Europe and elsewhere, Parquet, Feather, Excel."""

import csv
import gzip
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from flora.core.rules import one_line
from flora.errors import DataError
from flora.party.tables.cells import tidied
from flora.party.tables.database import is_database, name_of_database, read_database
from flora.party.tables.format import SEPARATORS, Say, TableFormat, unsaid
from flora.party.tables.kinds import ADVICE, READABLE, SQLITE, kind_of_file

USUAL = TableFormat(",", ".", "utf-8")
SNIFFED = 1 << 16  # bytes, which tell separator and decimal sign
COMMA_NUMBER = re.compile(r"\s*[-+]?\d+,\d+\s*")
POINT_NUMBER = re.compile(r"\s*[-+]?\d+\.\d+\s*")
NUMBER = re.compile(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)
NO_HEADER = "where the first line is a row, write a line of names above it"
SURPLUS = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")  # as pandas says it
UNCLOSED = re.compile(r"EOF inside string starting at row (\d+)")


def read_table(path: str | Path, form: TableFormat = TableFormat(), say: Say = unsaid) -> pd.DataFrame:  # noqa: B008
    """Return the table of a file, whatever its kind; ``say`` hears what was found out about it."""
    if is_database(path):
        return _from_database(str(path), form, say)
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: {'a folder, expected a table' if path.is_dir() else 'no such file'}")
    try:
        table = _read(path, form, lambda text: say(f"{name_of_table(path)}: {text}"))
    except pd.errors.EmptyDataError:
        raise DataError(f"{path}: the file is empty, expected a table with a header") from None
    except DataError:
        raise
    except Exception as error:  # readers of five formats fail in many ways: none of them is a crash
        reason = _in_words((str(error).strip() or type(error).__name__).splitlines()[0])
        raise DataError(one_line(f"{path}: not a table that can be read ({reason:.200})")) from error
    if table.empty:
        raise DataError(
            f"{path}: need at least one row, got a table of {len(table)} rows, {len(table.columns)} columns"
        )
    return table


def _in_words(reason: str) -> str:
    """Return why the reader of CSV stopped, for somebody who sees the file and not the reader."""
    surplus, unclosed = SURPLUS.search(reason), UNCLOSED.search(reason)
    if surplus:
        wanted, line, found = surplus.groups()
        return f"line {line} has {found} cells, the lines before it {wanted}"
    return f"a quote in line {int(unclosed[1]) + 1} is never closed" if unclosed else reason


def name_of_table(path: str | Path) -> str:
    """Return what a table is called before what is said of it."""
    return name_of_database(str(path)) if is_database(path) else Path(path).name


def _from_database(address: str, form: TableFormat, say: Say) -> pd.DataFrame:
    name = name_of_table(address)
    table = read_database(address).rename(columns=str)
    if table.empty:
        raise DataError(f"{name}: need at least one row, got a table of {len(table)} rows")
    _check_header(Path(name), table.columns)
    return tidied(table, form, lambda text: say(f"{name}: {text}"), typed=True)


def _read(path: Path, form: TableFormat, say: Say) -> pd.DataFrame:
    kind = kind_of_file(path)
    if kind not in READABLE:
        advice = f"name one of its own: sqlite:///{path}?table=NAME" if kind == SQLITE else ADVICE
        raise DataError(f"{path}: it is {kind}, expected a table; {advice}")
    if kind in ("csv", "csv.gz"):
        table, form = _read_csv(path, form, say, packed=kind == "csv.gz")
    elif kind == "excel":
        table = _read_excel(path, say)
    else:
        table = _read_columns(path, kind)
    table = table.rename(columns=str)
    _check_header(path, table.columns)
    return tidied(table, form, say, typed=kind in ("parquet", "feather"))


def _read_csv(path: Path, form: TableFormat, say: Say, *, packed: bool) -> tuple[pd.DataFrame, TableFormat]:
    with gzip.open(path) if packed else path.open("rb") as file:
        head = file.read(SNIFFED)
    for encoding in [form.encoding] if form.encoding else _encodings(head):
        found = _sniffed(head.decode(encoding, "replace"), replace(form, encoding=encoding))
        try:
            table = _parsed(path, found, "gzip" if packed else None)
        except UnicodeDecodeError as error:
            wrong = error
            continue
        _say_found(form, found, say)
        _say_odd_header(table.columns, say)
        return table, found
    asked = form.encoding or "UTF-8 nor Windows-1252"
    raise DataError(f"{path}: its text is not {asked} ({wrong.reason}); say which with --encoding") from wrong


def _encodings(head: bytes) -> tuple[str, ...]:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return ("utf-16",)
    return ("utf-8-sig",) if head.startswith(b"\xef\xbb\xbf") else ("utf-8", "cp1252")


def _parsed(path: Path, form: TableFormat, packed: Literal["gzip"] | None) -> pd.DataFrame:
    options: Any = {"sep": form.sep, "encoding": form.encoding, "compression": packed, "skipinitialspace": True}
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    names = pd.Index(header.iloc[0]).str.strip()  # as written: pandas would rename what comes twice
    _check_header(path, names[names != ""])
    table: pd.DataFrame = pd.read_csv(path, low_memory=False, decimal=form.decimal or ".", **options)
    table = table.rename(columns=str.strip)
    if not table.index.equals(pd.RangeIndex(len(table))):  # pandas would take the surplus for row names
        raise DataError(f"{path}: the rows have more values than the header's {len(names)} names")
    return table


def _sniffed(head: str, form: TableFormat) -> TableFormat:
    """Return the format with what the first lines tell: the separator, and the decimal sign."""
    sep = form.sep or max(SEPARATORS, key=lambda each: _regularity(head, each))  # the first of equals: the comma
    decimal = form.decimal
    if decimal is None:
        cells = [cell for row in _records(head, sep)[1:] for cell in row]
        commas, points = (sum(map(bool, map(p.fullmatch, cells))) for p in (COMMA_NUMBER, POINT_NUMBER))
        decimal = "," if sep != "," and commas > points else "."
    return replace(form, sep=sep, decimal=decimal)


def _records(head: str, sep: str) -> list[list[str]]:
    if len(head) >= SNIFFED // 4 and "\n" in head:  # the last line may be cut
        head = head[: head.rindex("\n")]
    try:
        return [row for row in csv.reader(io.StringIO(head), delimiter=sep) if row]
    except csv.Error:
        return []


def _regularity(head: str, sep: str) -> tuple[bool, int]:
    """Return how much a text looks separated so: whether all lines have as many cells as the header, and how many."""
    rows = _records(head, sep)
    width = len(rows[0]) if rows else 0
    return width > 1 and all(len(row) == width for row in rows), width


def _say_found(asked: TableFormat, found: TableFormat, say: Say) -> None:
    unusual = []
    if asked.sep is None and found.sep != USUAL.sep:
        unusual.append(f"separated by {SEPARATORS[str(found.sep)]}")
    if asked.decimal is None and found.decimal != USUAL.decimal:
        unusual.append("with decimal commas")
    if asked.encoding is None and not str(found.encoding).startswith("utf-8"):
        unusual.append(f"encoded as {found.encoding}")
    if unusual:
        say(f"read as {', '.join(unusual)}; if that is wrong, say --sep, --decimal or --encoding")


def _read_excel(path: Path, say: Say) -> pd.DataFrame:
    try:
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = book.sheet_names
            if len(sheets) > 1:
                say(f"read the first of {len(sheets)} sheets, {str(sheets[0])!r}")
            table: pd.DataFrame = pd.read_excel(book, sheet_name=sheets[0])
    except ImportError:
        raise DataError(
            f"{path}: Excel files need openpyxl: pip install 'flora-hpo[excel]'; or export it as CSV"
        ) from None
    return table


def _read_columns(path: Path, kind: str) -> pd.DataFrame:
    """Return a Parquet or Feather file's table; who has neither need not install the library that reads them."""
    try:
        from pyarrow import ArrowException, feather, parquet
    except ImportError:
        words = f"{kind.capitalize()} files need pyarrow: pip install 'flora-hpo[parquet]'; or export it as CSV"
        raise DataError(f"{path}: {words}") from None
    try:
        table = parquet.read_table(path) if kind == "parquet" else feather.read_table(path)
        table.validate(full=True)  # a damaged one may point outside of its memory
        frame: pd.DataFrame = table.to_pandas()
    except ArrowException as error:
        raise ValueError(str(error)) from error
    return frame


def _check_header(path: Path, names: pd.Index) -> None:
    repeated = names[names.duplicated()]
    if len(repeated):
        why = NO_HEADER if any(map(_is_number, names)) else "the first line is the header"
        raise DataError(f"{path}: column names must differ, {repeated[0]!r} comes twice; {why}")


def _is_number(name: str) -> bool:
    return bool(NUMBER.fullmatch(name))


def _say_odd_header(names: pd.Index, say: Say) -> None:
    """Say that the names look like a row: most are numbers, and not all of them whole, as years are."""
    numbers = [name for name in names if _is_number(name)]
    if 2 * len(numbers) > len(names) and not all(name.strip().isdigit() for name in numbers):
        say(f"its columns' names are numbers, as {numbers[0].strip()!r}; {NO_HEADER}")
