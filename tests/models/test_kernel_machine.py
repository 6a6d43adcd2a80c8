"""The search's exact machine is scikit-learn's SVC, up to its own tolerance."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import SVC

from flora.models import kernel_machine
from flora.models.encoded_fold import EncodedFold
from flora.models.kernel_machine import Distances, answers
from flora.models.recent import Recent
from flora.models.rows import Rows
from tests.models.mlp.test_family import table


def halves(rows: Rows) -> tuple[Rows, Rows]:
    return rows.take(np.arange(0, len(rows), 2)), rows.take(np.arange(1, len(rows), 2))


@pytest.mark.parametrize(("C", "gamma"), [(0.1, 1.0), (1.0, 0.1), (300.0, 0.01)])
@pytest.mark.parametrize(
    ("load", "most_rows"), [(load_breast_cancer, 1500), (load_breast_cancer, 10), (load_iris, 1500)]
)
def test_it_says_what_svc_says(
    monkeypatch: pytest.MonkeyPatch, load: object, most_rows: int, C: float, gamma: float
) -> None:
    monkeypatch.setattr(kernel_machine, "MOST_ROWS", most_rows)
    train, test = halves(table(load, most=300))
    fold = EncodedFold.of(train, test)
    plain = SVC(C=C, gamma=gamma, tol=1e-6, class_weight="balanced").fit(fold.train, train.y)
    found = answers(train, test, C, gamma, 1e-6)
    assert found.decision_function(test.X) == pytest.approx(plain.decision_function(fold.test), abs=1e-4)
    assert np.array_equal(found.predict(test.X), plain.predict(fold.test))


def test_classes_are_places_whichever_two_the_rows_have() -> None:
    rows = table(load_iris)
    train, test = halves(rows.take(np.flatnonzero(rows.y != 0)))
    assert set(answers(train, test, 1.0, 0.1, 1e-3).predict(test.X)) == {1, 2}


def test_distances_are_computed_once_for_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_machine, "_recent", Recent())
    train, test = halves(table(load_breast_cancer, most=60))
    found = Distances.recalled(train, test)
    dense = EncodedFold.of(train, test)
    expected = ((dense.test[:, None] - dense.train) ** 2).sum(axis=2)
    assert found.test == pytest.approx(expected, abs=1e-12)
    assert (np.diag(found.train) < 1e-12).all()
    assert (found.train >= 0).all()
    answers(train, test, 1.0, 0.1, 1e-3)
    assert Distances.recalled(train, test) is found
