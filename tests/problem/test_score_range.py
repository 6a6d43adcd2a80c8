import math

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, get_scorer_names

from flora.party.consent import SCORINGS
from flora.problem.score_range import fault_of_loss, loss_range, range_of
from flora.problem.trials import loss_of


@pytest.mark.parametrize(
    ("scoring", "score", "words"),
    [
        ("accuracy", -0.9, "got -0.9; is its sign turned? Say --negate"),
        ("accuracy", 87.5, "got 87.5; is it in percent? Divide it by 100"),
        ("accuracy", 1.9, "--score-column, and say --negate"),  # a loss of -0.9
        ("roc_auc_ovr", 1e99, "is it another score, or a loss?"),
        ("neg_mean_squared_error", 4.0, "of at most 0, got 4; is it an error with the other sign? Say --negate"),
        ("r2", 95.0, "of at most 1, got 95; is it in percent?"),
        ("matthews_corrcoef", 42.0, "from -1 to 1, got 42; is it in percent?"),
    ],
)
def test_a_score_outside_of_the_range_has_a_likely_cause(scoring: str, score: float, words: str) -> None:
    fault = fault_of_loss(scoring, loss_of(scoring, score))
    assert fault is not None
    assert fault.startswith(f"{scoring} is a score ")
    assert fault.endswith(words) or words in fault


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "roc_auc", "r2", "neg_log_loss", "d2_pinball_score"])
def test_the_ends_of_a_range_are_in_it(scoring: str) -> None:
    for end in range_of(scoring):
        if math.isfinite(end):
            assert fault_of_loss(scoring, loss_of(scoring, end)) is None
            assert fault_of_loss(scoring, loss_of(scoring, end) + 1e-12) is None


def test_every_scorer_has_a_range_or_any() -> None:
    without = {name for name in get_scorer_names() if range_of(name) == (-math.inf, math.inf)}
    assert "rand_score" in without  # of clusters, which nobody tunes here
    assert without <= {
        *("max_error", "rand_score", "adjusted_rand_score", "mutual_info_score", "adjusted_mutual_info_score"),
        *("normalized_mutual_info_score", "fowlkes_mallows_score", "homogeneity_score", "completeness_score"),
        *("v_measure_score", "positive_likelihood_ratio"),
    }


@pytest.mark.parametrize(
    ("scoring", "ends"),
    [("f1_macro", (0, 1)), ("matthews_corrcoef", (0, 2)), ("r2", (0, math.inf)), ("profit", (-math.inf, math.inf))],
)
def test_the_ends_of_a_loss(scoring: str, ends: tuple[float, float]) -> None:
    assert loss_range(scoring) == ends


@pytest.mark.parametrize("name", SCORINGS)
def test_no_loss_that_a_party_sends_of_itself_is_outside(name: str) -> None:
    """By models that know nothing, on labels that nothing predicts."""
    (lowest, highest), rng = loss_range(name), np.random.default_rng(0)
    kind = (
        DummyRegressor(strategy="constant", constant=3) if name in SCORINGS[5:] else DummyClassifier(strategy="prior")
    )
    for _ in range(5):
        X, y = np.zeros((40, 1)), rng.integers(0, 2, 40)
        loss = loss_of(name, float(get_scorer(name)(kind.fit(X, y), X, y[::-1])))
        assert lowest == 0 <= loss <= highest
