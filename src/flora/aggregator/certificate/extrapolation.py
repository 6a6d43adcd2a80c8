"""From a party's learning curve to the loss that more rows would bring: an estimate with an interval, no guarantee."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flora.errors import InputError
from flora.problem.learning_curve import LearningCurve

Floats = NDArray[np.float64]
FEWEST_SIZES = 3


EXPONENTS = np.geomspace(0.05, 1.5, 30)  # of the power laws that a learning curve may follow, the small ones denser


LEVELS = (0.95, 0.5, 0.05)  # of the extrapolated loss


@dataclass(frozen=True)
class Extrapolation:
    """How much lower than the last measured loss the loss at ``rows`` rows may be: a guess, never a guarantee."""

    rows: int
    change: float | None  # None: not identified
    low: float  # nine chances in ten to be between these, if the curve is a power law
    high: float
    reason: str = ""  # why it is not identified


def extrapolate(curve: LearningCurve, rows: int) -> Extrapolation:
    r"""Return what a power law :math:`c + a\,n^{-b}` says about ``rows`` rows.

    No exponent is chosen: each :math:`b` from 0.05 to 1.5 gets a least-squares fit and counts by its likelihood, so
    that a curve which does not tell the exponents apart has a wide interval. Where the points are no power law within
    two errors, nothing is identified, and the loss may do anything between what it has done and no loss at all; one
    that has only fallen so far may rise by twice its error.
    """
    last, losses = curve.points[-1], [point.loss for point in curve.points]
    if rows < last.rows:
        raise InputError(f"cannot extrapolate from {last.rows} rows down to {rows}")
    floor = 0.0 if min(losses) >= 0 else -math.inf  # what was never below 0 cannot fall below it
    span = max(losses) - min(losses)
    rise = span if any(later > before for before, later in pairwise(losses)) else 2 * last.error
    unknown = Extrapolation(rows, None, -rise, last.loss if floor == 0 else span, _too_little(curve))
    if unknown.reason:
        return unknown
    means, errors, slopes, misfits = np.array([_fit(curve, rows, exponent) for exponent in EXPONENTS]).T
    inflation = max(1.0, misfits.min() / (len(losses) - 2))
    weights = np.exp((misfits.min() - misfits) / (2 * inflation))
    if np.average(slopes, weights=weights) < -2 * math.sqrt(inflation):
        return replace(unknown, reason="the loss rises with more rows, beyond its error")
    if inflation > 4:
        return replace(unknown, reason="no power law fits the losses within their errors")
    quantiles = (_mixture_quantile(level, means, errors * math.sqrt(inflation), weights) for level in LEVELS)
    low, middle, high = (last.loss - max(value, floor) for value in quantiles)
    return Extrapolation(rows, middle, low, high)


def _too_little(curve: LearningCurve) -> str:
    """Return why the curve cannot be read, or nothing."""
    if len(curve.points) < FEWEST_SIZES:
        return f"needs {FEWEST_SIZES} sizes, got {len(curve.points)}"
    if sum(point.error == 0 for point in curve.points) > 1:
        return "the losses do not vary over the folds, as those of a model that has learnt nothing"
    return ""


def _fit(curve: LearningCurve, rows: int, exponent: float) -> tuple[float, float, float, float]:
    """Return one exponent's loss at ``rows`` and its error, the slope in standard errors, and the misfit (chi2)."""
    sizes, losses, errors = (np.array([getattr(p, name) for p in curve.points]) for name in ("rows", "loss", "error"))
    least = max(0.1 * errors.max(), 0.02 * np.ptp(losses), 1e-6)  # an error of 0 is luck, and no law is exact
    errors = np.maximum(errors, least)
    x, weights = (sizes / sizes[-1]) ** -exponent, errors**-2.0
    x_mean, y_mean = np.average(x, weights=weights), np.average(losses, weights=weights)
    square = (weights * (x - x_mean) ** 2).sum()
    slope = (weights * (x - x_mean) * (losses - y_mean)).sum() / square
    misfit = (weights * (losses - y_mean - slope * (x - x_mean)) ** 2).sum()
    reach = (rows / sizes[-1]) ** -exponent - x_mean
    error = math.sqrt(1 / weights.sum() + reach**2 / square)
    return y_mean + slope * reach, error, slope * math.sqrt(square), misfit


def _mixture_quantile(level: float, means: Floats, errors: Floats, weights: Floats) -> float:
    """Return a quantile of a mixture of normal distributions, by bisection."""
    from scipy.special import ndtr

    low, high = float((means - 9 * errors).min()), float((means + 9 * errors).max())
    for _ in range(60):
        middle = (low + high) / 2
        below = np.average(ndtr((middle - means) / errors), weights=weights) < level
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2
