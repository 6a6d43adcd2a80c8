"""How much each row counts in a training: the same, or so much more as its class is rare."""

import numpy as np

from flora.core.collective import Collective, Floats
from flora.models.rows import Rows

BALANCE = "class_balance"  # an HP: at 0 all rows count the same, at 1 all classes do, and between by that power


def class_weights(rows: Rows, balance: float, collective: Collective) -> Floats | None:
    r"""Return each row's weight :math:`(n / (c\,n_y))^b`, from the counts of all parties' rows; None where all are 1.

    With a balance b of 1 it is scikit-learn's ``class_weight="balanced"``. A class without rows has no weight.
    """
    if not balance or rows.schema.task == "regression":
        return None
    counts = collective.add_integers(np.bincount(rows.y, minlength=len(rows.schema.classes)).astype(np.int64))
    present = np.count_nonzero(counts)
    weights = (counts.sum() / (max(present, 1) * np.maximum(counts, 1))) ** balance
    return np.asarray(weights[rows.y], dtype=np.float64)
