"""The statistics of the paper's aggregate table, over relative regrets."""

import warnings
from collections.abc import Sequence

import numpy as np

from flora.experiments.published import Summary


def relative_regret(best: float, ours: float, default: float) -> float:
    r"""Return :math:`(a^* - a) / (a^* - b)`; 0 is the best score, 1 is the default's.

    >>> relative_regret(best=90.0, ours=88.0, default=80.0)
    0.2
    """
    return (best - ours) / (best - default)


def summary(regrets: Sequence[float]) -> Summary:
    """Return the mean and population deviation, numpy's quartiles, wins, ties and losses, and Wilcoxon's test."""
    values = np.asarray(regrets, dtype=float)
    low, middle, high = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    return Summary(
        float(values.mean()),
        float(values.std()),
        (low, middle, high),
        (int((values < 1).sum()), int((values == 1).sum()), int((values > 1).sum())),
        wilcoxon(values),
    )


def wilcoxon(regrets: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Return the signed-rank statistic and the one-sided p-value of "better than the default", as the paper's are.

    Ties with the default are dropped, and the normal approximation has no correction for continuity.
    """
    from scipy import stats

    differences = 1 - np.asarray(regrets, dtype=float)
    if not differences.any():
        return 0.0, 1.0  # nothing but ties, of which scipy makes no number
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns that the sample is small for the approximation
        found = stats.wilcoxon(differences, alternative="greater", method="approx", correction=False)
    return float(found.statistic), float(found.pvalue)
