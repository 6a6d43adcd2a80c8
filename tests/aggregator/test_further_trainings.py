"""Several trainings: the surface is believed until trainings say otherwise."""

from dataclasses import dataclass

import numpy as np
import pytest

from flora.aggregator.further_trainings import (
    APART,
    REACH,
    Posterior,
    Training,
    TrainingSurface,
    axis_weights,
    best_of,
    next_config,
)
from flora.problem.path import Path
from flora.problem.space import Integer, Points, Real, SearchSpace
from flora.surrogate.regressors import Losses

TREES = SearchSpace((Integer("trees", 10, 200), Real("u", 0.0, 1.0)), {"trees": 100, "u": 0.5})
PATH = Path("trees", (10, 50, 100, 200), open=True)
LINE = SearchSpace((Real("u", 0.0, 1.0),), {"u": 0.5})


@dataclass(frozen=True)
class Bowl:
    """A surface that is lowest at ``bottom``."""

    bottom: float
    sure: float = 0.02

    def __call__(self, points: Points) -> Losses:
        return np.asarray(0.1 + (points[:, 0] - self.bottom) ** 2)

    def error(self, points: Points) -> Losses:
        return np.full(len(points), self.sure)


def at(u: float, loss: float | None) -> Training:
    return Training({"u": u}, loss)


def test_the_best_training_has_the_lowest_loss_the_first_of_equals() -> None:
    trainings = [at(0.1, 0.3), at(0.2, 0.2), at(0.3, 0.2), at(0.4, None)]
    assert best_of(trainings) is trainings[1]
    assert best_of([at(0.1, None)]).config == {"u": 0.1}


class TestPosterior:
    points = np.array([[0.2], [0.8]])
    surface = Bowl(0.5)
    posterior = Posterior(surface, points, np.array([0.3, 0.1]), np.ones(1))

    def test_is_moved_at_a_training_and_falls_back_to_the_level_far_from_all(self) -> None:
        moved = self.posterior.mean(self.points) - self.surface(self.points)
        assert moved == pytest.approx([0.3, 0.1], abs=0.02)
        far = np.array([[9.0]])
        assert self.posterior.mean(far) - self.surface(far) == pytest.approx([0.2])

    def test_is_surer_near_a_training(self) -> None:
        deviation = self.posterior.deviation(np.array([[0.2], [0.2 + REACH], [9.0]]))
        assert deviation[0] < deviation[1] / 2 < deviation[2] / 2
        assert deviation[2] == pytest.approx(0.1 * np.sqrt(1.05))  # the trainings' own spread is more than 0.02

    def test_one_training_shifts_the_whole_surface(self) -> None:
        posterior = Posterior(self.surface, np.array([[0.2]]), np.array([0.05]), np.ones(1))
        anywhere = np.linspace(0, 1, 7)[:, None]
        assert posterior.mean(anywhere) == pytest.approx(self.surface(anywhere) + 0.05)


class TestNextConfig:
    def test_follows_the_surface_while_trainings_agree_with_it(self) -> None:
        done = [at(0.9, 0.1 + 0.04), at(0.1, 0.1 + 0.36)]
        assert float(next_config(TrainingSurface(Bowl(0.7), LINE), done, 0)["u"]) == pytest.approx(0.7, abs=0.08)

    def test_leaves_where_trainings_disappoint(self) -> None:
        done = [at(0.2, 0.9), at(0.8, 0.3)]  # the surface promised 0.1 and 0.46
        assert float(next_config(TrainingSurface(Bowl(0.2), LINE), done, 0)["u"]) > 0.6

    def test_is_not_beside_one_that_was_trained_and_goes_by_the_seed(self) -> None:
        done = [at(0.7, 0.1), at(0.5, 0.2), at(0.6, None)]
        found = next_config(TrainingSurface(Bowl(0.7), LINE), done, 3)
        LINE.check(found)
        assert abs(float(found["u"]) - 0.7) >= APART  # where the surface is lowest, a training has said what there is
        assert abs(float(found["u"]) - 0.5) >= APART
        assert found == next_config(TrainingSurface(Bowl(0.7), LINE), done, 3)

    def test_differs_in_what_matters(self) -> None:
        plane = SearchSpace((Real("u", 0.0, 1.0), Real("nothing", 0.0, 1.0)), {"u": 0.5, "nothing": 0.5})
        done = [Training({"u": u, "nothing": 0.5}, 0.1 + (u - 0.7) ** 2) for u in (0.7, 0.4)]
        found = next_config(TrainingSurface(Bowl(0.7), plane), done, 0)
        assert abs(float(found["u"]) - 0.7) >= 0.9 * APART

    def test_what_grows_is_at_the_bottom_of_the_surface_in_the_units_of_a_party(self) -> None:
        done = [at(0.9, 0.1225), at(0.3, 0.1225)]  # what the surface has at 0.45 and 0.15, which stand for them
        found = next_config(TrainingSurface(Bowl(0.3), LINE, grows={"u"}, factor=2.0), done, 0)
        assert float(found["u"]) == pytest.approx(0.6, abs=0.08)

    def test_what_cannot_grow_any_more_is_not_trained_twice(self) -> None:
        done = [at(1.0, 0.3), at(0.2, 0.4)]  # at parties, 1.0 were better than 0.5; no training can have more than 1.0
        found = next_config(TrainingSurface(Bowl(1.0), LINE, grows={"u"}, factor=2.0), done, 0)
        assert float(found["u"]) <= 1.0 - APART

    def test_a_place_that_trainings_choose_themselves_is_not_searched(self) -> None:
        losses = {0.1: 0.3, 0.5: 0.3, 0.9: 0.14}
        done = [Training({"trees": 900, "u": u}, loss) for u, loss in losses.items()]
        found = next_config(TrainingSurface(Valley(), TREES, PATH), done, 0)
        assert set(found) == {"u"}
        assert float(found["u"]) > 0.6  # a training of 900 trees tells about its neighbours


@dataclass(frozen=True)
class Valley:
    """A surface over trees and u: lowest at 100 trees, there alike for all u, and surer with more trees."""

    def __call__(self, points: Points) -> Losses:
        return np.asarray(0.1 + (points[:, 0] - 90 / 190) ** 2)

    def error(self, points: Points) -> Losses:
        return np.asarray(0.02 - 0.01 * points[:, 0])


class TestTrainingSurface:
    def test_along_a_path_the_lowest_counts(self) -> None:
        surface = TrainingSurface(Valley(), TREES, PATH)
        points = surface.space.encode([{"u": 0.2}, {"u": 0.7}])
        assert surface(points) == pytest.approx([0.1, 0.1])
        assert surface.error(points) == pytest.approx([0.02 - 0.01 * 90 / 190] * 2)

    def test_a_training_has_more_of_what_grows_than_what_stands_for_it(self) -> None:
        surface = TrainingSurface(Bowl(0.3), LINE, grows={"u"}, factor=2.0)
        assert surface(np.array([[0.6], [1.0]])) == pytest.approx([0.1, 0.1 + 0.2**2])


def test_an_axis_weighs_what_its_hp_matters() -> None:
    assert axis_weights(Valley(), TREES, 0) == pytest.approx([1.0, 0.0])
    flat = axis_weights(TrainingSurface(Valley(), TREES, PATH), LINE, 0)
    assert flat == pytest.approx([1.0])  # where nothing matters, all counts
