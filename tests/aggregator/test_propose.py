"""The candidates are good, differ, and do not depend on who tried what first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from flora.aggregator.propose import APART, candidates
from flora.aggregator.recommend import Recommendation
from flora.problem.path import Path
from flora.problem.space import Boolean, Config, Integer, Points, Real, SearchSpace
from flora.surrogate.regressors import Losses

LINE = SearchSpace((Real("u", 0.0, 1.0),))
SQUARE = SearchSpace((Real("u", 0.0, 1.0), Real("v", 0.0, 1.0)))
TREES = SearchSpace((Integer("trees", 1, 100), Real("rate", 0.0, 1.0)), {"trees": 50, "rate": 0.5})
PATH = Path("trees", (1, 10, 50, 100))


@dataclass(frozen=True)
class Known:
    """A surface with known numbers."""

    losses: Callable[[Points], Losses]

    def __call__(self, points: Points) -> Losses:
        return self.losses(points)

    def error(self, points: Points) -> Losses:
        return np.zeros(len(points))


def found(surface: Callable[[Points], Losses], space: SearchSpace, best: Config, count: int) -> list[Config]:
    return candidates(Known(surface), space, 0, best=Recommendation(best, best, 0.0, 0.0), count=count)


def test_each_is_the_lowest_that_lies_apart_from_those_before() -> None:
    picked = [config["u"] for config in found(lambda p: p[:, 0], LINE, {"u": 0.0}, 4)]
    assert picked[0] == 0.0
    assert picked == pytest.approx([0.0, 0.25, 0.5, 0.75], abs=0.01)
    assert min(np.diff(np.array(picked, dtype=float))) >= APART


def test_where_there_is_no_room_they_lie_closer() -> None:
    picked = found(lambda p: p[:, 0], LINE, {"u": 0.0}, 12)
    assert len({config["u"] for config in picked}) == 12
    gaps = np.diff(np.sort([float(config["u"]) for config in picked]))
    assert APART / 4 <= gaps.min() < APART


def test_there_are_no_more_than_there_are_configs() -> None:
    space = SearchSpace((Boolean("warm"),))
    assert found(lambda p: p[:, 0], space, {"warm": False}, 8) == [{"warm": False}, {"warm": True}]


def test_the_best_comes_first_and_is_inside_the_space() -> None:
    space = SearchSpace((Real("l2", 1e-4, 1.0, "log"), Real("v", 0.0, 1.0)), {"l2": 0.0, "v": 0.5})
    first = found(lambda p: p[:, 0], space, {"l2": 0.0, "v": 0.5}, 1)
    assert first == [{"l2": 1e-4, "v": 0.5}]


def test_what_was_tried_is_among_those_to_choose_from() -> None:
    needle = SQUARE.encode([{"u": 0.625, "v": 0.375}])
    surface = Known(lambda p: np.where((p == needle).all(axis=1), -1.0, p[:, 0]))
    best = Recommendation({"u": 0.0, "v": 0.0}, {"u": 0.0, "v": 0.0}, 0.0, 0.0)
    tried = [{"u": 0.1, "v": 0.9}, {"u": 0.625, "v": 0.375}]
    assert candidates(surface, SQUARE, 0, best=best, count=2, tried=tried)[1] == tried[1]
    assert candidates(surface, SQUARE, 0, best=best, count=2)[1] != tried[1]


def test_the_seed_decides_and_the_order_of_what_was_tried_does_not() -> None:
    flat = Known(lambda p: np.zeros(len(p)))  # all are equal
    best = Recommendation({"u": 0.0, "v": 0.0}, {"u": 0.0, "v": 0.0}, 0.0, 0.0)
    tried = SQUARE.decode(SQUARE.sample(np.random.default_rng(1), 30))

    def chosen(seed: int, order: Sequence[Config]) -> list[Config]:
        return candidates(flat, SQUARE, seed, best=best, count=5, tried=order)

    assert chosen(3, tried) == chosen(3, tried[::-1]) == chosen(3, [*tried[15:], *tried])
    assert chosen(3, []) != chosen(4, [])


def test_along_a_path_each_stands_at_its_best_stop_and_they_differ_elsewhere() -> None:
    def losses(points: Points) -> Losses:  # a low rate wants 50 trees, a high one 10
        trees, rate = points.T
        return np.asarray(np.abs(trees - np.where(rate < 0.5, 49 / 99, 9 / 99)) + 0.01 * rate)

    best = Recommendation({"trees": 37, "rate": 0.2}, {"trees": 37, "rate": 0.2}, 0.0, 0.0)
    picked = candidates(Known(losses), TREES, 0, best=best, count=4, path=PATH)
    assert picked[0] == {"trees": 50, "rate": 0.2}
    assert [config["trees"] for config in picked] == [50 if float(config["rate"]) < 0.5 else 10 for config in picked]
    assert len(picked) == 4
    rates = [float(config["rate"]) for config in picked]
    assert all(abs(one - other) >= APART / 2 for one, other in combinations(rates, 2))
    assert {config["trees"] for config in picked} == {10, 50}


def test_the_stops_of_one_fit_are_looked_at_once() -> None:
    looked_at: list[int] = []

    def surface(points: Points) -> Losses:
        looked_at.append(len(points))
        return points[:, 1]

    best = Recommendation({"trees": 10, "rate": 0.0}, {"trees": 10, "rate": 0.0}, 0.0, 0.0)
    tried = [{"trees": stop, "rate": rate} for rate in (0.1, 0.2) for stop in PATH.stops]
    for known in ([], tried):
        candidates(Known(surface), TREES, 0, best=best, count=3, tried=known, path=PATH)
    assert looked_at[1] - looked_at[0] == 2 * len(PATH.stops)


def test_the_default_is_measured_anyway_and_takes_nobodys_place() -> None:
    space = SearchSpace((Real("u", 0.0, 1.0),), {"u": 0.5})
    surface = Known(lambda p: np.abs(p[:, 0] - 0.5))  # the default is the lowest of all
    best = {"u": 0.1}
    picked = candidates(
        surface, space, 0, best=Recommendation(best, best, 0.0, 0.0), count=3, tried=[{"u": 0.5}, {"u": 0.9}]
    )
    assert {"u": 0.5} not in picked
    along = [{"trees": 10, "rate": 0.5}, {"trees": 10, "rate": 0.1}]
    start = Recommendation(along[1], along[1], 0.0, 0.0)
    others = candidates(surface, TREES, 0, best=start, count=3, tried=along, path=PATH)
    assert all(config["rate"] != 0.5 for config in others)
