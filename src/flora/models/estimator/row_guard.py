"""A guard that keeps a party's rows from leaving inside its model.

**What a model may take with it.** Some estimators keep rows inside the fitted model (neighbours, support vectors,
Gaussian processes). A party looks through its own model before it leaves. An array or a list in it is *suspect* if
one of its axes is as long as the party has rows, or if its last axis is as long as an encoded row and one of the
party's rows is in it, to float32. That may be chance: a hundred trees and a hundred rows, a coefficient of 0 and a row
of zeros. So a suspect is put to the test: the party fits again with one row less and all the others moved a little.
What follows the rows both times it is asked comes from rows, and the model is refused. (A binary tree has an odd number
of nodes, so a tree as large as the table never follows.) Only names, shapes and exact copies are seen: rows that an
estimator keeps in another form and in a smaller number, as text or as opaque bytes, are not.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.errors import DataError
from flora.models.estimator.stored import arrays_of
from flora.models.rows import Rows
from flora.randomness import stream

Floats = NDArray[np.float64]
Suspects = set[tuple[str, str]]  # what it looks like, and where in the model it is
Fit = Callable[[Floats, NDArray[Any], Floats | None], bytes]


def _suspects(data: bytes, X: Floats) -> Suspects:
    """Return what in a stored model looks like rows of ``X``."""
    rows = {row.tobytes() for row in X.astype(np.float32) + 0}  # + 0 makes one zero of two
    found = set()
    for path, array in arrays_of(data):
        if len(X) in array.shape:
            found.add(("has an entry for each of them", path))
        if array.ndim and array.shape[-1] == X.shape[1] and array.dtype.kind in "biuf":
            parts = array.astype(np.float32).reshape(-1, X.shape[1]) + 0
            if any(part.tobytes() in rows for part in parts):
                found.add(("contains some of them as they are", path))
    return found


def without_rows(name: str, fit: Fit, rows: Rows, seed: int) -> bytes:
    """Return the model that ``fit`` stores of encoded rows, or refuse it: see the top of this file for the rule."""
    X, y, weights = rows.X, rows.y, rows.weights
    data = fit(X, y, weights)
    suspects, rng, count = _suspects(data, X), stream(seed, "move"), len(X)
    for _ in range(2):
        if suspects:
            values, counts = np.unique(y, return_counts=True)
            gone = np.flatnonzero(y == values[np.argmax(counts)])[-1]  # of the largest class, so that none is lost
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone)
            weights = None if weights is None else np.delete(weights, gone)
            X = X + rng.uniform(1e-4, 1e-3, X.shape)
            suspects &= _suspects(fit(X, y, weights), X)
    if suspects:
        look, path = min(suspects)  # "contains" says more than "has"
        raise DataError(
            f"{name}: the trained model keeps this party's {count} rows ({path} {look}), so it may not leave "
            f"the party; take an estimator that keeps none, such as a linear model or a forest, or the model hgb"
        )
    return data
