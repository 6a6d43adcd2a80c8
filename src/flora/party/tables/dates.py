"""Dates as numbers, by rules that are the same at every party: they look at the form of a date, never at the others.

A year that comes first is followed by month and day. A month may have its English name. With points a date is
day.month.year, as where points are used. With strokes or hyphens it may be either, so that ``parts-dmy`` or
``parts-mdy`` must say which.
"""

import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from flora.core.naming import to_drop
from flora.errors import DataError
from flora.party.tables.format import Dates, Say, unsaid
from flora.party.tables.problems import Problem, UnfitError

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"((?:{'|'.join(MONTHS)})[a-z]{{0,6}})\.?"
_NAMED = (
    rf"(?:{_MONTH} +(\d{{1,2}}),? +(\d{{4}})|(\d{{1,2}})[ -]{_MONTH}[ -](\d{{4}}|\d{{2}}))"  # Jan 5, 2024; 5-Jan-24
)
_NUMBERS = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
DATE = re.compile(rf"\s*({_NUMBERS}|{_NAMED})([ T]\d{{1,2}}:\d{{2}}.*)?\s*", re.IGNORECASE)
_FORM = re.compile(r"(\d{1,4})([-/.])(\d{1,2})[-/.](\d{1,4})")
_WITH_NAME = re.compile(_NAMED, re.IGNORECASE)
PARTS = ("year", "month", "weekday", "days")  # weekday: Monday is 0; days: since 1 January 1970
LIKELY = 0.9  # of a column's values


def are_dates(present: "pd.Series[Any]") -> bool:
    """Return whether a column's values are dates, or times."""
    if pd.api.types.is_datetime64_any_dtype(present) or pd.api.types.is_timedelta64_dtype(present):
        return True
    sample = present.iloc[:: max(1, len(present) // 100)].astype(str)
    return bool(sample.map(lambda text: DATE.fullmatch(text) is not None).mean() > LIKELY)


def is_date_part(name: str) -> bool:
    """Return whether a column is called as those that take a date's place."""
    return name.rpartition(".")[2] in PARTS and "." in name


def parts_advice(first: str) -> str:
    """Return what to say so that dates such as this one are used."""
    form = _FORM.match(first.strip())
    clear = form is None or len(form[1]) == 4 or form[2] == "."
    how = "parts" if clear else "parts-dmy or parts-mdy (which comes first, day or month)"
    return f"say --dates {how} for year, month, weekday and days since 1970"


def with_date_parts(
    table: pd.DataFrame, how: Dates, *, keep: Iterable[str] = (), wanted: Iterable[str] = ()
) -> pd.DataFrame:
    """Return the table with four numbers in the place of each date; ``wanted`` are columns that a schema names."""
    taken_apart, problems = date_parts(table, how, keep=keep, wanted=wanted)
    if problems:
        raise UnfitError(problems)
    return taken_apart


def date_parts(
    table: pd.DataFrame, how: Dates, *, keep: Iterable[str] = (), wanted: Iterable[str] = (), say: Say = unsaid
) -> tuple[pd.DataFrame, list[Problem]]:
    """Return the table as ``with_date_parts`` does, and what is wrong with dates, which stay as they are."""
    given = set(wanted)
    problems = []
    for name in [str(column) for column in table.columns if column not in set(keep)]:
        values = table[name]
        present = values.dropna()
        named = name not in given and any(f"{name}.{part}" in given for part in PARTS)
        if not named and (how == "refuse" or present.empty or not are_dates(present)):
            continue
        try:
            parts = _parts(name, values, how)
            _check_names(name, parts, table)
        except DataError as error:
            problems.append(Problem.of(name, error))
            continue
        table = pd.concat([table.drop(columns=name), pd.DataFrame(parts, index=table.index)], axis=1)
        say(f"column {name!r}: dates, taken as {', '.join(parts)}")
    return table, problems


def _check_names(name: str, parts: Iterable[str], table: pd.DataFrame) -> None:
    taken = sorted(set(parts) & set(table.columns))
    if taken:
        raise DataError(f"column {name!r}: its parts would be called like the column {taken[0]!r}")


def _parts(name: str, values: "pd.Series[Any]", how: Dates) -> "dict[str, pd.Series[Any]]":
    if pd.api.types.is_timedelta64_dtype(values):
        raise DataError(f"column {name!r}: it holds durations, not dates; turn them into numbers, or {to_drop(name)}")
    dates = _parsed(name, values, how)
    seconds = dates.dt.as_unit("s")  # nanoseconds end in the year 2262, and 9999 stands for "never" in many tables
    days = (seconds - pd.Timestamp(0).as_unit("s")) // pd.Timedelta(days=1).as_unit("s")
    found = (dates.dt.year, dates.dt.month, dates.dt.day_of_week, days)
    return {f"{name}.{part}": column.astype(float) for part, column in zip(PARTS, found, strict=True)}


def _parsed(name: str, values: "pd.Series[Any]", how: Dates) -> "pd.Series[Any]":
    """Return each value's day, as written: a time of day and its zone are left out."""
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        values = values.dt.tz_localize(None)
    if pd.api.types.is_datetime64_any_dtype(values):
        days: pd.Series[Any] = values.dt.normalize()
        return days
    found = pd.Series([None if pd.isna(v) else _day(name, str(v), how) for v in values], values.index, dtype="str")
    days = pd.to_datetime(found, format="%Y-%m-%d", errors="coerce")
    wrong = values[days.isna() & values.notna()]
    if len(wrong) > (1 - LIKELY) * len(values):
        raise DataError(f"column {name!r}: {len(wrong)} dates do not exist, such as {str(wrong.iloc[0])!r:.40}")
    return days


def _day(name: str, text: str, how: Dates) -> str | None:
    """Return a date as year-month-day; None for what is no date, which is missing."""
    named = _WITH_NAME.match(text.strip())
    if named is not None:
        month, day, year = named.group(1, 2, 3) if named[1] else named.group(5, 4, 6)
        return f"{_full_year(year)}-{MONTHS.index(month[:3].lower()) + 1}-{day}"
    form = _FORM.match(text.strip())
    if form is None:
        return None
    first, sign, second, third = form.groups()
    if len(first) == 4:
        return f"{first}-{second}-{third}"
    if sign != "." and how not in ("parts-dmy", "parts-mdy"):
        raise DataError(
            f"column {name!r}: dates may begin with the day or the month, such as {text!r:.40}; "
            f"say --dates parts-dmy or parts-mdy, the same at all parties"
        )
    day, month = (second, first) if sign != "." and how == "parts-mdy" else (first, second)
    return f"{_full_year(third)}-{month}-{day}"


def _full_year(year: str) -> str:
    """Return a year of two digits as POSIX has it: 69 to 99 are of the last century."""
    return year if len(year) > 2 else f"{'19' if int(year) >= 69 else '20'}{int(year):02d}"
