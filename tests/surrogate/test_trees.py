"""The trees are scikit-learn's own, to the last bit."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

from flora.surrogate.regressors import Forest, forest, in_order


def trials(count: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng([count, width])
    return np.round(rng.random((count, width)), 2), np.round(rng.random(count), 2)  # some are equal


@pytest.mark.parametrize(("count", "width"), [(1, 1), (2, 3), (30, 4), (120, 7)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_forest_is_that_of_scikit_learn(count: int, width: int, weighted: bool) -> None:
    points, losses = trials(count, width)
    weights = np.arange(1.0, count + 1) if weighted else None
    plain = RandomForestRegressor(100, random_state=count).fit(points, losses, sample_weight=weights)
    found = forest(points, losses, count, weights)
    for size in (1, 2, 7, 300):
        at = np.random.default_rng(size).random((size, width)).astype(np.float32)
        by_tree = np.stack([tree.predict(at) for tree in plain.estimators_])
        assert np.array_equal(found.mean(at.astype(np.float64)), by_tree.mean(axis=0))
        assert np.array_equal(found.deviation(at.astype(np.float64)), by_tree.std(axis=0))


def test_fewer_trees_are_the_first_of_more() -> None:
    points, losses = trials(40, 4)
    few, many = forest(points, losses, 3, trees=5), forest(points, losses, 3)
    assert isinstance(few, Forest)
    assert isinstance(many, Forest)
    assert (len(few.trees), len(many.trees)) == (5, 100)
    assert np.array_equal(few.mean(points), Forest(many.trees[:5]).mean(points))


@pytest.mark.parametrize("parts", [1, 2, 9, 200, 1_000])
@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_a_running_sum_is_numpys(parts: int, size: int) -> None:
    values = np.random.default_rng(parts).standard_normal((parts, size))
    assert np.array_equal(in_order(iter(values)), values.sum(axis=0))
