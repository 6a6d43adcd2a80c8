"""How low and how high a loss can be."""

import math

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer

from flora.aggregator.certificate.scale import Scale, scale_of
from flora.party.consent import SCORINGS
from flora.problem.trials import loss_of


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("balanced_accuracy", Scale(0, 1)),
        ("f1_macro", Scale(0, 1)),
        ("matthews_corrcoef", Scale(0, 2)),
        ("r2", Scale(0, math.inf)),
        ("neg_log_loss", Scale(0, math.inf)),
        ("profit", Scale()),
    ],
)
def test_the_ends_of_a_scoring(name: str, scale: Scale) -> None:
    assert scale_of(name) == scale


@pytest.mark.parametrize("name", SCORINGS)
def test_no_loss_that_a_party_sends_of_itself_is_outside(name: str) -> None:
    """By models that know nothing, on labels that nothing predicts."""
    scale, rng = scale_of(name), np.random.default_rng(0)
    kind = (
        DummyRegressor(strategy="constant", constant=3) if name in SCORINGS[5:] else DummyClassifier(strategy="prior")
    )
    for _ in range(5):
        X, y = np.zeros((40, 1)), rng.integers(0, 2, 40)
        loss = loss_of(name, float(get_scorer(name)(kind.fit(X, y), X, y[::-1])))
        assert scale.floor == 0 <= loss <= scale.ceiling
