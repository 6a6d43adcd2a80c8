"""The verdict: what the parties measured, in one answer."""

import numpy as np
import pytest

from flora.aggregator.verdict import Verdict, gamma, predicted_verdict
from flora.problem.space import SearchSpace
from flora.problem.trials import Gain, PartyTrials, Trial

SPACE = SearchSpace.from_json({"x": {"type": "real", "space": "linear", "range": [0, 1], "default": 0.5}})


@pytest.mark.parametrize(
    ("gain", "error", "decision"),
    [(0.02, 0.01, "use"), (0.01, 0.02, "keep-defaults"), (-0.1, 0.01, "keep-defaults"), (0.0, 0.0, "keep-defaults")],
)
def test_use_takes_a_gain_beyond_its_standard_error(gain: float, error: float, decision: str) -> None:
    verdict = Verdict(Gain(gain, error), "measured")
    assert verdict.decision == decision
    document = verdict.gain.to_json()
    assert document["low"] <= document["estimate"] <= document["high"]
    assert (document["low"] > 0) == (decision == "use")


def test_a_measured_gain_that_the_surface_predicts_need_not_be_beyond_its_error() -> None:
    assert Verdict(Gain(0.01, 0.02), "measured and predicted").decision == "use"
    assert Verdict(Gain(-0.01, 0.02), "measured and predicted").decision == "keep-defaults"


class Slope:
    def __call__(self, points: np.ndarray) -> np.ndarray:
        return points[:, 0]

    def error(self, points: np.ndarray) -> np.ndarray:
        return np.full(len(points), 0.03)


def test_a_predicted_verdict_reads_the_surface() -> None:
    verdict = predicted_verdict(Slope(), SPACE, {"x": 0.1})
    assert verdict.gain.estimate == pytest.approx(0.4)
    assert verdict.gain.error == pytest.approx(0.03 * np.sqrt(2))
    assert verdict.basis == "predicted"


def test_gamma_is_the_papers_ratio() -> None:
    def party(name: str, *losses: float) -> PartyTrials:
        return PartyTrials(name, 10, SPACE, "accuracy", tuple(Trial({"x": 0.5}, loss) for loss in losses))

    assert gamma([party("a", 0.3, 0.1), party("b", 0.25)]) == pytest.approx(0.9 / 0.75)
    assert gamma([party("a", 0.3), party("b", 1.5)]) is None
