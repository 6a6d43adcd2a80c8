"""A sketch as it travels: how much it may tell, and what is refused."""

import json
import math
from typing import Any

import numpy as np
import pytest

from flora.core.codec import read, to_document
from flora.errors import InputError
from flora.problem.sketch import DIRECTIONS, ROWS_PER_QUANTILE, Sketch, direction_count, quantile_count

LINES = tuple(tuple(sorted(line)) for line in np.random.default_rng(0).normal(size=(DIRECTIONS, 8)).tolist())
SKETCH = Sketch("a", 100, 5, 0, LINES)


@pytest.mark.parametrize(("rows", "count"), [(39, 0), (40, 4), (79, 4), (80, 8), (319, 16), (320, 32), (10**6, 32)])
def test_each_quantile_is_a_mean_over_ten_rows(rows: int, count: int) -> None:
    assert quantile_count(rows) == count
    assert count * ROWS_PER_QUANTILE <= rows


def test_on_a_line_there_is_one_direction() -> None:
    assert [direction_count(width) for width in (1, 2, 1000)] == [1, 64, 64]


def test_json_and_back() -> None:
    assert read(Sketch, json.loads(json.dumps(to_document(SKETCH)))) == SKETCH
    assert SKETCH.table.tolist() == [list(line) for line in LINES]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 39}, "sketch: sketch of 'a': 39 rows allow 0 quantiles"),
        ({"rows": 320}, "320 rows allow 32 quantiles, got 8"),
        ({"rows": True}, r"sketch\.rows must be a whole number, got True"),
        ({"width": 0}, r"sketch\.width must be a whole number from 1 to 100000, got 0"),
        ({"width": 100_001}, r"sketch\.width must be a whole number from 1 to 100000, got 100001"),
        ({"width": 1}, "need 1 directions for width 1, got 64"),
        ({"seed": -1}, r"sketch\.seed must be a whole number from 0"),
        ({"party": ""}, r"sketch\.party must be 1 to 200 printable characters"),
        ({"quantiles": 3}, r"sketch\.quantiles must be a list of at most 100000, got 3"),
        ({"quantiles": [3]}, r"sketch\.quantiles\[0\] must be a list of at most 100000, got 3"),
        ({"quantiles": [[0.0] * 8] * 63}, "need 64 directions for width 5, got 63"),
        ({"quantiles": [[0.0] * 8] * 63 + [[0.0] * 7]}, r"100 rows allow 8 quantiles, got 7 in quantiles\[63\]"),
        ({"rows": 39, "quantiles": [[]] * 64}, "39 rows allow 0 quantiles, got 0"),
        ({"quantiles": [[*range(7), math.nan]] * 64}, r"quantiles\[0\]\[7\] must be a finite number, got nan"),
        ({"quantiles": [[8, *range(7)]] * 64}, r"quantiles\[0\] must be finite and in order"),
        ({"quantiles": [[*range(7), "x"]] * 64}, r"quantiles\[0\]\[7\] must be a finite number, got 'x'"),
        ({"rows_of_mine": 1}, "sketch has the unknown field 'rows_of_mine'"),
    ],
)
def test_a_sketch_from_the_wire_is_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(Sketch, {**to_document(SKETCH), **change}, "sketch")
    with pytest.raises(InputError, match=r"sketch must be a JSON object, got \['party'\]"):
        read(Sketch, ["party"], "sketch")
