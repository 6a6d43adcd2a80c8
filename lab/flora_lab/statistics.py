"""The statistics of the tables: regrets, quartiles, and whether a difference may be chance."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from flora.randomness import stream

RESAMPLES = 10_000
INTERVAL = (0.025, 0.975)
Spread = Mapping[str, float]  # the median, and the quartiles as low and high


class Summary(NamedTuple):
    """The paper's statistics of relative regrets: of one surface over one family's datasets, or over all."""

    mean: float
    deviation: float
    quartiles: tuple[float, float, float]
    wins: tuple[int, int, int]  # wins, ties, losses against the default config
    test: tuple[float, float]  # Wilcoxon's statistic and one-sided p-value


@dataclass(frozen=True)
class Versus:
    """Regrets minus others', in the same cells; the deals of a dataset share its rows, and count as one."""

    datasets: int
    median: float  # of the datasets' medians
    low: float  # the ends of its bootstrap interval, of 95 %
    high: float
    p_value: float  # Wilcoxon's signed-rank test of the datasets' medians, two-sided


@dataclass(frozen=True)
class Mean:
    """The mean of some cells, and a bootstrap interval of 95 % over their datasets; None of a single one."""

    value: float
    low: float | None
    high: float | None


def relative_regret(best: float, ours: float, default: float) -> float:
    r"""Return :math:`(a^* - a) / (a^* - b)`; 0 is the best score, 1 is the default's.

    >>> relative_regret(best=90.0, ours=88.0, default=80.0)
    0.2
    """
    return (best - ours) / (best - default)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return numpy's."""
    low, middle, high = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    return low, middle, high


def spread_of(values: Any, digits: int = 2) -> str:
    """Return the median of some numbers, and the least and the most, in words."""
    return f"{np.median(values):.{digits}f} ({values.min():.{digits}f} to {values.max():.{digits}f})"


def spread(values: Sequence[float | None]) -> Spread | None:
    """Return the median and the quartiles of what is known, if anything is."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, middle, high = quartiles(known)
    return {"median": middle, "low": low, "high": high}


def summary(regrets: Sequence[float]) -> Summary:
    """Return the mean and population deviation, numpy's quartiles, wins, ties and losses, and Wilcoxon's test.

    As the paper's, the test is the one-sided one of "better than the default"; ties are dropped, and the normal
    approximation has no correction for continuity.
    """
    values = np.asarray(regrets, dtype=float)
    return Summary(
        float(values.mean()),
        float(values.std()),
        quartiles(regrets),
        (int((values < 1).sum()), int((values == 1).sum()), int((values > 1).sum())),
        _wilcoxon(1 - values, alternative="greater", method="approx", correction=False),
    )


def versus(datasets: Sequence[str], regrets: Sequence[float], others: Sequence[float], seed: int) -> Versus:
    """Compare regrets with others' in the same cells; the seed is the bootstrap's.

    Args:
        datasets: Whose rows each cell has: cells with the same rows are not independent, and their median counts once.
        regrets: Of each cell.
        others: Of the same cells.
        seed: Of the bootstrap.
    """
    medians = np.array([np.median(values) for values in _by_dataset(datasets, np.subtract(regrets, others))])
    places = stream(seed, "bootstrap").integers(len(medians), size=(RESAMPLES, len(medians)))
    low, high = (float(q) for q in np.quantile(np.median(medians[places], axis=1), INTERVAL))
    return Versus(len(medians), float(np.median(medians)), low, high, _wilcoxon(medians)[1])


def mean_over(datasets: Sequence[str], values: Sequence[float], seed: int = 0) -> Mean:
    """Return the mean over all cells, with an interval that draws whole datasets (a cluster bootstrap)."""
    groups = _by_dataset(datasets, np.asarray(values, dtype=float))
    mean = float(np.mean(values))
    if len(groups) < 2:
        return Mean(mean, None, None)
    sums, counts = np.array([group.sum() for group in groups]), np.array([len(group) for group in groups])
    places = stream(seed, "bootstrap").integers(len(groups), size=(RESAMPLES, len(groups)))
    means = sums[places].sum(axis=1) / counts[places].sum(axis=1)
    low, high = (float(q) for q in np.quantile(means, INTERVAL))
    return Mean(mean, low, high)


def _by_dataset(datasets: Sequence[str], values: Any) -> list[Any]:
    """Return the values of each dataset, in the order in which the datasets come first."""
    return [values[[k for k, each in enumerate(datasets) if each == name]] for name in dict.fromkeys(datasets)]


def _wilcoxon(differences: Any, **how: Any) -> tuple[float, float]:
    """Return the signed-rank statistic and the p-value."""
    from scipy import stats

    if not np.any(differences):
        return 0.0, 1.0  # nothing but ties, of which scipy makes no number
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns that the sample is small for the approximation
        found = stats.wilcoxon(differences, **how)
    return float(found.statistic), float(found.pvalue)
