"""The minimum is found on surfaces whose minimum is known, inside the space, by the seed alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.aggregator.recommend import Recommendation, recommend
from flora.aggregator.surfaces.average_of_parties import AverageOfParties
from flora.problem.space import Boolean, Categorical, Config, Integer, Points, Real, SearchSpace
from flora.surrogate.minimise import minimise
from flora.surrogate.regressors import Losses, forest

UNIT = SearchSpace(tuple(Real(name, 0.0, 1.0) for name in "abcd"))
SQUARE = SearchSpace((Real("u", 0.0, 1.0), Real("v", 0.0, 1.0)))
MIXED = SearchSpace(
    (
        Real("l2", 1e-4, 10.0, "log"),
        Integer("trees", 10, 200),
        Integer("depth", 1, 4),
        Categorical("kind", ("x", "y", "z")),
        Boolean("warm"),
    ),
    default={"l2": 0.0, "trees": 100, "depth": 3, "kind": "x", "warm": False},
)


@dataclass(frozen=True)
class Known:
    """A surface with known numbers."""

    losses: Callable[[Points], Losses]

    def __call__(self, points: Points) -> Losses:
        return self.losses(points)

    def error(self, points: Points) -> Losses:
        return np.full(len(points), 0.125)


def mixed_bowl(points: Points) -> Losses:
    """Lowest at trees=105, depth=2, kind=y and warm; a trap at kind=z, whose bowl is wider and a little higher."""
    l2, trees, depth, _, is_y, is_z, warm = points.T
    narrow = 4 * (l2 - 0.31) ** 2 + 4 * (trees - 0.5) ** 2 + (depth - 1 / 3) ** 2
    return np.asarray(np.where(is_y == 1, narrow, np.where(is_z == 1, 0.1 + narrow / 20, 1.0)) + 0.05 * (1 - warm))


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_middle_and_the_edge_of_a_bowl_in_four_dimensions(seed: int) -> None:
    lowest = np.array([0.1, 0.9, 0.33, 1.0])
    found = recommend(Known(lambda p: 0.2 + ((p - lowest) ** 2).sum(axis=1)), UNIT, seed)
    assert list(found.config.values()) == pytest.approx(lowest, abs=2e-3)
    assert found.loss == pytest.approx(0.2, abs=1e-5)
    assert found.error == 0.125


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_minimum_of_a_mixed_space(seed: int) -> None:
    config = recommend(Known(mixed_bowl), MIXED, seed).config
    assert dict(config) | {"l2": 0, "trees": 0} == {"l2": 0, "trees": 0, "depth": 2, "kind": "y", "warm": True}
    assert MIXED.encode([config])[0, 0] == pytest.approx(0.31, abs=2e-3)
    assert config["trees"] in (104, 105, 106)


def test_changes_one_category_after_the_other() -> None:
    kinds = SearchSpace(tuple(Categorical(f"k{i}", ("w", "x", "y", "z")) for i in range(9)))  # 262,144 configs
    found = recommend(Known(lambda p: 9 - p[:, 2::4].sum(axis=1)), kinds, 0)
    assert set(found.config.values()) == {"y"}


def test_a_start_config_leads_to_a_minimum_that_chance_misses() -> None:
    needle = np.array([0.123, 0.456, 0.789, 0.246])
    surface = Known(lambda p: -np.exp(-((p - needle) ** 2).sum(axis=1) / 1e-6))
    near = UNIT.decode(needle[None] + 0.001)
    assert recommend(surface, UNIT, 0).loss > -0.01
    assert recommend(surface, UNIT, 0, start=near).loss < -0.9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("low", "high"), [((0.2, 0.3), (0.6, 0.5)), ((0.0, 0.9), (0.4, 1.0)), ((0.7, 0.1), (0.72, 0.9))]
)
def test_takes_the_middle_of_a_plateau(low: tuple[float, float], high: tuple[float, float], seed: int) -> None:
    def box(points: Points) -> Losses:
        inside = ((points >= low) & (points <= high)).all(axis=1)
        return np.asarray(np.where(inside, 0.0, 1.0))

    point = minimise(box, SQUARE, seed)[0]
    off_centre = np.abs(point - np.add(low, high) / 2) / np.subtract(high, low)  # 0 is the middle, 0.5 an edge
    assert (off_centre < 0.2).all()


def test_the_middle_of_a_plateau_has_a_category_of_it() -> None:
    space = SearchSpace((Categorical("kind", ("x", "y", "z")), Real("u", 0.0, 1.0)))
    config = recommend(Known(lambda p: p[:, 1].copy()), space, 0).config  # x and z are equal, y is worse
    assert config["kind"] in ("x", "z")


class TestByTheSeedAlone:
    points = MIXED.sample(np.random.default_rng(0), 60)
    surface = AverageOfParties((forest(points, mixed_bowl(points), 1), forest(points[:30], points[:30, 0], 2)), (1, 1))
    start = MIXED.decode(points)

    def found(self, seed: int, start: list[Config]) -> Recommendation:
        return recommend(self.surface, MIXED, seed, start=start)

    def test_same_seed_same_recommendation_whatever_the_order_of_start(self) -> None:
        first = self.found(4, self.start)
        assert first == self.found(4, self.start[::-1])
        assert first == self.found(4, [*self.start[30:], *self.start[:30], *self.start[:5]])

    def test_another_seed_finds_the_same_loss(self) -> None:
        assert self.found(4, self.start).loss == pytest.approx(self.found(5, self.start).loss, abs=1e-3)

    def test_no_trial_is_lower(self) -> None:
        assert self.found(4, self.start).loss <= self.surface(self.points).min()

    def test_loss_and_error_are_the_surfaces_own(self) -> None:
        found = self.found(4, self.start)
        point = MIXED.encode([found.config])
        assert found.loss == pytest.approx(self.surface(point)[0])
        assert found.error == pytest.approx(self.surface.error(point)[0])


def test_never_the_default_outside_its_range() -> None:
    found = recommend(Known(lambda p: p[:, 0].copy()), MIXED, 0, start=[MIXED.default])
    assert found.config["l2"] == 1e-4
    MIXED.check(found.config)


def test_a_space_of_two_configs() -> None:
    found = recommend(Known(lambda p: 1 - p[:, 0]), SearchSpace((Boolean("warm"),)), 0)
    assert found == Recommendation({"warm": True}, {"warm": True}, 0.0, 0.125)


parameters = st.one_of(
    st.builds(
        Real, st.just("p"), st.floats(0.01, 0.4), st.floats(0.5, 0.9), st.sampled_from(["linear", "log", "logit"])
    ),
    st.builds(Real, st.just("p"), st.just(0.0), st.just(1.0), st.just("linear"), st.sampled_from([0.1, 0.25, 0.3])),
    st.builds(
        Integer, st.just("p"), st.integers(1, 5), st.integers(6, 500), st.sampled_from(["linear", "log", "bilog"])
    ),
    st.builds(Categorical, st.just("p"), st.just(("x", 1, 2.5, True))),
    st.builds(Boolean, st.just("p")),
)
spaces = st.lists(parameters, min_size=1, max_size=3).map(
    lambda found: SearchSpace(tuple(type(p)(**(vars(p) | {"name": f"p{k}"})) for k, p in enumerate(found)))
)


@settings(max_examples=12, deadline=None)
@given(spaces, st.integers(0, 2**31))
def test_always_inside_the_space_and_at_a_configs_point(space: SearchSpace, seed: int) -> None:
    direction = np.random.default_rng(seed).standard_normal(space.width)
    point = minimise(lambda p: p @ direction, space, seed, size=256)
    space.check(space.decode(point)[0])
    assert space.snap(point) == pytest.approx(point)


def test_what_the_surface_does_not_see_stays_at_its_default() -> None:
    space = SearchSpace((Real("x", 0.0, 1.0), Real("y", 0.0, 1.0)), {"x": 0.25, "y": 0.75})
    seen = recommend(Known(lambda p: (p[:, 0] - 0.6) ** 2), space, 0).config
    assert seen["x"] == pytest.approx(0.6, abs=0.01)
    assert seen["y"] == 0.75
    assert recommend(Known(lambda p: np.zeros(len(p))), space, 0).config == dict(space.default)


def test_a_surface_that_sees_nothing_leaves_the_default_to_the_bit() -> None:
    default: Config = {"C": 1.0, "gamma": 0.1, "tol": 0.001, "far": 20.0}
    space = SearchSpace(
        (
            Real("C", 0.01, 100.0, "log"),
            Real("gamma", 1e-5, 10.0, "log"),
            Real("tol", 1e-5, 0.1, "log"),
            Real("far", 1.0, 10.0),
        ),
        default,
    )
    found = recommend(Known(lambda p: np.full(len(p), 0.2)), space, 0)
    assert found.config == {**default, "far": 10.0}
