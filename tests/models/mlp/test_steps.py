import numpy as np
import pytest

from flora.models.mlp.family import SETTINGS
from flora.models.mlp.steps import LONG, Adam, Steps, drawn

PARTIES, LENGTH, STEPS = 25, 200, 60


def moved(share: float, rate: float, gradients: list[np.ndarray]) -> np.ndarray:
    """Return where Adam leads from 0."""
    weights, adam = np.zeros(LENGTH), Adam({**SETTINGS, "learning_rate_init": rate}, LENGTH, share)
    for gradient in gradients:
        adam.move(weights, gradient)
    return weights


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_the_mean_of_many_parties_gets_as_far_as_a_pooled_batch(slope: float) -> None:
    """Each party's gradients have 25 times the variance of their mean's, around a slope that is much smaller."""
    own = slope + np.random.default_rng(0).normal(size=(PARTIES, STEPS, LENGTH))
    pooled = moved(1.0, 1e-3, list(own.mean(axis=0)))
    mean = np.mean([moved(1 / PARTIES, 1e-3, list(party)) for party in own], axis=0)
    apart = np.mean([moved(1.0, 1e-3, list(party)) for party in own], axis=0)
    assert np.linalg.norm(mean) == pytest.approx(np.linalg.norm(pooled), rel=0.25)
    assert np.linalg.norm(apart) < 0.4 * np.linalg.norm(pooled)


def test_a_long_step_is_not_made_longer() -> None:
    gradients = list(np.random.default_rng(1).normal(size=(9, LENGTH)))
    assert np.array_equal(moved(0.04, LONG, gradients), moved(1.0, LONG, gradients))
    assert np.array_equal(moved(0.04, 5 * LONG, gradients), moved(1.0, 5 * LONG, gradients))
    once, twice = moved(1.0, LONG / 2, gradients), moved(0.04, LONG / 2, gradients)
    assert twice == pytest.approx(2 * once, abs=1e-5)  # by half of the way to a long one, not five times


def test_a_share_of_a_batch_has_that_share_of_its_penalty() -> None:
    sizes = (3, 4, 1)
    settings = {**SETTINGS, "alpha": 5.0}
    slopes = []
    for share, times in ((1.0, 8), (0.25, 2)):  # two rows of a batch of eight, which are all the same
        steps = Steps(settings, sizes, "logistic", drawn(sizes, "relu", np.random.RandomState(0)), share)
        X, y = np.repeat(np.ones((1, 3)), times, axis=0), np.ones((times, 1))
        hidden, outputs = steps.forward(X)
        steps.back(X, hidden, outputs - y, times)
        slopes.append(steps.gradients.copy())
    assert slopes[0] == pytest.approx(slopes[1])
