"""The score on rows that all parties left out, from sums over the parties: no party's own score is needed.

Any score of predicted classes comes from how often each class was taken for each other one, and R² from four sums. The
others are means over rows, as a log loss is, or taken as such: the area under a curve is the mean of the parties'.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import confusion_matrix, get_scorer

from flora.errors import DataError
from flora.models.family import Predicts, ScoresItself
from flora.models.rows import Rows
from flora.models.scored import quiet, score_of

Floats = NDArray[np.float64]


def score_sums(model: Predicts, rows: Rows, scoring: str) -> Floats:
    """Return one party's numbers; :func:`score_from` makes a score of their sum over the parties."""
    classes = len(rows.schema.classes)
    if isinstance(model, ScoresItself):
        return _weighted(score_of_party(model, rows, scoring), rows)
    if by_classes(scoring, classes):
        places, own = np.arange(classes), rows.weights
        taken = confusion_matrix(rows.y, model.predict(rows.X), labels=places, sample_weight=own) if len(rows) else 0
        return np.zeros(classes**2) + np.ravel(taken)
    if scoring == "r2":
        y, missed = np.asarray(rows.y, dtype=np.float64), rows.y - model.predict(rows.X) if len(rows) else np.zeros(0)
        parts = [y, np.square(y), np.square(missed)]
        return np.array([rows.weight, *(_summed(part, rows) for part in parts)])
    if scoring == "neg_log_loss":  # scikit-learn has none of rows of one class
        return np.array([rows.weight, _log_likelihood(model, rows)])
    return _weighted(score_of_party(model, rows, scoring), rows)


def score_from(total: Floats, model: Predicts, scoring: str, classes: int) -> float | None:
    """Return the score on the rows of all parties, or None where they have none: no rows, or a class is missing."""
    if isinstance(model, ScoresItself):
        return float(total[1] / total[0]) if total[0] else None
    if by_classes(scoring, classes):
        return score_of_classes(total.reshape(classes, classes), scoring)
    if scoring == "r2":
        rows, total_y, squares, missed = total
        spread = squares - total_y**2 / rows if rows else 0.0
        return float(1 - missed / spread) if spread > 0 else None
    return float(total[1] / total[0]) if total[0] else None


def _weighted(score: float | None, rows: Rows) -> Floats:
    return np.zeros(2) if score is None else np.array([rows.weight, rows.weight * score])


def _summed(values: Floats, rows: Rows) -> float:
    """Return the sum of a number of each row, by their weights."""
    return float((values if rows.weights is None else values * rows.weights).sum())


def by_classes(scoring: str, classes: int) -> bool:
    """Whether a score is one of predicted classes, not of probabilities or numbers."""
    if not classes:
        return False
    try:
        score_of_classes(np.eye(classes), scoring)
    except (AttributeError, TypeError, ValueError):  # it wants probabilities, no weights, or two classes
        return False
    return True


def score_of_classes(taken: Floats, scoring: str) -> float | None:
    """Return the score where each class (a row) was taken so often for each (a column); None where one is missing."""
    if not taken.sum(axis=1).all():
        return None
    true, predicted = np.nonzero(taken)
    with quiet():
        said = _Said(len(taken))
        score = get_scorer(scoring)(said, predicted[:, None], true, sample_weight=taken[true, predicted])
    return float(score)


def _log_likelihood(model: Predicts, rows: Rows) -> float:
    found = model.predict_proba(rows.X) if len(rows) else np.ones((0, 1))
    if found is None:
        raise DataError("a log loss needs probabilities, and this model has none")
    return _summed(np.log(np.maximum(found[np.arange(len(rows)), rows.y], np.finfo(np.float64).eps)), rows)


def score_of_party(model: Predicts, rows: Rows, scoring: str) -> float | None:
    """Return a model's score on one party's rows, or None where so few have none, as a log loss of one class."""
    if not len(rows):
        return None
    try:
        score = score_of(model, rows, scoring)
    except ValueError:  # scikit-learn's
        return None
    return score if np.isfinite(score) else None


class _Said(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that says what it is given: scorers see a table of classes as predictions."""

    def __init__(self, classes: int) -> None:
        self.classes_ = np.arange(classes)

    def predict(self, X: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the only column."""
        return X[:, 0]
