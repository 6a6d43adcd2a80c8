from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.neural_network import MLPClassifier

from flora.core.collective import Alone
from flora.errors import InputError
from flora.models.mlp.family import Perceptron
from flora.models.mlp.perceptron import Layers, PerceptronModel
from flora.problem.schema import Task
from tests.models.mlp.test_family import FAST, table


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_the_forward_pass_is_scikit_learns(load: Any, activation: str) -> None:
    rows = table(load)
    network = MLPClassifier(50, activation=activation, random_state=0)
    model = Perceptron().train({**FAST, "activation": activation, "max_iter": 2}, rows, Alone(), 0).model
    dense = model.encoding(rows.X)
    network.partial_fit(dense, rows.y, classes=np.arange(len(rows.schema.classes)))
    weights = np.concatenate([part.ravel() for part in (*network.coefs_, *network.intercepts_)])
    same = PerceptronModel(model.encoding, Layers(weights, model.layers.sizes, activation), "classification")
    assert np.allclose(np.asarray(same.predict_proba(rows.X)), network.predict_proba(dense), atol=1e-12)
    assert np.array_equal(same.predict(rows.X), network.predict(dense))


@pytest.mark.parametrize(("load", "task"), [(load_iris, "classification"), (load_diabetes, "regression")])
def test_the_files_load(load: Any, task: Task) -> None:
    rows = table(load, task, 120)
    model = Perceptron().train({**FAST, "max_iter": 5}, rows, Alone(), 0).model
    loaded = PerceptronModel.from_files(model.files(), rows.schema)
    assert np.array_equal(loaded.predict(rows.X), model.predict(rows.X))
    assert loaded.files() == model.files()


def test_files_of_another_network_are_refused() -> None:
    iris, cancer = (table(load) for load in (load_iris, load_breast_cancer))
    files = dict(Perceptron().train({**FAST, "max_iter": 1}, iris, Alone(), 0).model.files())
    with pytest.raises(InputError, match=r"weights\.npy: must hold float64 of shape"):
        PerceptronModel.from_files(files, cancer.schema)
    with pytest.raises(InputError, match="no network has 50 hidden units with 'sine'"):
        PerceptronModel.from_files({**files, "model.json": files["model.json"].replace(b"relu", b"sine")}, iris.schema)
