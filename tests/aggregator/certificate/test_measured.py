"""The gap to the best of what was measured."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, t

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.certificate.measured import measured_gap, measured_gaps
from flora.aggregator.recommend import Recommendation
from flora.aggregator.surfaces.average_of_parties import AverageOfParties
from flora.aggregator.verdict import Verdict
from flora.problem.messages import Confirmation
from flora.problem.space import Config
from flora.problem.trials import Gain, Trial
from tests.aggregator.certificate.cases import Known, party

DEFAULT: Config = {"x": 0.5}
TRAINED: Config = {"x": 0.25}


def test_by_hand() -> None:
    """Two others, so each has a tail of 0.025: 1.96 errors with a known error, 2.228 with ten degrees of freedom.

    0.01 + 2.228 * 0.02 = 0.0546 is above -0.03 + 1.96 * 0.01 = -0.0104, which is the default's: 0.0104 are gained.
    """
    found = measured_gap(
        TRAINED, [({"x": 0.9}, Gain(0.01, 0.02, 10)), (DEFAULT, Gain(-0.03, 0.01))], DEFAULT, "measured"
    )
    assert found is not None
    assert found.value == pytest.approx(0.01 + t.ppf(0.975, 10) * 0.02) == pytest.approx(0.0546, abs=1e-4)
    assert found.gain == pytest.approx(0.03 - norm.ppf(0.975) * 0.01) == pytest.approx(0.0104, abs=1e-4)
    assert (found.rival, found.configs, found.level) == ({"x": 0.9}, 3, 0.95)


def test_nothing_is_better_than_the_best_and_nothing_beside_it_is_no_bound() -> None:
    found = measured_gap(TRAINED, [(DEFAULT, Gain(-0.1, 0.01))], DEFAULT, "trained")
    assert found is not None
    assert (found.value, found.rival) == (0.0, TRAINED)
    assert measured_gap(TRAINED, [], DEFAULT, "trained") is None


def test_the_default_gains_nothing_over_itself() -> None:
    found = measured_gap(DEFAULT, [(TRAINED, Gain(0.1, 0.01))], DEFAULT, "trained")
    assert found is not None
    assert found.gain == 0.0


def test_the_bound_holds_for_the_best_looking_of_equals_as_often_as_it_says() -> None:
    """Eight configs whose losses differ a little; the one that looks best is trained, as by our own choice."""
    rng, held, runs = np.random.default_rng(0), 0, 1000
    true = np.linspace(0, 0.02, 8)
    for _ in range(runs):
        folds = true[:, None] + rng.normal(0, 0.05, (8, 10))
        best = int(folds.mean(axis=1).argmin())
        others = [k for k in range(8) if k != best]
        apart = {k: folds[best] - folds[k] for k in others}
        gains = [({"x": k / 8}, Gain(apart[k].mean(), apart[k].std(ddof=1) / np.sqrt(10), 9)) for k in others]
        found = measured_gap({"x": best / 8}, gains, DEFAULT, "measured")
        assert found is not None
        assert found.value is not None
        held += true[best] - true.min() <= found.value
    assert held / runs >= 0.95


def found(basis: str = "measured") -> Aggregation:
    """Two parties of 300 and 100 rows: each measured the default, the recommendation as 0.2 and another config."""
    trials = (party("a", [0.5], [0.3], 300), party("b", [0.5], [0.4], 100))

    def measured(x: float, gain: float, error: float) -> Confirmation:
        return Confirmation(Trial({"x": x}, 0.3 - gain, 0.01, 11), gain, error)

    confirmed = {
        "a": (measured(0.5, 0.0, 0.0), measured(0.2, 0.04, 0.01), measured(0.9, 0.02, 0.01)),
        "b": (measured(0.5, 0.0, 0.0), measured(0.2, 0.08, 0.02), measured(0.9, 0.02, 0.02)),
    }
    verdict = Verdict(Gain(0.05, 0.01, 4), "trained" if basis == "trained" else "measured")
    surface = AverageOfParties((Known(lambda x: x),) * 2, (1.0, 1.0))
    return Aggregation(trials, surface, Recommendation(TRAINED, {"x": 0.2}, 0.2, 0.0), verdict, confirmed)


def test_two_parties_by_hand_where_another_config_stands_for_the_trained_one() -> None:
    """The mean gain of 0.2 is 3/4 0.04 + 1/4 0.08 = 0.05, its error (3/4 0.01, 1/4 0.02) = 0.00901.

    0.9 gains 0.02, as well known: it is 0.03 behind, with an error of sqrt(2) 0.00901 = 0.01275. The degrees of freedom
    are 10 at each party; the shares of the variance are 9/13 and 4/13: 10 / (81/169 + 16/169) = 17.42 in all. With a
    tail of 0.05 / 2 the upper end is -0.03 + 2.106 * 0.01275 = -0.0032, that of the default -0.05 + 2.106 * 0.00901.
    """
    (gap,) = measured_gaps(found(), TRAINED, DEFAULT, "mean")
    times = t.ppf(0.975, 10 * 169 / 97)
    error = np.hypot(0.0075, 0.005)
    assert (gap.basis, gap.value, gap.configs) == ("measured", 0.0, 3)
    assert gap.gain == pytest.approx(0.05 - times * error) == pytest.approx(0.0310, abs=1e-4)
    (kept,) = measured_gaps(found(), DEFAULT, DEFAULT, "mean")
    assert kept.value == pytest.approx(0.05 + times * error) == pytest.approx(0.0690, abs=1e-4)
    assert kept.rival == {"x": 0.2}


def test_federated_trainings_compare_the_two_at_all_rows() -> None:
    """Student's t of four degrees of freedom and 0.05: 2.132."""
    used, _ = measured_gaps(found("trained"), TRAINED, DEFAULT, "mean")
    assert (used.basis, used.value, used.configs) == ("trained", 0.0, 2)
    assert used.gain == pytest.approx(0.05 - 0.02132, abs=1e-5)
    kept, _ = measured_gaps(found("trained"), DEFAULT, DEFAULT, "mean")
    assert kept.value == pytest.approx(0.05 + 0.02132, abs=1e-5)
    assert kept.rival == TRAINED


def test_chance_counts_as_often_as_the_verdict_counts_it() -> None:
    run = found("trained")
    assert run.verdict is not None
    twice = replace(run, verdict=replace(run.verdict, chosen_from=2))
    for each in (run, twice):
        assert each.verdict is not None
        low, high = each.verdict.interval
        assert measured_gaps(each, DEFAULT, DEFAULT, "mean")[0].value == pytest.approx(high)
        assert measured_gaps(each, TRAINED, DEFAULT, "mean")[0].gain == pytest.approx(low)


def test_without_a_confirmation_nothing_was_measured() -> None:
    assert measured_gaps(replace(found(), confirmed={}), TRAINED, DEFAULT, "mean") == ()
