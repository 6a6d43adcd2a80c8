"""How far the parties' distributions are apart, by their sketches."""

import math

import numpy as np
from numpy.typing import NDArray

from flora.errors import InputError
from flora.problem.sketch import Sketch

Floats = NDArray[np.float64]


def distance(a: Sketch, b: Sketch) -> float:
    r"""Return the estimate of :math:`\mathcal W_1(D_a, D_b)` (eq. 1wd): the mean over directions, over :math:`c_d`.

    For a fixed coupling the mean of :math:`|\langle u, x - y\rangle|` over directions :math:`u` is
    :math:`c_d \|x - y\|`, so this is at most the distance of the two samples, and equal to it for a mere shift.
    """
    if (a.width, a.seed) != (b.width, b.seed):
        raise InputError(
            f"sketches of {a.party!r} and {b.party!r} need one width and seed, "
            f"got {(a.width, a.seed)} and {(b.width, b.seed)}"
        )
    count = min(len(a.quantiles[0]), len(b.quantiles[0]))
    return float(np.abs(_coarse(a, count) - _coarse(b, count)).mean() / mean_cosine(a.width))


def sampling_noise(a: Sketch, b: Sketch) -> float:
    r"""Return about what the distance would be if both parties drew rows from one distribution.

    Along a direction that is :math:`\sqrt{2/\pi}\,\sqrt{1/n_a + 1/n_b} \int \sqrt{F(1-F)}`, with :math:`F` pooled.
    """
    count = min(len(a.quantiles[0]), len(b.quantiles[0]))
    pooled = np.average([_coarse(a, count), _coarse(b, count)], axis=0, weights=[a.rows, b.rows])
    share = np.arange(1, count) / count
    integral = (np.diff(pooled, axis=1) * np.sqrt(share * (1 - share))).sum(axis=1).mean()
    return float(math.sqrt(2 / math.pi) * math.sqrt(1 / a.rows + 1 / b.rows) * integral / mean_cosine(a.width))


def mean_cosine(width: int) -> float:
    r"""Return :math:`c_d = \Gamma(d/2) / (\sqrt\pi\,\Gamma((d+1)/2))`, the mean of :math:`|u_1|` on the sphere."""
    return math.exp(math.lgamma(width / 2) - math.lgamma((width + 1) / 2)) / math.sqrt(math.pi)


def _coarse(sketch: Sketch, count: int) -> Floats:
    return np.asarray(sketch.table.reshape(len(sketch.quantiles), count, -1).mean(axis=2))
