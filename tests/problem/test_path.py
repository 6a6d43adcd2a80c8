"""What a fit passes through: where the search looks, what remains to be searched, and how far all rows go."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flora.errors import SpaceError
from flora.models import family_of
from flora.problem.path import (
    STOPS,
    Path,
    check_trainable,
    counts_by_held_rows,
    family_path,
    fits_in,
    path_of,
    path_through,
)
from flora.problem.plan import SearchPlan
from flora.problem.space import Categorical, Integer, Real, SearchSpace

HGB = family_of("hgb")
TREES = HGB.spaces("classification")["own"]
RATE = Real("rate", 0.1, 1.0)
NARROW = SearchSpace((Integer("max_iter", 10, 50), Real("learning_rate", 0.01, 1.0, "log")))
OPEN = Path("max_iter", (10, 200), open=True)


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
    assert rest.names == ("learning_rate", "min_samples_leaf", "l2_regularization", "class_balance")
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


def test_rows_are_enough_to_count_by_from_five_thousand_on() -> None:
    assert (counts_by_held_rows(4999), counts_by_held_rows(5000)) == (False, True)


class TestFamilyPath:
    def test_is_open_where_the_range_is_the_familys_own(self) -> None:
        path = family_path(TREES, HGB)
        assert path is not None
        assert path.open
        assert [path.furthest(parties) for parties in (1, 3, 32, 50)] == [200, 310, 800, 956]

    def test_is_not_where_the_range_is_a_users(self) -> None:
        path = family_path(NARROW, HGB)
        assert path is not None
        assert not path.open
        assert path.furthest(50) == 50

    def test_is_none_where_a_family_passes_through_nothing(self) -> None:
        svm = family_of("svm")
        assert family_path(svm.spaces("classification")["own"], svm) is None
        own = family_of("sklearn.neighbors:KNeighborsClassifier")  # it has no space of its own to compare with
        assert family_path(SearchSpace((Integer("n_neighbors", 1, 9),)), own) is None


class TestCheckTrainable:
    def test_an_open_path_has_an_end_too(self) -> None:
        check_trainable({**TREES.default, "max_iter": 2000}, TREES, OPEN)
        with pytest.raises(SpaceError, match="max_iter: a training goes to 2000 at most, got 2001"):
            check_trainable({**TREES.default, "max_iter": 2001}, TREES, OPEN)

    def test_a_users_own_range_holds(self) -> None:
        with pytest.raises(SpaceError, match="max_iter: 51 is not in"):
            check_trainable({"max_iter": 51, "learning_rate": 0.1}, NARROW, family_path(NARROW, HGB))

    @pytest.mark.parametrize(
        ("name", "value"), [("max_iter", 9), ("max_iter", "800"), ("max_iter", 10.5), ("learning_rate", 1.1)]
    )
    def test_all_else_must_be_in_the_space(self, name: str, value: object) -> None:
        with pytest.raises(SpaceError, match=name):
            check_trainable({**TREES.default, name: value}, TREES, OPEN)  # type: ignore[dict-item]

    def test_a_default_past_the_range_is_the_default(self) -> None:
        space = SearchSpace(NARROW.parameters, {"max_iter": 100, "learning_rate": 0.1})
        check_trainable(space.default, space, Path("max_iter", (10, 50)))

    def test_without_a_path_nothing_may_leave_the_space(self) -> None:
        with pytest.raises(SpaceError, match="max_iter"):
            check_trainable({**TREES.default, "max_iter": 201}, TREES, None)


def test_fits_are_counted_and_not_what_they_pass_through() -> None:
    path = Path("trees", (1, 2, 4))
    one, other = ([{"trees": k, "rate": rate} for k in (2, 1, 4)] for rate in (0.1, 0.5))
    assert fits_in([*one, *other], path) == 2
    assert fits_in([*one, *one], path) == 2  # the same config twice is two fits
    assert fits_in([*one, *other], None) == 6
    assert fits_in([], path) == 0
