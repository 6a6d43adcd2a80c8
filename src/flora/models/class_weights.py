"""How much each row counts in a training: as its own weight says, and so much more as its class is rare."""

from dataclasses import replace

import numpy as np

from flora.core.collective import Collective, Floats, Integers
from flora.models.rows import Rows
from flora.models.sums import added

BALANCE = "class_balance"  # an HP: at 0 all rows count the same, at 1 all classes do, and between by that power


def class_weights(rows: Rows, balance: float, collective: Collective) -> Floats | None:
    """Return each row's weight: its own, times what rows of its class count; None where all are 1."""
    return weighed(rows, class_factors(rows, balance, collective)).weights


def weighed(rows: Rows, factors: Floats | None) -> Rows:
    """Return rows that count so many times more, by their classes."""
    if factors is None:
        return rows
    of_rows = np.asarray(factors[rows.y], dtype=np.float64)
    return replace(rows, weights=of_rows if rows.weights is None else of_rows * rows.weights)


def class_factors(rows: Rows, balance: float, collective: Collective) -> Floats | None:
    r"""Return how many times more a row of each class counts, :math:`(W / (c\,W_y))^b`; None where all count the same.

    W is what all parties' rows weigh. With a balance b of 1 and rows that count the same it is scikit-learn's
    ``class_weight="balanced"``.
    """
    if not balance or rows.schema.task == "regression":
        return None
    totals = class_totals(rows, collective)
    present = np.count_nonzero(totals)
    found = (totals.sum() / (max(present, 1) * np.where(totals > 0, totals, 1))) ** balance
    return np.asarray(found, dtype=np.float64)


def class_totals(rows: Rows, collective: Collective) -> Integers | Floats:
    """Return what all parties' rows of each class weigh together: how many there are, where rows have no weights."""
    classes = len(rows.schema.classes)
    if rows.weights is None:
        return collective.add_integers(np.bincount(rows.y, minlength=classes).astype(np.int64))
    return added(np.bincount(rows.y, rows.weights, minlength=classes).astype(np.float64), collective)
