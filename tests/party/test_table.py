import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flora.errors import DataError
from flora.models.rows import encode, encode_features
from flora.party.table import constant_columns, describe, read_table
from flora.problem.schema import Column, Schema, agree

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
        ('x,y\n1,"2\n3,4\n', "not a table that can be read"),
        ("x,y\n1,2\n3,4,5\n", "not a table that can be read .*line 3"),
        ("x,y\n1,2,3\n4,5,6\n", "the rows have more values than the header's 2 names"),
        ("x,y,x\n1,2,3\n", "column names must differ, 'x' comes twice"),
        ("x;y\n1;2\n", "the file seems to be separated by semicolons, expected commas: 'x;y'"),
        ("x;y\n1,5;2,5\n", "the file seems to be separated by semicolons"),
        ("x\ty\n1\t2\n", "the file seems to be separated by tabs"),
        (b"x,y\n\xe9,2\n", "not a table that can be read .*utf-8"),
        (b"PK\x03\x04\xff\xfe\x00", "t.csv: "),
    ],
)
def test_a_bad_csv_file_is_refused_in_one_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    for name, data in (("t.csv", text), ("t.csv.gz", gzip.compress(text.encode() if isinstance(text, str) else text))):
        with pytest.raises(DataError, match=says.replace("t.csv", name)) as caught:
            read_table(written(tmp_path, data, name))
        assert "\n" not in str(caught.value)


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
    with pytest.raises(DataError, match="no such file"):
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
    with pytest.raises(DataError, match="column 'when': dates are not supported, got '2024-01-31"):
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
        (PLAIN.assign(y=None), "y", {}, "target 'y': every value is missing"),
        (PLAIN.assign(y=1), "y", {}, "target 'y': need at least 2 classes, every row has 1"),
        (table_of([1, 2, 3]), "y", {}, "target 'y': a class needs at least 2 rows, 1 has 1"),
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
        (given(Column("z", "numeric")), "column 'x' is in the table, not in the schema"),
        (
            Schema("y", "classification", (Column("x", "numeric"), Column("z", "numeric")), (0, 1)),
            "column 'z' is in the schema, not in the table",
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


def test_new_rows_must_fit() -> None:
    schema = given(Column("x", "numeric"))
    with pytest.raises(DataError, match="column 'x' is missing, columns are z"):
        encode_features(pd.DataFrame({"z": [1]}), schema)
    with pytest.raises(DataError, match="target 'y' is not in the table, columns are x"):
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
