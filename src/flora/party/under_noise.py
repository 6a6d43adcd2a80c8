"""A party's part in sums under noise: its numbers are cut to a norm, and its share of the noise is on them.

So much is the same whatever the aggregator asks: norms, numbers of points and how the noise is made are in no message.
"""

import math
import random

import numpy as np

from flora.core.collective import Collective, Floats, Integers
from flora.core.noise import gaussian_integers
from flora.errors import ConsentError
from flora.party.private import MeanSurface, OwnSurface
from flora.problem.privacy import clip_of, honest_of, multiplier_of, too_few_for_noise
from flora.problem.space import SearchSpace
from flora.surrogate.survey import surveyed_once

STEPS = 2**24  # whole numbers to a clip: a float has more digits, and the noise leaves fewer


def noisy_sum(values: Floats, clip: float, epsilon: float, collective: Collective, source: random.Random) -> Floats:
    """Return the sum of all parties' numbers, each party's of a norm of at most ``clip``, and of all noise: (k,).

    Nobody knows more of the noise than its own share.
    """
    if why := too_few_for_noise(collective.size):
        raise ConsentError(why)
    share = gaussian_integers(len(values), variance_of_share(epsilon, collective.size), source)
    return as_floats(collective.add_integers(clipped(values, clip) + share), clip)


def variance_of_share(epsilon: float, parties: int) -> int:
    """Return how much noise each party adds, to whole numbers: half of the shares are as much as is counted on."""
    return math.ceil((multiplier_of(epsilon) * STEPS) ** 2 / honest_of(parties))


def clipped(values: Floats, clip: float) -> Integers:
    """Return numbers as whole ones, whose norm is no larger than STEPS: as large where theirs is that of the clip.

    Numbers whose norm no float can hold are zeros: nothing else of them is sure to have that norm.
    """
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(values))
    if not math.isfinite(norm):
        return np.zeros(len(values), dtype=np.int64)
    return np.rint(values * (_room(len(values)) / max(norm, clip))).astype(np.int64)


def as_floats(words: Integers, clip: float) -> Floats:
    """Return the numbers that whole ones, or sums of them, stand for."""
    return words.astype(np.float64) * (clip / _room(len(words)))


def _room(count: int) -> int:
    """Return the largest norm before rounding, which may make it longer by half the root of the count."""
    return STEPS - math.isqrt(count) - 1


def mean_surface_under_noise(
    own: OwnSurface | None, space: SearchSpace, seed: int, epsilon: float, collective: Collective, source: random.Random
) -> MeanSurface:
    """Return the mean of the parties' surfaces, each less its own mean over the points, as far as noise lets it show.

    How good a party's losses are in all is no part of it: that would take more noise, and moves no minimum.
    """
    points = surveyed_once(space, seed)
    values = np.zeros(len(points)) if own is None else own.regressor.mean(points)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large for a float is cut to nothing
        values = values - values.mean()
    total = noisy_sum(values, clip_of(len(points)), epsilon, collective, source)
    return MeanSurface(collective.size, total / collective.size, np.zeros(0))
