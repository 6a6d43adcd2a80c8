"""A party's rows as a sketch: means over many rows along shared random directions."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.core.workers import one_thread
from flora.errors import DataError
from flora.problem.sketch import Sketch, direction_count, quantile_count
from flora.randomness import stream

Floats = NDArray[np.float64]
DIGITS = 6  # significant ones of each number that leaves


def joint(X: Floats, y: NDArray[Any], classes: int = 0) -> Floats:
    """Return (x, y) as points: (n, d) and (n,) -> (n, width). Different classes are 1 apart; 0 classes: a number."""
    if not classes:
        return np.column_stack([X, y]).astype(np.float64)
    return np.hstack([X, (y[:, None] == np.arange(classes)) / math.sqrt(2)]).astype(np.float64)


def sketch_of(points: Floats, *, party: str, seed: int) -> Sketch | None:
    """Return the sketch of a party's encoded rows, (n, width), or None where the rows are too few for one.

    Every party must have encoded with the same statistics; ``seed`` is the federation's.
    """
    if points.ndim != 2 or points.shape[1] == 0 or not np.isfinite(points).all():
        raise DataError(f"a sketch needs a dense matrix of finite numbers, got one of shape {points.shape}")
    rows, width = points.shape
    count = quantile_count(rows)
    if count == 0:
        return None
    with one_thread():
        projected = np.sort(points @ directions(width, seed).T, axis=0)
    below = np.vstack([np.zeros(projected.shape[1]), np.cumsum(projected, axis=0)])
    cuts = np.linspace(0, rows, count + 1)
    sums = np.diff([np.interp(cuts, np.arange(rows + 1), column) for column in below.T], axis=1)
    means = np.maximum.accumulate(sums * count / rows, axis=1)  # in order but for rounding
    lines = tuple(tuple(float(f"{value:.{DIGITS}g}") for value in line) for line in means)
    return Sketch(party, rows, width, seed, lines)


def directions(width: int, seed: int) -> Floats:
    """Return the shared directions, uniform on the sphere and orthogonal in groups: (directions, width)."""
    count, rng = direction_count(width), stream(seed, "directions", width)
    frames: list[Floats] = []
    with one_thread():
        while sum(map(len, frames)) < count:
            q, r = np.linalg.qr(rng.standard_normal((width, min(width, count))))
            frames.append((q * np.sign(np.diag(r))).T)  # one sign, whatever LAPACK a party has
    return np.vstack(frames)[:count]
