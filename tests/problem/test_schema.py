import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.errors import DataError
from flora.problem.schema import Column, Schema, agree

STEADY = settings(derandomize=True, deadline=None, max_examples=150)
SCHEMA = Schema(
    "y",
    "classification",
    (Column("zip", "categorical", ("b", "a")), Column("age", "numeric", low=0.0, high=120.0), Column("note", "empty")),
    ("no", "yes"),
)
DOCUMENT = SCHEMA.to_json()


def one(column: Column, classes: tuple[Any, ...] = ("no", "yes")) -> Schema:
    return Schema("y", "classification", (column,), classes)


def test_exactly_these_fields_leave_a_party() -> None:
    assert [field.name for field in fields(Schema)] == ["target", "task", "columns", "classes", "weight"]
    assert [field.name for field in fields(Column)] == ["name", "kind", "categories", "low", "high"]
    assert set(DOCUMENT) == {"format", "version", "target", "task", "classes", "columns"}


def test_columns_are_sorted_by_name() -> None:
    assert SCHEMA.names == ("age", "note", "zip")
    assert SCHEMA.categorical == (2,)
    assert Schema("y", "classification", SCHEMA.columns[::-1], SCHEMA.classes) == SCHEMA


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(DOCUMENT))
    assert Schema.read(path) == Schema.from_json(DOCUMENT) == SCHEMA


@pytest.mark.parametrize("classes", [("a", "b"), (0, 1), (False, True)])
def test_classes_keep_their_type(classes: tuple[Any, ...]) -> None:
    back = Schema.from_json(json.loads(json.dumps(one(Column("x", "numeric"), classes).to_json())))
    assert [(type(label), label) for label in back.classes] == [(type(label), label) for label in classes]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Column("x", "text"), "kind must be one of .* got 'text'"),  # type: ignore[arg-type]
        (lambda: Column(5, "numeric"), "name must be text, got 5"),  # type: ignore[arg-type]
        (lambda: Column("x", "numeric", ("a",)), "only a categorical column has categories"),
        (lambda: Column("x", "categorical", ("a", "a")), "categories must be different texts"),
        (lambda: Column("x", "categorical", (1, 2)), "categories must be a list of which each is text"),  # type: ignore[arg-type]
        (lambda: Column("x", "numeric", low=1.0), "a range needs both low and high"),
        (lambda: Column("x", "numeric", low=2.0, high=1.0), "need low <= high, got 2.0 and 1.0"),
        (lambda: Column("x", "numeric", low=float("nan"), high=1.0), "low must be a finite number or null, got nan"),
        (lambda: Schema("y", "ranking", ()), "task must be one of .* got 'ranking'"),  # type: ignore[arg-type]
        (lambda: Schema("x", "regression", (Column("x", "numeric"),)), "different names, 'x' comes twice"),
        (lambda: Schema("y", "regression", (Column("x", "numeric"),) * 2), "different names, 'x' comes twice"),
        (lambda: Schema("y", "classification", ()), "need the classes of a classification, got none"),
        (lambda: Schema("y", "classification", (), ("a", 1)), "all text, all whole numbers or all bools"),
        (lambda: Schema("y", "classification", (), (0, True)), "all text, all whole numbers or all bools"),
        (lambda: Schema("y", "classification", (), ("a", "a")), "classes must differ"),
    ],
)
def test_a_schema_is_true_from_birth(build: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        build()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(version=2), "format 'flora-schema' and version 1"),
        (lambda d: d.pop("format"), "format 'flora-schema' and version 1"),
        (lambda d: d.pop("columns"), "a schema has target, task, classes, columns .* lacks the field 'columns'"),
        (lambda d: d.pop("target"), "lacks the field 'target'"),
        (lambda d: d.update(rows=[[1.0]]), "has the unknown field 'rows'"),
        (lambda d: d.update(target=[]), "target must be text, got"),
        (lambda d: d.update(columns=[5]), r"columns\[0\] must be a JSON object, got 5"),
        (lambda d: d.update(classes="no"), "classes must be a list of at most 100000, got 'no'"),
        (lambda d: d["columns"][0].update(mean=3), r"columns\[0\] has the unknown field 'mean'"),
        (
            lambda d: d["columns"][2].update(categories="ab"),
            r"columns\[2\]\.categories must be a list of at most 100000, got 'ab'",
        ),
        (
            lambda d: d["columns"][2].update(categories=[["a"]]),
            r"columns\[2\]\.categories\[0\] must be text, got \['a'\]",
        ),
        (lambda d: d["columns"][0].update(low="0"), r"columns\[0\]\.low must be a finite number, got '0'"),
    ],
)
def test_a_bad_document_is_refused(change: Callable[[Any], object], says: str) -> None:
    document = json.loads(json.dumps(DOCUMENT))
    change(document)
    with pytest.raises(DataError, match=says):
        Schema.from_json(document)


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3))
ANYTHING = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), SCALARS, max_size=2))


@STEADY
@given(
    st.sampled_from(list(DOCUMENT)),
    st.integers(-1, 2),
    st.sampled_from(["name", "kind", "categories", "low"]),
    ANYTHING,
)
def test_whatever_is_given_only_a_data_error_comes_out(key: str, place: int, field: str, node: Any) -> None:
    document = json.loads(json.dumps(DOCUMENT))
    if place < 0:
        document[key] = node
    else:
        document["columns"][place][field] = node
    try:
        Schema.from_json(document)
    except DataError:
        return


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "\ud800"])
def test_a_bad_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "schema.json"
    path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(DataError, match=r"schema\.json: (not JSON that|must be a JSON object)"):
        Schema.read(path)
    with pytest.raises(DataError, match="no such file"):
        Schema.read(tmp_path / "none.json")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    with path.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    with pytest.raises(DataError, match="at most 16777216 bytes"):
        Schema.read(path)


def test_parties_agree_on_the_union() -> None:
    a = one(Column("x", "categorical", ("b", "c")), ("no", "yes"))
    b = one(Column("x", "categorical", ("a", "c")), ("maybe", "yes"))
    agreed = agree({"b": b, "a": a})
    assert agreed == one(Column("x", "categorical", ("a", "b", "c")), ("maybe", "no", "yes"))
    assert agree({"only": a}) == a
    calm = replace(a, classes=("no",))
    assert agree({"a": a, "calm": calm}).classes == a.classes
    with pytest.raises(DataError, match=r"need at least 2 classes, got \['no'\]"):
        agree({"a": calm, "b": calm})


@pytest.mark.parametrize("other", [Column("x", "numeric"), Column("x", "categorical", ("a",)), Column("x", "empty")])
def test_an_empty_column_agrees_with_anything(other: Column) -> None:
    empty = one(Column("x", "empty"))
    for schemas in ({"a": empty, "b": one(other)}, {"a": one(other), "b": empty}):
        assert agree(schemas).columns == (other,)


def test_thousands_of_columns_agree() -> None:
    wide = Schema("y", "regression", tuple(Column(f"c{k}", "numeric") for k in range(5000)))
    assert agree({f"p{k}": wide for k in range(5)}) == wide


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        (
            one(Column("x", "numeric")),
            one(Column("x", "categorical", ("a",))),
            "column 'x': numeric at party 'north', categorical at party 'south'",
        ),
        (
            one(Column("x", "numeric")),
            one(Column("z", "numeric")),
            "column 'x': party 'north' has it, party 'south' does not",
        ),
        (
            Schema("y", "regression", ()),
            one(Column("z", "numeric")),
            "target 'y': regression at party 'north', classification at party 'south'; say which with --task",
        ),
        (Schema("y", "regression", ()), Schema("v", "regression", ()), "target: 'y' at party 'north', 'v' at party"),
        (
            one(Column("x", "numeric"), (0, 1)),
            one(Column("x", "numeric"), ("0", "1")),
            r"classes must be of one type .* 'north' has \[0, 1\], 'south' has \['0', '1'\]",
        ),
        (one(Column("x", "numeric"), (0, 1)), one(Column("x", "numeric"), (False, True)), "of one type"),
    ],
)
def test_parties_that_cannot_agree_are_named(a: Schema, b: Schema, says: str) -> None:
    with pytest.raises(DataError, match=says):
        agree({"north": a, "south": b})
