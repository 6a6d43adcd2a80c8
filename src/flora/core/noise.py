"""Noise of which each party adds a share to its part of a sum, so that nobody knows all of it.

A share is a whole number from the discrete Gaussian distribution, P(x) ~ exp(-x^2 / (2 variance)), drawn without any
rounding (Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy, 2020, algorithms 1 to 3). Only
whole numbers are compared, so no digit of a float tells anything.

The sum of n shares is not quite from that distribution. By how much it is not adds at most ``10 n exp(-pi^2 v)`` to the
square root of the privacy loss, where v is a share's variance (Kairouz, Liu, Steinke: The Distributed Discrete Gaussian
Mechanism, 2021, theorem 9); from :data:`LEAST_VARIANCE` on that is less than 1e-40 for a million parties.
"""

import math
import random

import numpy as np

from flora.core.collective import Integers

LEAST_VARIANCE = 12
SYSTEM = random.SystemRandom()  # what the operating system gives: nobody can draw it again


def gaussian_integers(count: int, variance: int, source: random.Random) -> Integers:
    """Return so many whole numbers of the discrete Gaussian distribution, whose variance is a whole number, too."""
    if variance < LEAST_VARIANCE:
        raise ValueError(f"a share of noise has a variance of at least {LEAST_VARIANCE}, got {variance}")
    return np.array([_gaussian(variance, source) for _ in range(count)], dtype=np.int64)


def _gaussian(variance: int, source: random.Random) -> int:
    scale = math.isqrt(variance) + 1
    while True:
        found = _laplace(scale, source)
        if _happens((abs(found) * scale - variance) ** 2, 2 * variance * scale**2, source):
            return found


def _laplace(scale: int, source: random.Random) -> int:
    """Return a whole number of the discrete Laplace distribution, P(x) ~ exp(-|x| / scale)."""
    while True:
        rest = source.randrange(scale)
        if not _happens(rest, scale, source):
            continue
        times = 0
        while _happens(1, 1, source):
            times += 1
        found, negative = rest + scale * times, source.randrange(2)
        if found or not negative:  # there is one zero, not two
            return -found if negative else found


def _happens(above: int, below: int, source: random.Random) -> bool:
    """Return true with the probability exp(-above / below), exactly."""
    while above > below:
        if not _happens(1, 1, source):
            return False
        above -= below
    k = 1
    while source.randrange(below * k) < above:
        k += 1
    return k % 2 == 1
