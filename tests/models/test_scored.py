"""A model's score is scikit-learn's own, whatever ways to predict the model has."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn import metrics

from flora.models.rows import Rows
from flora.models.scored import accuracy, balanced_accuracy, score_of
from flora.problem.schema import Column, Schema

X = np.array([[0.1], [0.4], [0.35], [0.8], [0.7]])
Y = np.array([0, 0, 1, 1, 0])


def rows(y: Any, classes: tuple[str, ...] = ("no", "yes")) -> Rows:
    task = "classification" if classes else "regression"
    return Rows(X[: len(y)], np.asarray(y), Schema("y", task, (Column("x", "numeric"),), classes))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Threshold:
    """Says yes to large numbers, and how probable it is."""

    def predict(self, values: NDArray[np.float64]) -> NDArray[Any]:
        return (values[:, 0] > 0.5).astype(int)

    def predict_proba(self, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
        return np.column_stack([1 - values[:, 0], values[:, 0]])

    def files(self) -> dict[str, bytes]:
        return {}


class Margin(Threshold):
    """Knows no probability, only on which side of a line a row lies: here the wrong one."""

    def predict_proba(self, values: NDArray[np.float64]) -> None:
        return None

    def decision_function(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(0.5 - values[:, 0])


class Number(Threshold):
    """Predicts ten times the value."""

    def predict(self, values: NDArray[np.float64]) -> NDArray[Any]:
        return 10 * values[:, 0]


def test_scores_of_classes() -> None:
    labels = Threshold().predict(X)
    assert score_of(Threshold(), rows(Y), "balanced_accuracy") == metrics.balanced_accuracy_score(Y, labels)
    assert score_of(Threshold(), rows(Y), "f1") == metrics.f1_score(Y, labels)


def test_scores_of_probabilities_and_of_margins() -> None:
    auc = metrics.roc_auc_score(Y, X[:, 0])
    assert score_of(Threshold(), rows(Y), "roc_auc") == auc
    assert score_of(Margin(), rows(Y), "roc_auc") == pytest.approx(1 - auc)
    expected = -metrics.log_loss(Y, np.column_stack([1 - X[:, 0], X[:, 0]]))
    assert score_of(Threshold(), rows(Y), "neg_log_loss") == pytest.approx(expected)


def test_scores_of_numbers() -> None:
    y = np.array([1.0, 4.0, 3.0, 9.0, 6.5])
    assert score_of(Number(), rows(y, ()), "r2") == metrics.r2_score(y, 10 * X[:, 0])
    assert score_of(Number(), rows(y, ()), "neg_mean_squared_error") == -np.mean((y - 10 * X[:, 0]) ** 2)


def test_rows_without_a_class_warn_nobody() -> None:
    assert score_of(Threshold(), rows(Y[:2]), "balanced_accuracy") == 1.0
    assert np.isnan(score_of(Threshold(), rows(Y[:2]), "roc_auc"))
    with pytest.raises(ValueError, match="label"):
        score_of(Threshold(), rows(Y[:2]), "neg_log_loss")


@given(arrays(np.int64, st.integers(1, 30), elements=st.integers(0, 3)), st.data())
def test_what_is_counted_here_is_scikit_learns_to_the_last_bit(y: NDArray[Any], data: st.DataObject) -> None:
    labels = data.draw(arrays(np.int64, len(y), elements=st.integers(0, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert accuracy(y, labels) == metrics.accuracy_score(y, labels)
        assert balanced_accuracy(y, labels) == metrics.balanced_accuracy_score(y, labels)
