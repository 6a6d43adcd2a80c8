"""Shares of noise are of the distribution that they should be, and only a test can draw them again."""

import math
import random

import numpy as np
import pytest

from flora.core.noise import LEAST_VARIANCE, SYSTEM, gaussian_integers


def shares(count: int, variance: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return gaussian_integers(count, variance, random.Random(seed)).reshape(count)


@pytest.mark.parametrize("variance", [12, 50, 10**10])
def test_the_variance_is_what_was_asked_for(variance: int) -> None:
    found = shares(4_000, variance)
    assert abs(found.mean()) < 4 * math.sqrt(variance / 4_000)
    assert found.var() == pytest.approx(variance, rel=4 * math.sqrt(2 / 4_000))


def test_each_number_is_as_frequent_as_the_distribution_has_it() -> None:
    found, variance = shares(20_000, 12, seed=2), 12
    places = np.arange(-60, 61)
    chances = np.exp(-(places**2) / (2 * variance))
    chances /= chances.sum()
    counts = np.array([(found == place).sum() for place in places])
    often = chances > 1e-3
    expected = 20_000 * chances[often]
    surplus = float(((counts[often] - expected) ** 2 / expected).sum())
    assert surplus < often.sum() + 5 * math.sqrt(2 * often.sum())  # chi squared


def test_the_sum_of_shares_has_the_sum_of_their_variances() -> None:
    total = np.sum([shares(500, 10_000, seed=seed) for seed in range(40)], axis=0)
    assert total.var() == pytest.approx(400_000, rel=5 * math.sqrt(2 / 500))


def test_a_source_gives_its_noise_again_and_the_usual_one_does_not() -> None:
    assert shares(20, 10**12).tolist() == shares(20, 10**12).tolist()
    first, second = (gaussian_integers(20, 10**12, SYSTEM).tolist() for _ in range(2))
    assert first != second


def test_shares_too_small_to_add_up_to_the_distribution_are_refused() -> None:
    with pytest.raises(ValueError, match="variance of at least 12, got 11"):
        shares(1, LEAST_VARIANCE - 1)
