import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora.errors import DataError, InputError
from flora.models.encoding import Encoding, fit_encoding
from flora.models.rows import Rows
from flora.problem.schema import Column, Schema
from tests.conftest import Recorder

NAN = float("nan")
SCHEMA = Schema(
    "target",
    "classification",
    (
        Column("a_number", "numeric"),
        Column("b_colour", "categorical", ("blue", "green", "red")),
        Column("c_constant", "numeric"),
        Column("d_empty", "empty"),
        Column("e_public", "numeric", low=0.0, high=10.0),
    ),
    ("no", "yes"),
)
ROWS = Rows(
    np.array(
        [
            [1.0, 2.0, 7.0, NAN, 5.0],
            [3.0, 2.0, 7.0, NAN, 2.5],
            [NAN, 0.0, 7.0, NAN, 20.0],
            [5.0, NAN, 7.0, NAN, 0.0],
        ]
    ),
    np.array([0, 1, 0, 1]),
    SCHEMA,
)


def random_rows(rows: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(0, 1, rows) * np.where(rng.random(rows) < 0.02, 1e7, 1),
            rng.integers(0, 3, rows).astype(float),
            np.full(rows, 7.0),
            np.full(rows, np.nan),
            rng.uniform(0, 10, rows),
        ]
    )
    X[rng.random((rows, 5)) < 0.1] = np.nan
    return Rows(X, rng.integers(0, 2, rows), SCHEMA)


def test_known_numbers() -> None:
    dense = fit_encoding(ROWS, Alone())(ROWS.X)
    assert dense.tolist() == [
        # number, missing | blue, green, red, missing | constant | public range
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.5],
        [0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.25],
        [0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0],
        [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0],
    ]


def test_new_rows_may_be_out_of_range_and_miss_what_was_never_missing() -> None:
    encoding = fit_encoding(ROWS, Alone())
    dense = encoding(np.array([[9.0, NAN, NAN, NAN, NAN], [-3.0, 1.0, 8.0, 4.0, -10.0]]))
    public_mean = (0.5 + 0.25 + 2.0 + 0.0) / 4
    assert dense.tolist() == [
        [2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, public_mean],
        [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0],
    ]
    assert encoding.width == dense.shape[1]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 120), max_size=3))
def test_the_parties_encode_as_pooled_rows_would_be(seed: int, cuts: list[int]) -> None:
    rows = random_rows(120, seed)
    shares = np.split(np.argsort(rows.X[:, 0]), sorted(cuts))  # skewed, of any size, empty too
    encodings = in_step([lambda c, s=share: fit_encoding(rows.take(s), c) for share in shares])  # type: ignore[misc]
    assert all(encoding == encodings[0] for encoding in encodings)
    np.testing.assert_allclose(encodings[0](rows.X), fit_encoding(rows, Alone())(rows.X), rtol=1e-12, atol=1e-15)


def test_a_column_is_flagged_when_only_another_party_misses_values() -> None:
    whole, holed = ROWS.take(np.array([0, 1])), ROWS.take(np.array([2, 3]))
    encodings = in_step([lambda c: fit_encoding(whole, c), lambda c: fit_encoding(holed, c)])
    assert [column.flagged for column in encodings[0].columns] == [True, True, False, False]


def test_a_column_without_any_value_is_zero() -> None:
    X = ROWS.X.copy()
    X[:, [0, 1]] = np.nan
    dense = fit_encoding(replace(ROWS, X=X), Alone())(ROWS.X)
    assert dense[:, :2].tolist() == [[0, 0], [0, 0], [0, 1], [0, 0]]
    assert np.isfinite(dense).all()


def test_no_extreme_of_a_public_range_leaves() -> None:
    def shapes(column: Column) -> list[tuple[int, ...]]:
        ends: list[Recorder] = []

        def share(collective: Collective) -> None:
            ends.append(Recorder(collective))
            fit_encoding(
                Rows(ROWS.X[:, 4:], ROWS.y, Schema("target", "classification", (column,), ("no", "yes"))), ends[-1]
            )

        in_step([share, share])
        return [values.shape for values in ends[0].sums]

    public = shapes(Column("x", "numeric", low=0.0, high=10.0))
    assert public[0] == (2,)  # present and missing, then the sum of what is scaled
    assert len(public) == 2
    assert shapes(Column("x", "numeric")) == [(2, 15)] * 16 + public  # the digits of its maximum and minimum


def test_what_leaves_is_finite_and_has_no_axis_of_rows() -> None:
    recorder = Recorder()
    fit_encoding(random_rows(101, 0).take(np.arange(97)), recorder)
    recorder.check(97)


def test_json_keeps_every_digit() -> None:
    rows = random_rows(50, 1)
    encoding = fit_encoding(rows, Alone())
    assert Encoding.from_json(json.loads(json.dumps(encoding.to_json())), rows.schema) == encoding


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"place": 99}, "got the place 99"),
        ({"place": -1}, "places and categories from 0"),
        ({"categories": 77}, "has not 77 categories"),
        ({"low": "1"}, "low must be a finite number"),
        ({"flagged": 1}, "flagged must be true or false"),
        ({"more": 1}, "unknown field 'more'"),
    ],
)
def test_an_encoding_that_does_not_fit_the_schema_is_refused(column: dict[str, object], words: str) -> None:
    rows = random_rows(50, 1)
    document = fit_encoding(rows, Alone()).to_json()
    document["columns"][0] |= column
    with pytest.raises(InputError, match=words):
        Encoding.from_json(document, rows.schema)


@pytest.mark.parametrize("document", [{}, {"columns": [{"place": 0}]}, {"columns": 3}, {"columns": []}, None])
def test_a_broken_document_is_refused(document: object) -> None:
    with pytest.raises(InputError, match="encoding"):
        Encoding.from_json(document, ROWS.schema)


def test_a_table_of_empty_columns_is_refused() -> None:
    schema = Schema("target", "classification", (Column("x", "empty"),), ("no", "yes"))
    with pytest.raises(DataError, match="nothing to learn from"):
        fit_encoding(Rows(np.full((2, 1), np.nan), np.array([0, 1]), schema), Alone())
