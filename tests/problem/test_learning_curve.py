"""A learning curve as it travels."""

import json
import math
from typing import Any

import pytest

from flora.core.codec import read, to_document
from flora.errors import InputError
from flora.problem.learning_curve import CurvePoint, LearningCurve

CURVE = LearningCurve("a", {"C": 1.0}, (CurvePoint(100, 0.3, 0.005), CurvePoint(200, -0.2, 0)))


def test_json_and_back() -> None:
    assert read(LearningCurve, json.loads(json.dumps(to_document(CURVE)))) == CURVE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"party": ""}, "curve.party must be 1 to 200 printable characters, got ''"),
        ({"points": []}, r"curve: a learning curve has 1 to 16 growing sizes, got \[\] at party 'a'"),
        ({"points": [{"rows": 9, "loss": 0.1, "error": 0.1}] * 2}, "1 to 16 growing sizes"),
        (
            {"points": [{"rows": 9, "loss": 0.1, "error": 0.1}, {"rows": 8, "loss": 0.1, "error": 0.1}]},
            "1 to 16 growing",
        ),
        ({"points": [{"rows": k, "loss": 0.1, "error": 0.1} for k in range(1, 18)]}, "1 to 16 growing sizes"),
        ({"points": [{"rows": 9, "loss": math.nan, "error": 0.1}]}, r"points\[0\]\.loss must be a finite number"),
        ({"points": [{"rows": 9, "loss": 1e101, "error": 0.1}]}, r"points\[0\]\.loss must be .* at most 1e100"),
        ({"points": [{"rows": 9, "loss": 0.1, "error": -0.1}]}, r"points\[0\]\.error must be .* from 0 to 1e100"),
        ({"points": [{"rows": 0, "loss": 0.1, "error": 0.1}]}, r"points\[0\]\.rows must be a whole number from 1"),
        ({"points": [{"rows": 9, "loss": 0.1}]}, r"points\[0\] lacks the field 'error'"),
        ({"points": 3}, "points must be a list of at most 100000, got 3"),
        ({"config": 3}, "config must be a JSON object, got 3"),
        ({"labels": 3}, "curve has the unknown field 'labels'"),
    ],
)
def test_a_curve_from_the_wire_is_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(LearningCurve, {**to_document(CURVE), **change}, "curve")


def test_sixteen_sizes_are_not_too_many() -> None:
    assert len(LearningCurve("a", {}, tuple(CurvePoint(k, 0.1, 0.1) for k in range(1, 17))).points) == 16


def test_a_curve_is_true_from_birth() -> None:
    with pytest.raises(InputError, match="rows must be a whole number from 1"):
        CurvePoint(0, 0.1, 0.1)
    with pytest.raises(InputError, match="growing sizes"):
        LearningCurve("a", {}, CURVE.points[::-1])
