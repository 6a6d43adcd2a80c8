import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flora.errors import SpaceError
from flora.problem.parameters import SCALES, Boolean, Categorical, Integer, Parameter, Real, default_value

STEADY = settings(derandomize=True, deadline=None, max_examples=80)
LARGEST = 1.7e308


@st.composite
def reals(draw: st.DrawFn) -> Real:
    scale = draw(st.sampled_from(list(SCALES)))
    least, most = {"log": (1e-300, LARGEST), "logit": (1e-300, 1 - 1e-12)}.get(scale, (-LARGEST, LARGEST))
    low, high = sorted(draw(st.lists(st.floats(least, most), min_size=2, max_size=2)))
    try:
        return Real("x", low, high, scale)
    except SpaceError:  # the ends are too close or too far apart for floats
        assume(False)
        raise


@st.composite
def integers(draw: st.DrawFn) -> Integer:
    scale = draw(st.sampled_from(["linear", "log", "bilog"]))
    least = 1 if scale == "log" else -(10**12)
    low = draw(st.integers(least, 10**12 - 1))
    return Integer("x", low, draw(st.integers(low + 1, 10**12)), scale)


def encode(parameter: Parameter, value: Any) -> float:
    return float(parameter.encode([value])[0, 0])


def decode(parameter: Parameter, unit: float) -> Any:
    return parameter.decode(np.array([[unit]]))[0]


@STEADY
@given(st.one_of(reals(), integers()))
def test_ends_are_exact(parameter: Real) -> None:
    assert encode(parameter, parameter.low) == 0.0
    assert encode(parameter, parameter.high) == 1.0
    assert decode(parameter, 0.0) == parameter.low
    assert decode(parameter, 1.0) == parameter.high


@STEADY
@given(st.one_of(reals(), integers()), st.floats(0, 1))
def test_every_point_is_a_value_and_comes_back(parameter: Real, unit: float) -> None:
    value = decode(parameter, unit)
    assert parameter.contains(value)
    back = encode(parameter, value)
    assert 0 <= back <= 1
    again = decode(parameter, back)
    assert again == value if isinstance(parameter, Integer) else math.isclose(again, value, rel_tol=1e-6, abs_tol=1e-6)


@STEADY
@given(integers(), st.data())
def test_every_integer_comes_back(parameter: Integer, data: st.DataObject) -> None:
    value = data.draw(st.integers(int(parameter.low), int(parameter.high)))
    decoded = decode(parameter, encode(parameter, value))
    assert decoded == value
    assert type(decoded) is int


@pytest.mark.parametrize(
    ("parameter", "value", "unit"),
    [
        (Real("x", 0, 10), 2.5, 0.25),
        (Real("x", 0.01, 100, "log"), 1.0, 0.5),
        (Real("x", 0.1, 0.9, "logit"), 0.5, 0.5),
        (Real("x", -math.expm1(2), math.expm1(2), "bilog"), math.expm1(1), 0.75),
        (Real("x", 1, 10**20, "log"), 1e10, 0.5),
        (Integer("x", 0, 10), 5, 0.5),
        (Integer("x", 1, 100, "log"), 10, 0.5),
    ],
)
def test_scales_have_their_formula(parameter: Real, value: float, unit: float) -> None:
    assert encode(parameter, value) == pytest.approx(unit, abs=1e-12)
    assert decode(parameter, unit) == pytest.approx(value)


def test_what_lies_outside_goes_to_the_ends() -> None:
    assert Real("x", 1, 10, "log").encode([0, -5, 11, 10**30]).ravel().tolist() == [0, 0, 1, 1]
    assert Real("x", 1, 10).decode(np.array([[-0.5], [1.5]])) == [1.0, 10.0]


@pytest.mark.parametrize(
    ("parameter", "grid"),
    [
        (Real("x", 0, 1, step=0.25), [0, 0.25, 0.5, 0.75, 1]),
        (Real("x", 0, 1, step=0.4), [0, 0.4, 0.8, 1]),  # the upper end always belongs to it
        (Integer("x", 2, 11, step=3), [2, 5, 8, 11]),
    ],
)
def test_a_step_makes_a_grid(parameter: Real, grid: list[float]) -> None:
    reached = set(parameter.decode(np.linspace(0, 1, 1001).reshape(-1, 1)))
    assert sorted(map(float, reached)) == pytest.approx(grid)
    assert all(parameter.contains(value) for value in [*reached, *grid])
    assert all(parameter.decode(parameter.encode([value])) == [value] for value in reached)
    assert not parameter.contains(float(parameter.low) + 0.3 * float(parameter.step or 0))


@pytest.mark.parametrize("value", [True, "5", None, math.nan, math.inf, 10**400, [5], 5 + 0j, 4.999, 10.001])
def test_a_range_holds_its_numbers_only(value: Any) -> None:
    assert not Real("x", 5, 10).contains(value)
    assert not Integer("x", 5, 10).contains(value)


def test_integers_are_whole_whatever_their_type() -> None:
    parameter = Integer("x", 1, 9)
    assert all(parameter.contains(value) for value in (3, 3.0, np.int64(3), np.float32(3)))
    assert not parameter.contains(3.5)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Real("x", 2, 1), "need low < high, got 2 and 1"),
        (lambda: Real("x", 1, 1), "need low < high"),
        (lambda: Real("x", 0, 1, "log"), "a log range needs low > 0, got 0"),
        (lambda: Real("x", 0, 0.5, "logit"), "0 < low and high < 1"),
        (lambda: Real("x", 0.5, 1, "logit"), "0 < low and high < 1"),
        (lambda: Real("x", math.nan, 1), "finite number, got nan"),
        (lambda: Real("x", 0, math.inf), "finite number, got inf"),
        (lambda: Real("x", 0, 10**400), "finite number, got 1000"),
        (lambda: Real("x", False, 1), "finite number, got False"),
        (lambda: Real("x", "0", 1), "finite number, got '0'"),  # type: ignore[arg-type]
        (lambda: Real("x", 0, 1, "cube"), "scale must be one of"),
        (lambda: Real("x", 0, 1, ["log"]), "scale must be one of"),  # type: ignore[arg-type]
        (lambda: Real("x", -LARGEST, LARGEST), "too close or too far apart"),
        (lambda: Real("x", 1e10, math.nextafter(1e10, 2e10), "log"), "too close or too far apart"),
        (lambda: Real("x", 1, 2, "log", 0.1), "a step needs a linear range"),
        (lambda: Real("x", 1, 2, step=5), "step <= high - low, got 5"),
        (lambda: Real("x", 1, 2, step=0), "0 < step"),
        (lambda: Real("x", 1, 2, step=True), "0 < step"),
        (lambda: Integer("x", 1.5, 3), "whole numbers up to 1e\\+12, got 1.5"),
        (lambda: Integer("x", 1, 10**13), "whole numbers up to 1e\\+12"),
        (lambda: Integer("x", 1, 9, step=0.5), "whole numbers up to 1e\\+12, got 0.5"),
        (lambda: Categorical("x", ()), "need 2 to 1000 values"),
        (lambda: Categorical("x", ("a",)), "need 2 to 1000 values, got \\['a'\\]"),
        (lambda: Categorical("x", tuple(range(1001))), "need 2 to 1000 values"),
        (lambda: Categorical("x", ("a", "a")), "values must differ"),
        (lambda: Categorical("x", (1, True, 1.0)), "values must differ"),
        (lambda: Categorical("x", ("a", None)), "text, a finite number or a bool, got None"),  # type: ignore[arg-type]
        (lambda: Categorical("x", ("a", [1])), "got \\[1\\]"),  # type: ignore[arg-type]
        (lambda: Categorical("x", (1.0, math.nan)), "got nan"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(build: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        build()
    assert str(caught.value).startswith("x: ")
    assert "\n" not in str(caught.value)


def test_categories_are_one_hot() -> None:
    parameter = Categorical("x", ("a", 2, True))
    assert parameter.width == 3
    assert parameter.encode(["a", True]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert parameter.decode(np.array([[0.1, 0.7, 0.2], [0, 0, 1]])) == [2, True]


def test_true_is_not_one() -> None:
    mixed = Categorical("x", (1, True, "1"))
    assert [mixed.index(value) for value in (1, 1.0, True, "1")] == [0, 0, 1, 2]
    scalars: list[Any] = [np.int64(1), np.bool_(True), np.str_("1")]
    assert [mixed.index(value) for value in scalars] == [0, 1, 2]
    assert not Categorical("x", (0, 1)).contains(True)
    assert not Boolean("x").contains(1)
    assert Boolean("x").contains(np.bool_(True))
    with pytest.raises(SpaceError, match=r"x: must be one of \[0, 1\], got True"):
        Categorical("x", (0, 1)).index(True)


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}, np.array([1, 2]), math.nan, "b"])
def test_categories_hold_their_values_only(value: Any) -> None:
    assert not Categorical("x", ("a", 1)).contains(value)


def test_a_bool_is_one_axis() -> None:
    parameter = Boolean("x")
    assert parameter.width == 1
    assert parameter.encode([True, False]).tolist() == [[1], [0]]
    assert parameter.decode(np.array([[0.0], [0.49], [0.5], [1.0]])) == [False, False, True, True]


def test_no_values_are_no_points() -> None:
    for parameter in (Real("x", 0, 1), Integer("x", 0, 9), Categorical("x", ("a", "b")), Boolean("x")):
        assert parameter.encode([]).shape == (0, parameter.width)
        assert parameter.decode(np.empty((0, parameter.width))) == []


@pytest.mark.parametrize(
    ("parameter", "value", "default"),
    [
        (Real("x", 1e-4, 1, "log"), 0, 0.0),  # scikit-learn's l2_regularization: outside is allowed
        (Integer("x", 10, 200), 100.0, 100),
        (Integer("x", 10, 200), np.int64(5), 5),
        (Categorical("x", (1, "a")), np.int64(1), 1),
        (Boolean("x"), np.bool_(True), True),
    ],
)
def test_a_default_is_of_its_parameters_type(parameter: Parameter, value: Any, default: Any) -> None:
    found = default_value(parameter, value)
    assert (found, type(found)) == (default, type(default))


@pytest.mark.parametrize(
    ("parameter", "value", "says"),
    [
        (Real("x", 0, 1), math.nan, "finite number, got nan"),
        (Real("x", 0, 1), True, "finite number, got True"),
        (Real("x", 0, 1), "0", "finite number, got '0'"),
        (Real("x", 0, 1), 10**400, "finite number"),
        (Integer("x", 0, 9), 1.5, "must be whole, got 1.5"),
        (Categorical("x", ("a", "b")), "c", "must be one of"),
        (Boolean("x"), 1, "must be one of"),
    ],
)
def test_a_bad_default_is_refused(parameter: Parameter, value: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=f"x: .*{says}"):
        default_value(parameter, value)
