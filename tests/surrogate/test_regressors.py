"""Both regressors keep one contract; beside it stand known numbers and the ways out of large and empty cases."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from flora.errors import InputError
from flora.problem.space import Points
from flora.surrogate.regressors import (
    MOST_FOR_PROCESS,
    REGRESSORS,
    FitRegressor,
    Forest,
    GaussianProcess,
    Losses,
    forest,
    gaussian_process,
)

GRID = np.random.default_rng(99).random((64, 2))


def bowl(points: Points) -> Losses:
    return np.asarray(((points - 0.4) ** 2).sum(axis=1))


def sample(count: int, axes: int = 2) -> tuple[Points, Losses]:
    points = np.random.default_rng(7).random((count, axes))
    return points, bowl(points)


@pytest.mark.parametrize("fit", REGRESSORS.values(), ids=REGRESSORS.keys())
class TestEveryRegressor:
    def test_same_seed_same_regressor(self, fit: FitRegressor) -> None:
        first, second = (fit(*sample(30), 5) for _ in range(2))
        assert np.array_equal(first.mean(GRID), second.mean(GRID))
        assert np.array_equal(first.deviation(GRID), second.deviation(GRID))

    @pytest.mark.parametrize(
        ("points", "losses"),
        [
            (np.array([[0.3, 0.7]]), np.array([0.25])),
            (np.full((20, 2), 0.5), np.linspace(0.1, 0.9, 20)),
            (np.random.default_rng(0).random((40, 2)), np.full(40, 0.5)),
            (np.repeat(sample(300)[0], 2, axis=0), np.repeat(sample(300)[1], 2)),
            (np.random.default_rng(0).random((20, 2)), np.r_[np.full(19, 0.2), 1e9]),
            (np.zeros((1, 2)), np.zeros(1)),
        ],
        ids=["one trial", "one point", "equal losses", "600 twice", "outlier", "zero"],
    )
    def test_stays_finite(self, fit: FitRegressor, points: Points, losses: Losses) -> None:
        fitted = fit(points, losses, 1)
        means, deviations = fitted.mean(GRID), fitted.deviation(GRID)
        assert means.shape == deviations.shape == (64,)
        assert np.isfinite(means).all()
        assert np.isfinite(deviations).all()
        assert (deviations >= 0).all()

    @pytest.mark.parametrize("rounding", [0.0, 1e-16])
    def test_equal_losses_are_believed_everywhere(self, fit: FitRegressor, rounding: float) -> None:
        fitted = fit(sample(30)[0], np.linspace(0.5, 0.5 + 30 * rounding, 30), 1)
        assert fitted.mean(GRID) == pytest.approx(0.5)
        assert fitted.deviation(GRID) == pytest.approx(0.0, abs=1e-9)

    def test_learns_the_bowl(self, fit: FitRegressor) -> None:
        means = fit(*sample(200), 3).mean(GRID)
        assert np.corrcoef(means, bowl(GRID))[0, 1] > 0.95


@dataclass(frozen=True)
class Stump:
    """A tree that says one number."""

    loss: float

    def predict(self, points: Points) -> Losses:
        return np.full((len(points), 1), self.loss)


def test_forest_is_the_mean_and_the_deviation_of_its_trees() -> None:
    trees = Forest((Stump(0.1), Stump(0.3), Stump(0.8)))
    assert trees.mean(GRID[:2]) == pytest.approx([0.4, 0.4])
    assert trees.deviation(GRID[:2]) == pytest.approx([np.std([0.1, 0.3, 0.8])] * 2)


def test_forest_has_the_papers_hundred_trees() -> None:
    fitted = forest(*sample(10), 0)
    assert isinstance(fitted, Forest)
    assert len(fitted.trees) == 100


def test_forest_follows_the_weights() -> None:
    points, losses = np.full((100, 1), 0.5), np.repeat([0.0, 1.0], 50)
    heavy = forest(points, losses, 0, np.repeat([1.0, 9.0], 50)).mean(points[:1])
    assert heavy == pytest.approx([0.9], abs=0.03)
    assert forest(points, losses, 0).mean(points[:1]) == pytest.approx([0.5], abs=0.03)


def test_process_interpolates_and_knows_where_it_does_not_know() -> None:
    points = sample(40)[0] * 0.5  # one corner of the square
    fitted = gaussian_process(points, bowl(points), 0)
    inside, outside = np.array([[0.25, 0.25]]), np.array([[1.0, 1.0]])
    assert fitted.mean(inside) == pytest.approx(bowl(inside), abs=0.005)
    assert fitted.deviation(outside) > 5 * fitted.deviation(inside)


def test_process_smooths_noise_out() -> None:
    points, losses = sample(150)
    noise = 0.1 * np.random.default_rng(0).standard_normal(150)
    means = gaussian_process(points, losses + noise, 0).mean(GRID)
    assert np.sqrt(np.mean((means - bowl(GRID)) ** 2)) < 0.04


def test_process_deviation_is_of_the_mean_not_of_one_noisy_trial() -> None:
    rng = np.random.default_rng(0)
    points = np.repeat([[0.2], [0.8]], 100, axis=0)
    losses = np.repeat([0.3, 0.6], 100) + 0.1 * rng.standard_normal(200)
    fitted = gaussian_process(points, losses, 0)
    assert fitted.mean(points[[0, -1]]) == pytest.approx([0.3, 0.6], abs=0.04)
    assert fitted.deviation(points[:1]) < 0.03  # about 0.1 / sqrt(100)


def test_process_holds_a_sample_of_many_trials() -> None:
    points, losses = sample(MOST_FOR_PROCESS + 500, axes=1)
    fitted = gaussian_process(points, losses, 0)
    assert isinstance(fitted, GaussianProcess)
    assert len(fitted.model.X_train_) == MOST_FOR_PROCESS
    assert fitted.mean(points[:50]) == pytest.approx(losses[:50], abs=1e-3)


def test_process_refuses_weights() -> None:
    with pytest.raises(InputError, match="'gp' cannot weigh its trials: use regressor 'forest' or weights 'equal'"):
        gaussian_process(*sample(5), 0, np.ones(5))


def test_import_is_cheap() -> None:
    imports = "import sys, flora.surrogate.regressors, flora.aggregator.surface, flora.aggregator.choose"
    code = f"{imports}; print({{'sklearn', 'scipy', 'optuna'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
