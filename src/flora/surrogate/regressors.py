"""Regressors from points of the unit cube to losses, with their uncertainty: what loss surfaces are made of."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from flora.errors import InputError
from flora.problem.parameters import Points
from flora.randomness import stream
from flora.surrogate.trees import grow_trees

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel

Losses = NDArray[np.float64]  # (n,)
Weights = NDArray[np.float64]  # (n,), how much each trial counts
TREES = 100
MOST_FOR_KERNEL, MOST_FOR_PROCESS = 200, 1_000  # a Gaussian process costs the cube of its trials


class Regressor(Protocol):
    """A fitted regressor. It does not change any more."""

    def mean(self, points: Points) -> Losses:
        """Return the predicted loss at each point: (n, d) -> (n,)."""
        ...

    def deviation(self, points: Points) -> Losses:
        """Return the standard deviation of the belief in that loss: (n, d) -> (n,)."""
        ...


class FitRegressor(Protocol):
    """A way to learn a regressor from trials."""

    def __call__(
        self, points: Points, losses: Losses, seed: int, weights: Weights | None = None, trees: int = TREES
    ) -> Regressor:
        """Fit to at least one trial: (n, d) and (n,), by the seed alone; ``trees`` is for what has trees."""
        ...


@dataclass(frozen=True)
class Forest:
    """Regression trees: their mean, and their standard deviation around it."""

    trees: tuple[Any, ...]  # scikit-learn's, which have no types

    def mean(self, points: Points) -> Losses:
        """Return the mean over the trees: (n, d) -> (n,)."""
        return in_order(self._by_tree(points)) / len(self.trees)

    def deviation(self, points: Points) -> Losses:
        """Return the standard deviation over the trees: (n, d) -> (n,)."""
        return np.asarray(np.std(list(self._by_tree(points)), axis=0))

    def _by_tree(self, points: Points) -> Iterator[Losses]:
        single = np.ascontiguousarray(points, dtype=np.float32)  # checked here once, not once in each tree
        return (tree.predict(single).ravel() for tree in self.trees)


def in_order(parts: Iterable[Losses]) -> Losses:
    """Return the sum of parts, which need not all be there at once: n of (n,) -> (n,).

    It is NumPy's sum over the first axis, to the last bit. Of single numbers NumPy adds up in pairs, and so does this.
    """
    rest = iter(parts)
    total = np.array(next(rest))
    if len(total) == 1:
        return np.asarray(np.sum([total, *rest], axis=0))
    for part in rest:
        total += part
    return total


@dataclass(frozen=True)
class GaussianProcess:
    """A Gaussian process; its deviation is that of the loss itself, without the noise of one trial."""

    model: Any  # scikit-learn's, which has no types

    def mean(self, points: Points) -> Losses:
        """Return the posterior mean: (n, d) -> (n,)."""
        with _one_thread():
            return np.asarray(self.model.predict(points))

    def deviation(self, points: Points) -> Losses:
        """Return the posterior standard deviation: (n, d) -> (n,)."""
        with _one_thread(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Predicted variances smaller than 0")  # rounding, at a trial's point
            return np.asarray(self.model.predict(points, return_std=True)[1])


@dataclass(frozen=True)
class Constant:
    """One loss everywhere: all that trials with equal losses say."""

    loss: float

    def mean(self, points: Points) -> Losses:
        """Return the loss for each point: (n, d) -> (n,)."""
        return np.full(len(points), self.loss)

    def deviation(self, points: Points) -> Losses:
        """Return zeros, as the trees of a forest that all agree would: (n, d) -> (n,)."""
        return np.zeros(len(points))


def forest(points: Points, losses: Losses, seed: int, weights: Weights | None = None, trees: int = TREES) -> Regressor:
    """Return a random forest of 100 trees, the paper's regressor, or its first ``trees``."""
    if weights is None:
        return Forest(grow_trees(points, losses, seed, trees))
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(trees, random_state=seed, n_jobs=1).fit(points, losses, sample_weight=weights)
    return Forest(tuple(tree.tree_ for tree in model.estimators_))


def gaussian_process(
    points: Points,
    losses: Losses,
    seed: int,
    weights: Weights | None = None,
    trees: int = TREES,  # noqa: ARG001  (it has none)
) -> Regressor:
    """Return a Gaussian process with a Matérn 5/2 kernel, a length scale per axis, and noise.

    The kernel is learnt from at most 200 trials and the process holds at most 1,000: beyond that, a random
    sample of them stands for all. The trials of an adaptive search are densest where losses are low, and so
    is their sample.
    """
    from sklearn.gaussian_process import GaussianProcessRegressor

    if weights is not None:
        raise InputError("regressor 'gp' cannot weigh its trials: use regressor 'forest' or weights 'equal'")
    if losses.min() == losses.max():
        return Constant(float(losses[0]))
    order = stream(seed, "subset").permutation(len(losses))
    held = np.sort(order[:MOST_FOR_PROCESS])
    kernel, noise = _kernel(points[order[:MOST_FOR_KERNEL]], losses[order[:MOST_FOR_KERNEL]], seed)
    model = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None, normalize_y=True)
    with _one_thread():
        return GaussianProcess(model.fit(points[held], losses[held]))


def _kernel(points: Points, losses: Losses, seed: int) -> "tuple[Kernel, float]":
    """Return the kernel of the highest marginal likelihood and the variance of the noise, for losses of variance 1."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    smooth = Matern(np.full(points.shape[1], 0.5), (0.05, 20.0), nu=2.5)
    kernel = ConstantKernel(1.0, (0.01, 100.0)) * smooth + WhiteKernel(0.01, (1e-6, 1.0))
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=seed)
    with _one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length scale at its bound: the axis does not matter
        fitted = model.fit(points, losses).kernel_
    return fitted.k1, float(fitted.k2.noise_level)


def _one_thread() -> AbstractContextManager[Any]:
    """Return a context with one BLAS thread: on a busy machine more make these small matrices three times slower."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits


REGRESSORS: dict[str, FitRegressor] = {"forest": forest, "gp": gaussian_process}
