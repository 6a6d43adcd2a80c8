"""A trained model as scikit-learn's scorers want it."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from flora.models.family import Predicts, ScoresItself
from flora.models.rows import Floats, Rows


def score_of(model: Predicts, rows: Rows, scoring: str) -> float:
    """Return the model's scikit-learn score on the rows, each of which counts by its weight."""
    if isinstance(model, ScoresItself):
        return model.score(rows)
    if scoring in OF_LABELS and rows.schema.classes:
        return OF_LABELS[scoring](rows.y, model.predict(rows.X), rows.weights)
    scored = _Classifier(model, len(rows.schema.classes)) if rows.schema.classes else _Regressor(model)
    return scorer_score(scored, rows.X, rows, scoring)


def scorer_score(fitted: Any, X: Any, rows: Rows, scoring: str) -> float:
    """Return a fitted estimator's scikit-learn score on inputs, by the targets and weights of their rows."""
    weights = {} if rows.weights is None else {"sample_weight": rows.weights}
    with quiet():
        return float(get_scorer(scoring)(fitted, X, rows.y, **weights))


@contextmanager
def quiet() -> Iterator[None]:
    """Score without scikit-learn's warnings: few rows may lack a class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def accuracy(y: NDArray[Any], labels: NDArray[Any], weights: Floats | None = None) -> float:
    """Return the share of rows with the right class."""
    return float(np.mean(y == labels) if weights is None else np.average(y == labels, weights=weights))


def balanced_accuracy(y: NDArray[Any], labels: NDArray[Any], weights: Floats | None = None) -> float:
    """Return the mean, over the classes that rows have, of the share of their rows with the right class."""
    right = y == labels
    counts = np.bincount(y, weights)
    hits = np.bincount(y[right], None if weights is None else weights[right], len(counts))
    return float(np.mean(hits[counts > 0] / counts[counts > 0]))


# scikit-learn's to the last bit. It checks its input for longer than a small fit takes.
OF_LABELS: dict[str, Callable[[NDArray[Any], NDArray[Any], Floats | None], float]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
}


class _Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier; it has only those ways to predict that its model has."""

    def __init__(self, model: Any, classes: int) -> None:
        self.classes_ = np.arange(classes)
        self.predict = model.predict
        if hasattr(model, "decision_function"):
            self.decision_function = model.decision_function
        else:
            self.predict_proba = model.predict_proba


class _Regressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted regressor."""

    def __init__(self, model: Any) -> None:
        self.predict = model.predict
