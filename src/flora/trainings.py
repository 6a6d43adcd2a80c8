"""More than one federated training: a Bayesian search whose prior is the parties' loss surface.

The surface tells how losses differ between configs at the parties' own sizes; each training tells, at one config, how
far the federated loss is from it. A Gaussian process of these differences is added to the surface.

All of it is in the units of a party's rows: of what grows with the rows, a training has more than the place where it
stands (see ``size_law.py``). And where a training chooses its place on a path itself, that is no HP to search.
"""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from flora.minimise import SIZE, minimise
from flora.path import Path
from flora.randomness import derived_seed
from flora.regressors import Losses
from flora.samplers import ExpectedImprovement
from flora.space import Config, Points, SearchSpace
from flora.surface import LossSurface

REACH = 0.3  # of the unit cube's side: how far a training tells about its neighbours
APART = 0.1  # of the same: a training nearer to an earlier one would tell nothing new
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


@dataclass(frozen=True)
class LowestAlong:
    """A surface over the other HPs of a space, where trainings choose their place on its path: the lowest there."""

    surface: LossSurface
    space: SearchSpace
    path: Path

    @property
    def rest(self) -> SearchSpace:
        """The other HPs."""
        return self.path.rest(self.space)

    def __call__(self, points: Points) -> Losses:
        """Return the lowest predicted loss along the path: (n, d) -> (n,)."""
        return np.asarray(self._losses(self._stops(points)).min(axis=1))

    def error(self, points: Points) -> Losses:
        """Return the standard deviation of the belief in it: (n, d) -> (n,)."""
        stops = self._stops(points)
        return self.surface.error(stops[np.arange(len(points)), self._losses(stops).argmin(axis=1)])

    def _losses(self, stops: Points) -> Points:
        return self.surface(stops.reshape(-1, self.space.width)).reshape(stops.shape[:2])

    def _stops(self, points: Points) -> Points:
        """Return the whole space's points at all stops: (n, d) -> (n, stops, width)."""
        configs = [stop for config in self.rest.decode(points) for stop in self.path.configs(config)]
        return self.space.encode(configs).reshape(len(points), len(self.path.stops), self.space.width)


def best_of(trainings: Sequence[Training]) -> Training:
    """Return the training with the lowest loss, the first of equals; where there is but one, that one."""
    return min(trainings, key=lambda training: math.inf if training.loss is None else training.loss)


def next_config(
    surface: LossSurface,
    space: SearchSpace,
    done: Sequence[Training],
    seed: int,
    *,
    path: Path | None = None,
    grows: Set[str] = frozenset(),
    factor: float = 1.0,
) -> Config:
    """Return the config whose training may be expected to improve most on the best one so far.

    Args:
        surface: What the parties' trials say, at their own sizes.
        space: What they searched.
        done: The trainings so far.
        seed: The run's seed.
        path: Where trainings choose their place themselves; the config says nothing of it.
        grows: The HPs whose best values rise with the number of rows.
        factor: How much more of these a training has than what stands for it at a party.
    """
    if path is not None:
        along = LowestAlong(surface, space, path)
        surface, space = along, along.rest
    judged = [training for training in done if training.loss is not None]
    start = [_at_a_party(training.config, space, grows, factor) for training in judged]
    points = space.encode(start)
    losses = np.array([training.loss for training in judged], dtype=np.float64)
    posterior = Posterior(surface, points, losses - surface(points))
    improvement = ExpectedImprovement(posterior, space.snap(points), float(losses.min()), APART)
    size = SIZE if path is None else SIZE // len(path.stops)  # each point is looked at all along the path
    found = minimise(improvement, space, derived_seed(seed, "training", len(done)), start, size)
    return space.scaled(space.decode(found)[0], grows, factor)


def _at_a_party(config: Config, space: SearchSpace, grows: Set[str], factor: float) -> Config:
    """Return what stands for a trained config on a party's rows."""
    return space.scaled({name: config[name] for name in space.names}, grows, 1 / factor)


def _kernel(one: Points, other: Points) -> Points:
    squared = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-squared / (2 * REACH**2)))
