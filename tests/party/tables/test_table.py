import gzip
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flora.errors import DataError
from flora.models.rows import encode, encode_features
from flora.party.tables.file import read_table
from flora.party.tables.format import TableFormat
from flora.party.tables.notes import constant_columns
from flora.party.tables.table import Table, alike, describe, left_out, open_table, split_names
from flora.problem.schema import Column, Schema, agree
from tests.conftest import two_moons

NAN = float("nan")


def written(tmp_path: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def kind_of(values: list[Any], **options: Any) -> str:
    return describe(table_of(values), "y", **options).columns[0].kind


def table_of(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": values, "y": [0, 1] * (len(values) // 2) + [0] * (len(values) % 2)})


# Reading files


PLAIN = pd.DataFrame({"x": [1.5, 2.5], "c": ["a", "b"], "y": [0, 1]})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.pq"])
def test_every_format_is_read(tmp_path: Path, name: str) -> None:
    if name.startswith("t.csv"):
        PLAIN.to_csv(tmp_path / name, index=False)
    else:
        PLAIN.to_parquet(tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), PLAIN)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    assert list(read_table(written(tmp_path, '\ufeff"x",y\n1,2\n')).columns) == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty, expected a table with a header"),
        ("x,y\n", "need at least one row, got a table of 0 rows, 2 columns"),
        ('x,y\n1,"2\n3,4\n', r"not a table that can be read \(a quote in line 2 is never closed\)"),
        ("x,y\n1,2\n3,4,5\n", r"not a table that can be read \(line 3 has 3 cells, the lines before it 2\)"),
        ("x,y\n1,2,3\n4,5,6\n", "the rows have more values than the header's 2 names"),
        ("x,y,x\n1,2,3\n", "column names must differ, 'x' comes twice; the first line is the header"),
        ("0.2, 4, 4\n1,2,3\n", "'4' comes twice; where the first line is a row, write a line of names above it"),
        (b"x,y\n\x81\xe9,2\n", "its text is not UTF-8 nor Windows-1252 .*; say which with --encoding"),
        (b"PK\x03\x04\xff\xfe\x00", "t.csv: "),
    ],
)
def test_a_bad_csv_file_is_refused_in_one_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    for name, data in (("t.csv", text), ("t.csv.gz", gzip.compress(text.encode() if isinstance(text, str) else text))):
        with pytest.raises(DataError, match=says.replace("t.csv", name)) as caught:
            read_table(written(tmp_path, data, name))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("0.02, 0.037,R", ["t.csv: its columns' names are numbers, as '0.02'; where the first line is a row, "]),
        ("-1,1.5e-3,2", ["t.csv: its columns' names are numbers, as '-1'; where the first line is a row, "]),
        ("2019,2020,2021", []),
        ("1,2,target", []),
        ("a,0.5,b", []),
    ],
)
def test_a_first_line_that_may_be_a_row_is_said(tmp_path: Path, header: str, says: list[str]) -> None:
    said: list[str] = []
    read_table(written(tmp_path, f"{header}\n1,2,3\n"), say=said.append)
    assert [note.partition("write")[0] for note in said] == says


def test_blanks_beside_a_separator_are_no_part_of_a_name_or_a_text(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, 'a , b, kind\n1, x, "p, q"\n2 ,y, r\n'))
    assert table.to_dict("list") == {"a": [1, 2], "b": ["x", "y"], "kind": ["p, q", "r"]}


def test_an_advice_is_what_a_shell_takes(tmp_path: Path) -> None:
    lines = "".join(f"2007-11-{k:02},{k % 2}\n" for k in range(1, 20))
    opened = open_table(written(tmp_path, f"Date Egg,y\n{lines}"), "y", (), TableFormat())
    with pytest.raises(DataError, match="or --drop 'Date Egg'"):
        opened.described(None, None)


def test_what_comes_twice_is_not_mistaken(tmp_path: Path) -> None:
    assert list(read_table(written(tmp_path, "x,x.1,y\n1,2,3\n")).columns) == ["x", "x.1", "y"]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet"])
def test_a_corrupt_file_is_refused(tmp_path: Path, name: str) -> None:
    if name == "t.csv.gz":
        whole = gzip.compress(b"x,y\n" + b"".join(b"%d,%d\n" % (k, k * k) for k in range(300)))
    else:
        pd.DataFrame({"x": range(300), "y": [str(k * k) for k in range(300)]}).to_parquet(tmp_path / name)
        whole = (tmp_path / name).read_bytes()
    damaged = [whole[: len(whole) * k // 8] for k in range(8)]
    damaged += [whole[:k] + bytes([whole[k] ^ 0xFF]) + whole[k + 1 :] for k in range(0, len(whole), 97)]
    refused = 0
    for data in [*damaged, b"no such format", whole[::-1]]:
        try:
            read_table(written(tmp_path, data, name))
        except DataError:
            refused += 1
    assert refused >= 10


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv: no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="a folder, expected a table"):
        read_table(tmp_path)


# Describing columns


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3, 4], "numeric"),
        ([1.5, None, 2, 3], "numeric"),
        ([True, False, None, True], "numeric"),
        ([Decimal("1.5"), None, Decimal("2"), 3], "numeric"),
        (["a", "b", None, "a"], "categorical"),
        (["1,5", "2,5", "1,5", "2,5"], "categorical"),
        ([None, None, None, None], "empty"),
        (pd.Categorical([1, 2, 1, 2]), "categorical"),
        (pd.array([1, None, 2, 3], dtype="Int64"), "numeric"),
        (pd.array([True, None, False, True], dtype="boolean"), "numeric"),
    ],
)
def test_kinds_are_told_from_values(values: Any, kind: str) -> None:
    assert kind_of(values) == kind


def test_files_and_memory_tell_the_same_kinds(tmp_path: Path) -> None:
    path = written(tmp_path, "b,i,e,t,y\nTrue,1,,u,no\n,2,,v,yes\nFalse,,,u,no\nTrue,4,,,yes\n")
    schema = describe(read_table(path), "y")
    assert {c.name: c.kind for c in schema.columns} == {
        "b": "numeric",
        "i": "numeric",
        "e": "empty",
        "t": "categorical",
    }
    rows = encode(read_table(path), schema)
    expected = [[1, NAN, 1, 0], [NAN, NAN, 2, 1], [0, NAN, NAN, 0], [1, NAN, 4, NAN]]
    assert np.array_equal(rows.X, expected, equal_nan=True)
    assert rows.y.tolist() == [0, 1, 0, 1]


DATES: list[Any] = [
    ["2024-01-31", "2024-02-01"],
    ["2024-01-31 10:00", "2024-02-01 23:59:59.5"],
    ["2024-01-31T10:00:00Z", "2024-02-01T10:00:00+01:00"],
    ["31.01.2024", "1.2.24"],
    ["1/31/2024", "2/1/2024"],
    pd.to_datetime(["2024-01-31", "2024-02-01"]),
    pd.to_datetime(["2024-01-31", "2024-02-01"], utc=True),
    pd.to_timedelta([1, 2], unit="s"),
    [pd.Timestamp("2024-01-31").date(), pd.Timestamp("2024-02-01").date()],
]


@pytest.mark.parametrize("dates", DATES)
def test_dates_are_refused_with_advice(dates: Any) -> None:
    table = pd.DataFrame({"when": [*dates, *dates], "y": [0, 1, 0, 1]})
    with pytest.raises(DataError, match=r"column 'when': dates are not supported, .* --drop when"):
        describe(table, "y")
    assert describe(table.assign(x=1), "y", drop=["when"]).names == ("x",)
    with pytest.raises(DataError, match="target 'when': dates are not supported"):
        describe(table, "when")


def test_dates_in_parquet_are_refused(tmp_path: Path) -> None:
    table = pd.DataFrame({"when": [pd.Timestamp("2024-01-31"), pd.NaT], "y": [0, 1]})
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"column 'when': dates are not supported, got '2024-01-31"):
        describe(read_table(tmp_path / "t.parquet"), "y")


def test_what_only_looks_a_little_like_dates_is_text() -> None:
    assert kind_of(["2024-01-31", "unknown", "2024-01-31", "unknown"]) == "categorical"
    assert kind_of(["10-20", "20-30", "10-20", "30-40"]) == "categorical"


def test_free_text_is_refused() -> None:
    texts = [f"the patient said {k}" for k in range(30)]
    with pytest.raises(DataError, match="column 'x': 30 different texts in 30 rows look like free text"):
        describe(table_of(texts), "y")
    assert kind_of(texts[:20] * 3) == "categorical"
    with pytest.raises(DataError, match="column 'x': 1001 different texts"):
        describe(table_of([str(k % 1001) + "x" for k in range(4000)]), "y")


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(DataError, match=r"column 'x': a value is a number, a bool or a text, got \[1\]"):
        describe(table_of([[1], [2], [1], [2]]), "y")


def test_constant_columns_are_reported_not_refused() -> None:
    table = pd.DataFrame({"a": [1, 1, 1, 1], "b": [1, 1, 1, None], "c": ["x"] * 4, "d": [None] * 4, "y": [0, 1, 0, 1]})
    assert constant_columns(table, describe(table, "y")) == ["a", "c", "d"]


@pytest.mark.parametrize(
    ("table", "target", "options", "says"),
    [
        (PLAIN, "z", {}, "target 'z' is not in the table, columns are x, c, y"),
        (PLAIN, "y", {"drop": ["z"]}, "dropped column 'z' is not in the table"),
        (PLAIN, "y", {"drop": ["y"]}, "'y' is the target, and cannot be left out, too"),
        (PLAIN, "y", {"drop": ["x"], "weight": "x"}, "'x' is the weight, and cannot be left out, too"),
        (PLAIN, "Y", {}, r"target 'Y' is not in the table, columns are x, c, y; did you mean 'y'\?"),
        (
            PLAIN.assign(zip_code=1.5),
            "y",
            {"drop": ["zipcode"]},
            r"dropped column 'zipcode' .*; did you mean 'zip_code'\?",
        ),
        (PLAIN.assign(Weight=1.5), "y", {"weight": "weigth"}, r"weight 'weigth' .*; did you mean 'Weight'\?"),
        (PLAIN.assign(y=None), "y", {}, "target 'y': every value is missing"),
        (table_of(range(50)).assign(y=[f"case {k}" for k in range(50)]), "y", {}, "50 classes in 50 rows look like"),
        (table_of([1, 2, 3, 4]).assign(y=["a", "a", 1, 1]), "y", {}, "classes must be of one type"),
        (table_of(range(2004)).assign(y=list(range(1002)) * 2), "y", {"task": "classification"}, "1002 classes; say"),
        (PLAIN.assign(y=[0.5, 1.5]), "y", {"task": "classification"}, "target 'y': a class is text or a whole number"),
        (PLAIN.assign(y=["a", "b"]), "y", {"task": "regression"}, "target 'y': must be numeric, got 'a'"),
        (PLAIN.assign(y=[0.5, np.inf]), "y", {}, "target 'y': must be finite, got inf"),
        (PLAIN.assign(y=[1.0, -np.inf]), "y", {"task": "regression"}, "target 'y': must be finite, got -inf"),
    ],
)
def test_a_bad_table_is_refused(table: pd.DataFrame, target: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        describe(table, target, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("target", "task", "classes"),
    [
        (["no", "yes"] * 20, "classification", ("no", "yes")),
        ([True, False] * 20, "classification", (False, True)),
        ([3, 1] * 20, "classification", (1, 3)),
        ([3.0, 1.0] * 19 + [None, None], "classification", (1, 3)),
        (pd.Categorical(["u", "v"] * 20, categories=["u", "v", "never"]), "classification", ("u", "v")),
        ([Decimal(3), Decimal(1)] * 20, "classification", (1, 3)),
        (list(range(20)) * 2, "classification", tuple(range(20))),
        (list(range(40)), "regression", ()),
        ([0.5, 1.0] * 20, "regression", ()),
        ([Decimal("0.5"), Decimal("1.0")] * 20, "regression", ()),
    ],
)
def test_the_task_is_guessed_from_the_target(target: Any, task: str, classes: Any) -> None:
    schema = describe(pd.DataFrame({"x": range(40), "y": target}), "y")
    assert (schema.task, schema.classes) == (task, classes)
    assert {type(label) for label in schema.classes} == {type(label) for label in classes}


def test_the_task_may_be_said() -> None:
    table = table_of([1, 2, 3, 4])
    assert describe(table, "y", task="regression").task == "regression"
    assert encode(table, describe(table, "y", task="regression")).y.tolist() == [0.0, 1.0, 0.0, 1.0]


# A given schema


def given(column: Column, classes: tuple[Any, ...] = (0, 1)) -> Schema:
    return Schema("y", "classification", (column,), classes)


@pytest.mark.parametrize("values", [[1, 2, 1, 2], [1.0, 2.0, 1.0, 2.0], ["1", "2", "1", "2"], ["1", 2, 1.0, "2"]])
def test_numbers_may_be_declared_categories(values: list[Any]) -> None:
    schema = describe(table_of(values), "y", like=given(Column("x", "categorical")))
    assert schema.columns == (Column("x", "categorical", ("1", "2")),)
    assert encode(table_of(values), schema).X.ravel().tolist() == [0, 1, 0, 1]


def test_parties_with_other_categories_share_one_code() -> None:
    tables = {"a": table_of(["u", "v", "u", "v"]), "b": table_of(["w", "u", None, "w"])}
    schema = agree({party: describe(table, "y") for party, table in tables.items()})
    assert encode(tables["a"], schema).X.ravel().tolist() == [0, 1, 0, 1]
    assert np.array_equal(encode(tables["b"], schema).X.ravel(), [2, 0, NAN, 2], equal_nan=True)


def test_a_category_nobody_named_is_missing() -> None:
    schema = given(Column("x", "categorical", ("u", "v")))
    assert np.array_equal(encode(table_of(["v", "new", None, "u"]), schema).X.ravel(), [1, NAN, NAN, 0], equal_nan=True)


def test_a_public_range_is_kept() -> None:
    schema = describe(table_of([1, 2, 3, 4]), "y", like=given(Column("x", "numeric", low=0, high=9)))
    assert schema.columns == (Column("x", "numeric", low=0, high=9),)


@pytest.mark.parametrize(
    ("like", "says"),
    [
        (
            given(Column("z", "numeric")),
            r"\nx +in the table, not in the schema +--drop x\nz +in the schema",
        ),
        (
            Schema("y", "classification", (Column("x", "numeric"), Column("z", "numeric")), (0, 1)),
            r"\nz +in the schema, not in the table",
        ),
        (Schema("z", "regression", (Column("x", "numeric"),)), "the schema's target is 'z', got 'y'"),
        (given(Column("x", "numeric")), "column 'x': must be numeric, got 'u'"),
        (given(Column("x", "categorical"), (0, 2)), r"target 'y': 1 is not among the classes \[0, 2\]"),
        (given(Column("x", "categorical"), (False, True)), "target 'y': 0 is not among the classes"),
    ],
)
def test_a_table_unlike_the_given_schema_is_refused(like: Schema, says: str) -> None:
    with pytest.raises(DataError, match=says):
        describe(table_of(["u", "v", "u", "v"]), "y", like=like)


# Encoding


def test_columns_go_by_name() -> None:
    schema = describe(PLAIN.assign(z=[7, 8], y=["a", "b"]).loc[[0, 1, 0, 1]], "y")
    shuffled = pd.DataFrame({"y": ["b", "a"], "z": [8, 7], "more": [0, 0], "x": [2.5, 1.5], "c": ["b", "a"]})
    rows = encode(shuffled, schema)
    assert rows.X.tolist() == [[1, 2.5, 8], [0, 1.5, 7]]
    assert rows.y.tolist() == [1, 0]
    assert len(rows) == 2
    assert rows.take(np.array([1])).X.tolist() == [[0, 1.5, 7]]


def test_rows_without_a_target_are_left_out() -> None:
    table = table_of([1, 2, 3, 4, 5]).assign(y=np.array(["a", None, "b", "a", "b"], dtype=object))
    rows = encode(table, describe(table, "y"))
    assert rows.X.ravel().tolist() == [1, 3, 4, 5]
    assert rows.y.tolist() == [0, 1, 0, 1]


def test_what_is_not_finite_is_missing() -> None:
    table = table_of([1.0, np.inf, -np.inf, NAN])
    assert np.array_equal(encode(table, describe(table, "y")).X.ravel(), [1, NAN, NAN, NAN], equal_nan=True)


def test_a_marker_in_a_column_that_is_known_to_be_numeric_is_missing() -> None:
    schema = given(Column("x", "numeric"))
    table = table_of(["?", " ", "n/a", "1.5"])
    assert np.array_equal(
        encode(table, describe(table, "y", like=schema)).X.ravel(), [NAN, NAN, NAN, 1.5], equal_nan=True
    )
    with pytest.raises(DataError, match=r"target 'y': must be numeric, got '\?'"):
        describe(table.assign(y=["?", "1", "2", "3"]), "y", task="regression")


def test_new_rows_must_fit() -> None:
    schema = given(Column("x", "numeric"))
    with pytest.raises(DataError, match="column 'x' is missing, columns are z"):
        encode_features(pd.DataFrame({"z": [1]}), schema)
    two = replace(schema, columns=(Column("w", "numeric"), Column("x", "numeric")))
    with pytest.raises(DataError, match=r"2 columns are missing \(w, x\), columns are z"):
        encode_features(pd.DataFrame({"z": [1]}), two)
    with pytest.raises(DataError, match="target 'y' is not in the table, columns are x; if that is several, say --sep"):
        encode(pd.DataFrame({"x": [1]}), schema)
    with pytest.raises(DataError, match=r"target 'y': 'no' is not among the classes \[0, 1\]"):
        encode(pd.DataFrame({"x": [1], "y": ["no"]}), schema)
    with pytest.raises(DataError, match="target 'y': True is not among the classes"):
        encode(pd.DataFrame({"x": [1], "y": [True]}), schema)
    with pytest.raises(DataError, match="column 'x': must be numeric, got 'text'"):
        encode(pd.DataFrame({"x": ["1", "text"], "y": [0, 1]}), schema)


def test_a_wide_and_a_long_table_are_fine(tmp_path: Path) -> None:
    wide = pd.DataFrame(np.arange(12_000.0).reshape(4, 3000), columns=[f"c{k:04d}" for k in range(3000)])
    wide["y"] = [0, 1, 0, 1]
    wide.to_csv(tmp_path / "wide.csv", index=False)
    table = read_table(tmp_path / "wide.csv")
    assert np.array_equal(encode(table, describe(table, "y")).X, wide.drop(columns="y").to_numpy())
    long = pd.DataFrame({"x": np.tile(["u", "v", "w"], 50_000), "y": np.tile([0, 1], 75_000)})
    rows = encode(long, describe(long, "y"))
    assert rows.X[:4].ravel().tolist() == [0, 1, 2, 0]
    assert len(rows) == 150_000


# Tables as they come


def numbers_with(*odd: Any, count: int = 60) -> pd.DataFrame:
    return table_of([*map(str, range(count - len(odd))), *odd])


def heard(path: Path, *format_: Any, **options: Any) -> tuple[pd.DataFrame, list[str]]:
    notes: list[str] = []
    return read_table(path, TableFormat(*format_, **options), notes.append), notes


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "N/A", "null", "-", "?", " ? "])
def test_a_blank_or_a_marker_among_numbers_is_missing(tmp_path: Path, cell: str) -> None:
    path = written(tmp_path, "x,y\n1.5,0\n" + f'"{cell}",1\n2,0\n3,1\n')
    table, notes = heard(path)
    assert table["x"].tolist()[0] == 1.5
    assert table["x"].isna().tolist() == [False, True, False, False]
    assert describe(table, "y").columns == (Column("x", "numeric"),)
    said = [f"t.csv: column 'x': {cell.strip()!r} in 1 of 4 cells is taken for missing"]
    assert notes == (said if cell.strip() in ("-", "?") else [])  # pandas reads the others as missing itself


def test_a_marker_among_texts_is_a_category_and_a_blank_is_missing(tmp_path: Path) -> None:
    table, notes = heard(written(tmp_path, "x,y\nu,0\n?,1\n ,0\n-,1\n"))
    assert describe(table, "y").columns[0].categories == ("-", "?", "u")
    assert not notes
    table, _ = heard(written(tmp_path, "x,y\nu,0\n?,1\nu,0\n?,1\n"), missing=("?",))
    assert describe(table, "y").columns[0].categories == ("u",)


def test_a_column_that_is_nearly_numeric_says_where(tmp_path: Path) -> None:
    says = r"column 'x': numeric but for 1 of 60 cells, such as 'unknown' in row 60; mend .* --missing unknown"
    with pytest.raises(DataError, match=says):
        describe(numbers_with("unknown"), "y")
    path = tmp_path / "t.csv"
    numbers_with("unknown").to_csv(path, index=False)
    assert describe(heard(path, missing=("unknown",))[0], "y").columns[0].kind == "numeric"
    with pytest.raises(DataError, match="numbers with decimal commas, such as '0,5'; say --decimal ','"):
        describe(table_of([f"{k},5" for k in range(30)]), "y")
    assert kind_of(["0", "1", "2", "3+"] * 9) == "categorical"


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        ("1,200", [f"{k}" for k in range(900, 930)]),  # taken for decimals, 1,200 would be less than 900
        ("$5,432.10", [f"${k}.50" for k in range(30)]),
        ("12.5%", [f"{k}.1 %" for k in range(30)]),
        ("1.234.567,89", [f"{k}.234,00" for k in range(1, 31)]),
        ("12 345 €", [f"{k} €" for k in range(30)]),
    ],
)
def test_numbers_with_signs_or_grouped_digits_are_named(first: str, rest: list[str]) -> None:
    with pytest.raises(DataError, match=f"numbers with signs or grouped digits, such as '{re.escape(first)}'; write"):
        describe(table_of([first, *rest]), "y")
    assert "x" in left_out(table_of([first, *rest]), ("y",))


def test_a_comma_before_three_digits_may_also_be_a_decimal_sign(tmp_path: Path) -> None:
    texts = [f"{k},{k * 7 % 1000:03d}" for k in range(1, 31)]
    advice = re.escape("such as 12345.6 (if the comma is a decimal sign: --decimal ','), or leave them out")
    with pytest.raises(DataError, match=advice):
        describe(table_of(texts), "y")
    for clear in ("12,345.5", "1,234,567", "€ 1,234"):
        with pytest.raises(DataError, match=r"such as 12345\.6, or leave them out"):
            describe(table_of([*texts, clear]), "y")
    rows = [f'"{text}",0.5,{k % 2}' for k, text in enumerate(texts)]
    (tmp_path / "t.csv").write_text("\n".join(["x,z,y", *rows]))
    table = open_table(tmp_path / "t.csv", "y", (), TableFormat(decimal=","))
    assert table.frame["x"].iloc[0] == 1.007
    assert [column.kind for column in table.described(None, None)[0].columns] == ["numeric", "numeric"]


def test_phone_numbers_and_words_are_no_numbers_with_signs() -> None:
    for texts in ([f"555-{k:04d}" for k in range(30)], [f"ward {k}" for k in range(30)]):
        with pytest.raises(DataError, match="look like free text or an identifier"):
            describe(table_of(texts), "y")


def test_all_problems_are_told_at_once_as_a_table() -> None:
    table = numbers_with("n.a.", count=60).assign(
        when=["2024-01-31", "2024-02-01"] * 30, text=[f"word {k}" for k in range(60)], fine=1.5
    )
    with pytest.raises(DataError) as caught:
        describe(table, "y")
    lines = str(caught.value).splitlines()
    assert lines[0] == "3 problems in the table:"
    assert lines[1].split() == ["column", "what", "advice"]
    assert [line.split()[0] for line in lines[2:]] == ["text", "when", "x"]
    at = lines[1].index("advice")
    assert all(line[at - 1] == " " and line[at] != " " for line in lines[1:])
    assert "--dates parts" in lines[3]
    with pytest.raises(DataError, match=r"4 problems in the table:\n.*\ny +60 classes in 60 rows look like"):
        describe(table.assign(y=[f"case {k}" for k in range(60)]), "y")


@pytest.mark.parametrize("drop", [["a,b"], ["a", "b"], ["a, b"], ["a,", "b"]])
def test_drop_takes_several_names(drop: list[str]) -> None:
    table = table_of([1, 2, 3, 4]).assign(a=1, b=2)
    assert describe(table, "y", drop=drop).names == ("x",)


def test_a_name_with_a_comma_is_dropped_as_it_stands() -> None:
    assert split_names(["a,b", "c,d"], ["a,b", "a", "c", "d"]) == ("a,b", "c", "d")
    with pytest.raises(DataError, match="dropped column 'c' is not in the table"):
        describe(table_of([1, 2, 3, 4]), "y", drop=["x,c"])


IDENTIFIED = numbers_with().assign(
    text=[f"word {k}" for k in range(60)],
    row=range(100, 160),
    patientID=[k * 7 % 601 for k in range(60)],
    cents=[k * 11 % 601 for k in range(60)],
)


def test_auto_leaves_out_identifiers_and_free_text_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    IDENTIFIED.drop(columns="x").to_csv(path, index=False)
    notes: list[str] = []
    table = open_table(path, "y", (), TableFormat(auto=True), say=notes.append)
    assert set(table.drop) == {"text", "row", "patientID"}
    assert [note.split(":")[0] for note in notes] == ["t.csv"] * 3
    assert all("is left out (--auto): " in note for note in notes)
    assert table.described(None, None)[0].names == ("cents",)
    like = given(Column("cents", "numeric"))
    assert set(open_table(path, "y", (), TableFormat(auto=True), like=like).drop) == {"text", "row", "patientID"}
    assert set(left_out(IDENTIFIED, ("y",), ["text"])) == {"x", "row", "patientID"}


def test_what_auto_finds_in_one_table_of_this_machine_goes_in_all() -> None:
    tables = {"a": Table(PLAIN, "y", ("c",)), "b": Table(PLAIN, "y", ()), "c": Table(PLAIN[["x", "y"]], "y")}
    assert {party: table.drop for party, table in alike(tables).items()} == {"a": ("c",), "b": ("c",), "c": ()}


def test_numbers_that_may_be_codes_are_named_in_a_note() -> None:
    table = IDENTIFIED.drop(columns=["text", "x"]).assign(zip_code=[k % 30 + 10_000 for k in range(60)])
    notes = Table(table, "y").described(None, None)[2]
    assert len(notes) == 2
    assert "3 columns: 'cents', 'patientID', 'row': whole numbers that all differ" in notes[0]
    assert "column 'zip_code': whole numbers with the name of a code; --drop it" in notes[1]
    assert Table(two_moons(60, 1), "kind").described(None, None)[2] == []


# Weights


def test_parties_need_the_same_weight_or_none_and_the_schema_decides() -> None:
    table = PLAIN.assign(w=[1.0, 2.0])
    weighted, plain = describe(table, "y", weight="w"), describe(PLAIN, "y")
    assert weighted.weight == "w"
    assert weighted.names == plain.names == ("c", "x")
    with pytest.raises(DataError, match=r"weight: 'w' at party 'a', none at party 'b'; all parties need the same"):
        agree({"a": weighted, "b": plain})
    assert agree({"a": weighted, "b": weighted}).weight == "w"
    assert describe(table, "y", like=weighted).weight == "w"
    with pytest.raises(DataError, match=r"the schema's weight is none, got 'w'"):
        describe(table, "y", like=plain, weight="w")
    with pytest.raises(DataError, match=r"weight 'v' is not in the table, columns are"):
        describe(table, "y", weight="v")
    with pytest.raises(DataError, match=r"column 'w': must be a number of at least 0 in each row, got -1 in row 2"):
        describe(table.assign(w=[1, -1]), "y", weight="w")


def test_auto_keeps_the_weight_and_rows_of_weight_zero_are_said(tmp_path: Path) -> None:
    IDENTIFIED.assign(w=[0.0, *range(1, len(IDENTIFIED))]).to_csv(tmp_path / "t.csv", index=False)
    table = open_table(tmp_path / "t.csv", "y", (), TableFormat(auto=True, weight="w"))
    assert "w" not in table.drop
    assert table.count == len(IDENTIFIED) - 1
    assert "1 rows without a target or a weight are left out" in table.described(None, None)[2]
