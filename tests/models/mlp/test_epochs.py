from typing import Any

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from flora.models.mlp.epochs import fitted_networks
from flora.models.mlp.family import SETTINGS
from flora.problem.schema import Task
from tests.models.mlp.test_family import FAST, table

EPOCHS = [12, 1, 5, 200]
SKLEARN = {"hidden_layer_sizes": 50, "learning_rate_init": 0.01, "random_state": 4}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("load", "task", "most", "patience", "stops"),
    [
        (load_digits, "classification", 200, 3, True),
        (load_breast_cancer, "classification", 200, 10, True),
        (load_diabetes, "regression", 200, 3, True),
        (load_breast_cancer, "classification", 9, 300, False),  # too few rows to validate on: no early stopping
        (load_diabetes, "regression", 9, 300, False),
    ],
)
def test_one_fit_passes_through_what_fits_of_fewer_epochs_make(
    load: Any, task: Task, most: int, patience: int, stops: bool
) -> None:
    rows = table(load, task, most)
    settings = {**SETTINGS, **FAST, "n_iter_no_change": patience}
    own = {**SKLEARN, "n_iter_no_change": patience, "early_stopping": most > 10}
    seen = []
    with threadpool_limits(1):
        found = [network.predict(rows.X) for network in fitted_networks(settings, rows.X, rows, 4, EPOCHS)]
        for count in EPOCHS:
            plain = (MLPRegressor if task == "regression" else MLPClassifier)(**own, max_iter=count)
            network = TransformedTargetRegressor(plain, transformer=StandardScaler()) if task == "regression" else plain
            seen.append(network.fit(rows.X, rows.y).predict(rows.X))
            inner = network.regressor_ if task == "regression" else network
    assert (inner.n_iter_ < EPOCHS[-1]) == stops
    assert all(np.array_equal(a, b) for a, b in zip(found, seen, strict=True))
    assert len({prediction.tobytes() for prediction in found}) > 1  # or nothing was told apart


def test_that_max_iter_is_reached_is_no_warning() -> None:
    rows = table(load_breast_cancer, most=40)
    assert len(list(fitted_networks({**SETTINGS, **FAST}, rows.X, rows, 0, [1]))) == 1
    with pytest.warns(ConvergenceWarning):
        MLPClassifier(max_iter=1).fit(rows.X, rows.y)
