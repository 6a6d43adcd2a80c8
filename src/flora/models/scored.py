"""A trained model as scikit-learn's scorers want it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from flora.models.family import Model
from flora.models.rows import Rows


def score_of(model: Model, rows: Rows, scoring: str) -> float:
    """Return the model's scikit-learn score on the rows."""
    scored = _Classifier(model, len(rows.schema.classes)) if rows.schema.classes else _Regressor(model)
    with quiet():
        return float(get_scorer(scoring)(scored, rows.X, rows.y))


@contextmanager
def quiet() -> Iterator[None]:
    """Score without scikit-learn's warnings: few rows may lack a class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


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
