"""What a fit passes through: where the search looks, and what remains to be searched."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flora.models.hgb import GradientBoosting
from flora.path import STOPS, Path, path_of, path_through
from flora.plan import SearchPlan
from flora.space import Categorical, Integer, Real, SearchSpace

TREES = GradientBoosting().space("classification")
RATE = Real("rate", 0.1, 1.0)


def space(trees: Any, default: int | None = None) -> SearchSpace:
    return SearchSpace((trees, RATE), {} if default is None else {trees.name: default, "rate": 0.5})


def test_the_stops_are_even_on_a_log_scale_and_the_default_is_one() -> None:
    path = path_through(TREES, {"max_iter"})
    assert path == Path("max_iter", (10, 16, 27, 45, 74, 100, 121, 200))


def test_a_config_along_the_path() -> None:
    path = Path("trees", (1, 5, 20))
    assert path.configs({"rate": 0.1, "trees": 7}) == [{"rate": 0.1, "trees": stop} for stop in (1, 5, 20)]
    assert path.configs({"rate": 0.1})[2] == path.at_top({"rate": 0.1, "trees": 7}) == {"rate": 0.1, "trees": 20}


def test_what_remains_to_be_searched_keeps_its_default() -> None:
    rest = Path("max_iter", (10, 200)).rest(TREES)
    assert rest.names == ("learning_rate", "min_samples_leaf", "l2_regularization")
    assert dict(rest.default) == {name: TREES.default[name] for name in rest.names}
    assert not Path("trees", (1,)).rest(space(Integer("trees", 1, 9))).default


@pytest.mark.parametrize(
    "without",
    [
        space(Integer("depth", 1, 9)),
        space(Real("trees", 1.0, 9.0)),
        space(Categorical("trees", (1, 9))),
        space(Integer("trees", -5, 0)),
        SearchSpace((Integer("trees", 1, 9),)),
    ],
    ids=["another HP", "no whole number", "no order", "nothing to fit", "no other HP"],
)
def test_there_is_no_path(without: SearchSpace) -> None:
    assert path_through(without, {"trees"}) is None


def test_a_path_stays_in_its_range_and_on_its_grid() -> None:
    beyond = path_through(space(Integer("trees", 10, 50), default=100), {"trees"})
    assert beyond is not None
    assert (beyond.stops[0], beyond.stops[-1]) == (10, 50)
    steps = path_through(space(Integer("trees", 10, 210, step=50), default=100), {"trees"})
    assert steps == Path("trees", (10, 60, 110, 210))
    from_nothing = path_through(space(Integer("trees", 0, 4, step=2), default=0), {"trees"})
    assert from_nothing == Path("trees", (2, 4))


@given(st.integers(-3, 50), st.integers(1, 1000), st.integers(1, 2000))
def test_stops_ascend_to_the_top(low: int, width: int, default: int) -> None:
    high = max(low, 0) + width
    path = path_through(space(Integer("trees", low, high), default), {"trees"})
    assert path is not None
    assert list(path.stops) == sorted(set(path.stops))
    assert path.stops[0] == max(low, 1)
    assert path.stops[-1] == high
    assert len(path.stops) <= STOPS + 1
    assert min(default, high) in path.stops or default < path.stops[0]


def test_a_search_may_do_without() -> None:
    plan = SearchPlan("hgb", "classification", TREES, "accuracy")
    assert path_of(plan, {"max_iter"}) == path_through(TREES, {"max_iter"})
    assert path_of(replace(plan, paths=False), {"max_iter"}) is None
    assert path_of(plan, frozenset()) is None
