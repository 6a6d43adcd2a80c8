"""The verdict: what the parties measured, in one answer."""

import numpy as np
import pytest

from flora.federation import Confirmation
from flora.space import SearchSpace
from flora.trials import PartyTrials, Trial
from flora.verdict import Gain, Verdict, gamma, measured_verdict, predicted_verdict

SPACE = SearchSpace.from_json({"x": {"type": "real", "space": "linear", "range": [0, 1], "default": 0.5}})


def measured(gain: float, error: float) -> Confirmation:
    return Confirmation(Trial({"x": 0.1}, 0.2, 0.01, 5, 10), gain, error)


def test_parties_count_by_rows_and_errors_add_as_independent() -> None:
    verdict = measured_verdict({"a": measured(0.1, 0.03), "b": measured(0.2, 0.04)}, {"a": 30, "b": 10})
    assert verdict.gain.estimate == pytest.approx(0.75 * 0.1 + 0.25 * 0.2)
    assert verdict.gain.error == pytest.approx(np.hypot(0.75 * 0.03, 0.25 * 0.04))
    assert verdict.decision == "use"
    assert verdict.basis == "measured"


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
