"""More than one federated training: a Bayesian search whose prior is the parties' loss surface.

The surface tells how losses differ between configs at the parties' own sizes; each training tells, at one config, how
far the federated loss is from it. A Gaussian process of these differences is added to the surface. Trainings are
alike where they are near in the HPs that matter to the surface.
"""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.surface import LossSurface
from flora.problem.path import Path
from flora.problem.space import Config, Points, SearchSpace
from flora.randomness import derived_seed, stream
from flora.surrogate.acquisition import ExpectedImprovement
from flora.surrogate.importance import importance_of
from flora.surrogate.minimise import SIZE, minimise
from flora.surrogate.regressors import Losses

REACH = 0.3  # of the unit cube's side: how far a training tells about its neighbours
APART = 0.1  # of the same: a training nearer to an earlier one would tell nothing new
NOISE = 0.05  # a training's own chance, as a share of the variance
SAMPLES = 256  # points by which to tell which HPs matter

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """One federated training: its config as trained, and its loss on the rows that the parties first held out."""

    config: Config
    loss: float | None  # None where none were held out
    chosen: tuple[str, ...] = ()  # the HPs that it chose itself, by these rows


@dataclass(frozen=True)
class TrainingSurface:
    """The parties' surface as one over what trainings differ in.

    Of what grows with the rows, a training has more than the place on the parties' surface that stands for it. And
    where it chooses its place on a path itself, that is no HP of it: the lowest predicted loss along the path counts.
    """

    surface: LossSurface
    searched: SearchSpace  # by the parties
    path: Path | None = None  # where trainings choose their place themselves
    grows: Set[str] = frozenset()
    factor: float = 1.0  # how much more of these a training has

    @property
    def space(self) -> SearchSpace:
        """The HPs in which trainings differ."""
        return self.path.rest(self.searched) if self.path else self.searched

    def __call__(self, points: Points) -> Losses:
        """Return the predicted loss: (n, d) -> (n,)."""
        return np.asarray(self._losses(self._places(points)).min(axis=1))

    def error(self, points: Points) -> Losses:
        """Return the standard deviation of the belief in it: (n, d) -> (n,)."""
        places = self._places(points)
        return self.surface.error(places[np.arange(len(points)), self._losses(places).argmin(axis=1)])

    def _losses(self, places: Points) -> Points:
        return self.surface(places.reshape(-1, self.searched.width)).reshape(places.shape[:2])

    def _places(self, points: Points) -> Points:
        """Return what stands for trainings at a party, at each stop of the path: (n, d) -> (n, stops, width)."""
        space = self.space
        small = [space.scaled(config, self.grows, 1 / self.factor) for config in space.decode(points)]
        configs = [stop for config in small for stop in (self.path.configs(config) if self.path else [config])]
        return self.searched.encode(configs).reshape(len(points), -1, self.searched.width)


@dataclass(frozen=True)
class Posterior:
    """The surface, moved by what the trainings have shown."""

    surface: LossSurface
    points: Points  # (trainings, width)
    differences: Losses  # of the federated losses from the surface
    weights: Weights  # of the cube's axes: along one that does not matter, trainings are near

    def mean(self, points: Points) -> Losses:
        """Return the expected federated loss: (n, d) -> (n,)."""
        from scipy.linalg import cho_solve

        level = float(np.mean(self.differences))
        solved = cho_solve(self._factor(), self.differences - level)
        return np.asarray(self.surface(points) + level + self._kernel(points) @ solved)

    def deviation(self, points: Points) -> Losses:
        """Return the standard deviation of that belief: (n, d) -> (n,)."""
        from scipy.linalg import cho_solve

        near = self._kernel(points)
        explained = np.einsum("ij,ji->i", near, cho_solve(self._factor(), near.T))
        spread = np.maximum(self.surface.error(points), np.std(self.differences))
        return np.asarray(spread * np.sqrt(np.maximum(1 + NOISE - explained, NOISE)))

    def distance(self, points: Points) -> Losses:
        """Return how far each point is from the nearest training: (n, d) -> (n,)."""
        return np.asarray(self._distances(points).min(axis=1))

    def _factor(self) -> tuple[Points, bool]:
        from scipy.linalg import cho_factor

        covariance = self._kernel(self.points) + NOISE * np.eye(len(self.points))
        return cho_factor(covariance)  # type: ignore[no-any-return]

    def _kernel(self, points: Points) -> Points:
        return np.asarray(np.exp(-(self._distances(points) ** 2) / (2 * REACH**2)))

    def _distances(self, points: Points) -> Points:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(points * self.weights, self.points * self.weights))


def best_of(trainings: Sequence[Training]) -> Training:
    """Return the training with the lowest loss, the first of equals; where there is but one, that one."""
    return min(trainings, key=lambda training: math.inf if training.loss is None else training.loss)


def next_config(surface: TrainingSurface, done: Sequence[Training], seed: int) -> Config:
    """Return the config whose training may be expected to improve most on the best one so far.

    It says nothing of what the training chooses itself.
    """
    space, number = surface.space, len(done)
    judged = [training for training in done if training.loss is not None]
    start = [{name: training.config[name] for name in space.names} for training in judged]
    points = space.encode(start)
    losses = np.array([training.loss for training in judged], dtype=np.float64)
    posterior = Posterior(surface, points, losses - surface(points), axis_weights(surface, space, seed))
    improvement = ExpectedImprovement(posterior, space.snap(points), float(losses.min()))

    def of_something_new(points: Points) -> Losses:
        return np.where(posterior.distance(points) < APART, 1.0, improvement(points))  # of a loss, negated: below 0

    size = SIZE // len(surface.path.stops) if surface.path else SIZE  # points are looked at all along the path
    return space.decode(minimise(of_something_new, space, derived_seed(seed, "training", number), start, size))[0]


def axis_weights(surface: LossSurface, space: SearchSpace, seed: int) -> Weights:
    """Return how much each axis of the unit cube matters to a surface, of 1 for the HP that matters most: (d,)."""
    found = importance_of(surface, space, partial(stream, seed, "training", "importance"), SAMPLES)
    totals = np.sqrt([importance.total for importance in found])
    weights = totals / totals.max() if totals.max() > 0 else np.ones(len(totals))
    return np.repeat(weights, [parameter.width for parameter in space.parameters])
