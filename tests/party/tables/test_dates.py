"""Dates as numbers, by the same rules at every party."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flora.errors import DataError
from flora.party.tables.dates import PARTS, date_parts, with_date_parts
from flora.party.tables.format import Dates, TableFormat
from flora.party.tables.table import describe, open_table
from flora.problem.schema import Column, Schema

LEAP_DAY = [2024.0, 2.0, 3.0, 19782.0]  # a Thursday; the days as `date -u +%s -d 2024-02-29` says, over 86400


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("2024-02-29", "parts"),
        ("2024/2/29", "parts"),
        (" 2024-02-29 23:59:59.5", "parts"),
        ("2024-02-29T23:30:00-08:00", "parts"),
        ("29.02.2024", "parts"),
        ("29.2.24", "parts-mdy"),
        ("29/02/2024", "parts-dmy"),
        ("02/29/2024 10:00", "parts-mdy"),
        ("29-2-24", "parts-dmy"),
        ("Feb 29 2024", "parts"),
        ("February 29, 2024 10:00", "parts"),
        ("29 FEB 2024", "parts-mdy"),
        ("29-Feb-24", "parts"),
        (pd.Timestamp("2024-02-29 13:00"), "parts"),
        (pd.Timestamp("2024-02-29 23:30", tz="Europe/Berlin"), "parts"),
        (pd.Timestamp("2024-02-29").date(), "parts"),
    ],
)
def test_a_date_is_four_numbers(text: Any, how: Dates) -> None:
    table = pd.DataFrame({"when": [text, None], "x": [1, 2]})
    notes: list[str] = []
    found, problems = date_parts(table, how, say=notes.append)
    assert problems == []
    assert list(found.columns) == ["x", "when.year", "when.month", "when.weekday", "when.days"]
    assert found.iloc[0, 1:].tolist() == LEAP_DAY
    assert found.iloc[1, 1:].isna().all()
    assert notes == ["column 'when': dates, taken as when.year, when.month, when.weekday, when.days"]
    assert list(table.columns) == ["when", "x"]


def test_days_before_1970_count_down() -> None:
    found = with_date_parts(pd.DataFrame({"when": ["1969-12-31", "1901-01-01"]}), "parts")
    assert found["when.days"].tolist() == [-1.0, float(np.datetime64("1901-01-01").astype(int))]


def test_a_date_that_stands_for_never_is_a_date() -> None:
    found = with_date_parts(pd.DataFrame({"when": ["2024-01-31", "9999-12-31"]}), "parts")
    assert found["when.days"].tolist() == [19753.0, float(np.datetime64("9999-12-31").astype(int))]


@pytest.mark.parametrize("text", ["1/2/2024", "31/12/2024", "1-2-24"])
def test_day_and_month_are_never_guessed_from_the_rows(text: str) -> None:
    with pytest.raises(DataError, match=r"may begin with the day or the month, such as '.*'; say --dates parts-dmy"):
        with_date_parts(pd.DataFrame({"when": [text]}), "parts")


def test_dates_that_do_not_exist_are_refused() -> None:
    with pytest.raises(DataError, match="column 'when': 1 dates do not exist, such as '31/12/2024'"):
        with_date_parts(pd.DataFrame({"when": ["31/12/2024"]}), "parts-mdy")


def test_ambiguous_dates_are_told_with_the_other_problems(tmp_path: Path) -> None:
    rows = [f"1/{k % 28 + 1}/2024,{k % 28 + 1}-1-24,2024-01-31,word {k},{k % 2}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["in,out,fine,remark,y", *rows]))
    table = open_table(tmp_path / "t.csv", "y", (), TableFormat(dates="parts"))
    with pytest.raises(DataError) as caught:
        table.described(None, None)
    head, _, *lines = str(caught.value).splitlines()
    assert head == "3 problems in the table:"
    assert [line.split()[0] for line in lines] == ["in", "out", "remark"]
    assert "may begin with the day or the month" in lines[0]
    assert "say --dates parts-dmy or parts-mdy, the same at all parties" in lines[1]
    like = Schema("y", "classification", tuple(Column(f"in.{part}", "numeric") for part in PARTS), (0, 1))
    with_schema = open_table(tmp_path / "t.csv", "y", ("out", "fine", "remark"), TableFormat(), like=like)
    with pytest.raises(
        DataError, match=r"^column 'in': dates may begin with the day or the month, such as '1/1/2024'; say --dates"
    ):
        with_schema.described(None, like)


def test_what_cannot_be_taken_apart_is_refused() -> None:
    with pytest.raises(DataError, match="it holds durations"):
        with_date_parts(pd.DataFrame({"when": pd.to_timedelta([1, 2], unit="s")}), "parts")
    with pytest.raises(DataError, match=r"its parts would be called like the column 'when\.year'"):
        with_date_parts(pd.DataFrame({"when": ["2024-01-31"], "when.year": [1]}), "parts")


def test_other_columns_the_target_and_dropped_ones_stay() -> None:
    table = pd.DataFrame({"when": ["2024-01-31"], "text": ["u"], "y": [1]})
    assert with_date_parts(table, "refuse") is table
    assert with_date_parts(table, "parts", keep=["when"]) is table


def test_a_party_without_a_single_date_follows_the_schema(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("when,y\n" + ",0\n,1\n" * 3)
    like = Schema("y", "classification", tuple(Column(f"when.{p}", "numeric") for p in ("days", "year")), (0, 1))
    table = open_table(tmp_path / "t.csv", "y", (), TableFormat(dates="parts"), like=like)
    assert "when.days" in table.frame.columns
    assert table.frame["when.days"].isna().all()


def test_a_diarys_days_are_no_identifier(tmp_path: Path) -> None:
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    path = tmp_path / "t.csv"
    pd.DataFrame({"seen": days, "y": [0, 1] * 20}).to_csv(path, index=False)
    table = open_table(path, "y", (), TableFormat(auto=True, dates="parts"))
    assert table.drop == ()
    assert not any("as identifiers do" in note for note in table.described(None, None)[2])


@pytest.mark.parametrize(
    ("text", "how"), [("2024-01-31", "parts for"), ("31.1.2024", "parts for"), ("1/2/24", "parts-dmy or")]
)
def test_the_advice_for_dates_is_what_then_works(text: str, how: str) -> None:
    with pytest.raises(DataError, match=f"dates are not supported, got '{text}'; say --dates {how}"):
        describe(pd.DataFrame({"seen": [text] * 4, "y": [0, 1] * 2}), "y")
