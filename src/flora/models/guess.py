"""The best prediction that looks at no column: a model that is not better than it has learnt nothing."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flora.models.pooled_score import by_classes, score_of_classes
from flora.models.rows import Rows

Floats = NDArray[np.float64]


def target_sums(rows: Rows) -> Floats:
    """Return one party's numbers; :meth:`Guess.of` makes a guess of their sum over the parties."""
    if rows.schema.classes:
        return np.bincount(rows.y.astype(np.intp), rows.weights, len(rows.schema.classes)).astype(np.float64)
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    return np.array([weights.sum(), (weights * rows.y).sum()])


@dataclass(frozen=True)
class Guess:
    """The same prediction for every row: a class, with the classes' shares for probabilities, or the mean."""

    value: float
    shares: Floats | None  # (classes,)

    @classmethod
    def of(cls, total: Floats, scoring: str, classes: int) -> Self | None:
        """Return the guess for rows with such targets; None of no rows."""
        if not classes:
            return cls(float(total[1] / total[0]), None) if total[0] else None
        if not total.sum():
            return None
        scores = [_score_if_all_are(k, total, scoring) for k in range(classes)]
        return cls(float(np.argmax(scores)), total / total.sum())

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return it for each row."""
        return np.full(len(X), self.value, dtype=np.float64 if self.shares is None else np.intp)

    def predict_proba(self, X: Floats) -> Floats | None:
        """Return the classes' shares for each row."""
        return None if self.shares is None else np.tile(self.shares, (len(X), 1))


def _score_if_all_are(chosen: int, total: Floats, scoring: str) -> float:
    """Return the score of saying one class of all rows; where it is none of classes, how many rows that is right of."""
    taken = np.zeros((len(total), len(total)))
    taken[:, chosen] = total
    score = score_of_classes(taken, scoring) if by_classes(scoring, len(total)) else None
    return float(total[chosen]) if score is None else score
