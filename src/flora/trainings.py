"""More than one federated training: a Bayesian search whose prior is the parties' loss surface.

The surface tells how losses differ between configs at the parties' own sizes; each training tells, at one config, how
far the federated loss is from it. A Gaussian process of these differences is added to the surface.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from flora.minimise import minimise
from flora.randomness import derived_seed
from flora.regressors import Losses
from flora.samplers import ExpectedImprovement
from flora.space import Config, Points, SearchSpace
from flora.surface import LossSurface

REACH = 0.3  # of the unit cube's side: how far a training tells about its neighbours
NOISE = 0.05  # a training's own chance, as a share of the variance


@dataclass(frozen=True)
class Training:
    """One federated training: its config as trained, and its loss on the rows that the parties first held out."""

    config: Config
    loss: float | None  # None where none were held out
    chosen: tuple[str, ...] = ()  # the HPs that it chose itself, by these rows


@dataclass(frozen=True)
class Posterior:
    """The surface, moved by what the trainings have shown."""

    surface: LossSurface
    points: Points  # (trainings, width)
    differences: Losses  # of the federated losses from the surface

    def mean(self, points: Points) -> Losses:
        """Return the expected federated loss: (n, d) -> (n,)."""
        level = float(np.mean(self.differences))
        weights = cho_solve(self._factor(), self.differences - level)
        return np.asarray(self.surface(points) + level + _kernel(points, self.points) @ weights)

    def deviation(self, points: Points) -> Losses:
        """Return the standard deviation of that belief: (n, d) -> (n,)."""
        near = _kernel(points, self.points)
        explained = np.einsum("ij,ji->i", near, cho_solve(self._factor(), near.T))
        spread = np.maximum(self.surface.error(points), np.std(self.differences))
        return np.asarray(spread * np.sqrt(np.maximum(1 + NOISE - explained, NOISE)))

    def _factor(self) -> tuple[Points, bool]:
        covariance = _kernel(self.points, self.points) + NOISE * np.eye(len(self.points))
        return cho_factor(covariance)  # type: ignore[no-any-return]


def best_of(trainings: Sequence[Training]) -> Training:
    """Return the training with the lowest loss, the first of equals; where there is but one, that one."""
    return min(trainings, key=lambda training: math.inf if training.loss is None else training.loss)


def next_config(surface: LossSurface, space: SearchSpace, done: Sequence[Training], seed: int) -> Config:
    """Return the config whose training may be expected to improve most on the best one so far."""
    judged = [training for training in done if training.loss is not None]
    points = space.encode([training.config for training in judged])
    losses = np.array([training.loss for training in judged], dtype=np.float64)
    posterior = Posterior(surface, points, losses - surface(points))
    improvement = ExpectedImprovement(posterior, space.snap(points), float(losses.min()))
    start = [training.config for training in judged]
    return space.decode(minimise(improvement, space, derived_seed(seed, "training", len(done)), start))[0]


def _kernel(one: Points, other: Points) -> Points:
    squared = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-squared / (2 * REACH**2)))
