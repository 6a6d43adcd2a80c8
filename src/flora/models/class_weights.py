"""How much each row counts in a training: as its own weight says, and so much more as its class is rare."""

import numpy as np

from flora.core.collective import Collective, Floats, Integers
from flora.models.rows import Rows
from flora.models.sums import added

BALANCE = "class_balance"  # an HP: at 0 all rows count the same, at 1 all classes do, and between by that power


def class_weights(rows: Rows, balance: float, collective: Collective) -> Floats | None:
    r"""Return each row's weight :math:`w (W / (c\,W_y))^b`, from what all parties' rows weigh; None where all are 1.

    With a balance b of 1 and rows that count the same it is scikit-learn's ``class_weight="balanced"``. A class
    without rows has no weight.
    """
    if not balance or rows.schema.task == "regression":
        return rows.weights
    totals = class_totals(rows, collective)
    present = np.count_nonzero(totals)
    weights = (totals.sum() / (max(present, 1) * np.where(totals > 0, totals, 1))) ** balance
    of_rows = np.asarray(weights[rows.y], dtype=np.float64)
    return of_rows if rows.weights is None else of_rows * rows.weights


def class_totals(rows: Rows, collective: Collective) -> Integers | Floats:
    """Return what all parties' rows of each class weigh together: how many there are, where rows have no weights."""
    classes = len(rows.schema.classes)
    if rows.weights is None:
        return collective.add_integers(np.bincount(rows.y, minlength=classes).astype(np.int64))
    return added(np.bincount(rows.y, rows.weights, minlength=classes).astype(np.float64), collective)
