"""The verdict: what the parties measured, in one answer."""

from collections.abc import Sequence

import numpy as np
import pytest

from flora.aggregator.verdict import Verdict, gamma, predicted_verdict, tried_configs
from flora.problem.space import Config, Points, SearchSpace
from flora.problem.trials import Gain, PartyTrials, Trial

SPACE = SearchSpace.from_json({"x": {"type": "real", "space": "linear", "range": [0, 1], "default": 0.5}})


@pytest.mark.parametrize(
    ("gain", "error", "grade", "decision"),
    [
        (0.0165, 0.01, "shown", "use"),  # 1.645 errors: 5 of 100 by chance
        (0.0164, 0.01, "likely", "use"),
        (0.0085, 0.01, "likely", "use"),  # 0.842 errors: 20 of 100
        (0.0084, 0.01, "not shown", "keep-defaults"),
        (-0.0165, 0.01, "shown", "keep-defaults"),
        (-0.0164, 0.01, "likely", "keep-defaults"),
        (-0.0084, 0.01, "not shown", "keep-defaults"),
        (0.1, 0.0, "shown", "use"),
        (0.0, 0.0, "not shown", "keep-defaults"),
    ],
)
def test_the_grade_says_how_often_chance_shows_as_much(gain: float, error: float, grade: str, decision: str) -> None:
    verdict = Verdict(Gain(gain, error), "measured")
    assert (verdict.grade, verdict.decision) == (grade, decision)
    low, high = verdict.interval
    assert low <= gain <= high
    assert (low > 0 or high < 0) == (grade == "shown")


def test_few_degrees_of_freedom_need_more() -> None:
    verdicts = [Verdict(Gain(0.02, 0.01, degrees), "trained") for degrees in (None, 4, 1)]
    assert verdicts[1].chance == pytest.approx(0.0581, abs=1e-4)  # Student's t of 2 with 4 degrees, one-sided
    assert [verdict.grade for verdict in verdicts] == ["shown", "likely", "likely"]
    assert verdicts[1].interval == pytest.approx((0.02 - 0.02132, 0.02 + 0.02132), abs=1e-5)


def test_the_best_of_many_needs_more() -> None:
    verdicts = [Verdict(Gain(0.02, 0.01), "measured", count) for count in (1, 2, 3, 8, 9)]
    assert [verdict.chance for verdict in verdicts] == pytest.approx([0.02275 * k for k in (1, 2, 3, 8, 9)], abs=1e-4)
    assert [verdict.grade for verdict in verdicts] == ["shown", "shown", "likely", "likely", "not shown"]
    assert all((verdict.interval[0] > 0) == (verdict.grade == "shown") for verdict in verdicts)


def test_what_is_stated_is_less_than_what_is_seen_and_of_the_best_of_many_much_less() -> None:
    assert Verdict(Gain(0.02, 0.01, 4), "trained", 2).stated == pytest.approx(0.02 * (1 - 0.25))
    assert Verdict(Gain(0.005, 0.01, 4), "trained", 2).stated == 0
    assert Verdict(Gain(-0.02, 0.01, 4), "trained", 2).stated == pytest.approx(-0.02 * (1 - 0.25))
    assert Verdict(Gain(0.04, 0.01), "measured", 8).stated == pytest.approx(0.04 * (1 - (1 + 2 * np.log(8)) / 16))
    assert Verdict(Gain(0.0, 0.0), "trained", 2).stated == 0


def test_a_gain_of_models_that_are_no_better_than_a_guess_is_none() -> None:
    """Student's t of 2.132 with four degrees has a tail of 5 %."""
    sure, unsure = (Verdict(Gain(0.03, 0.01, 4), "trained", 1, Gain(t * 0.01, 0.01, 4)) for t in (2.14, 2.12))
    assert sure.decision == "use"
    assert sure.stated == pytest.approx(0.03 * (1 - 1 / 9))
    assert (unsure.decision, unsure.grade, unsure.stated) == ("keep-defaults", "not shown", 0)
    worse = Verdict(Gain(-0.03, 0.01, 4), "trained", 1, Gain(-0.02, 0.01, 4))
    assert (worse.decision, worse.grade) == ("keep-defaults", "shown")
    assert worse.stated == pytest.approx(-0.03 * (1 - 1 / 9))
    assert Verdict(Gain(0.03, 0.01, 4), "trained").decision == "use"  # nobody knows of a guess


def test_where_nothing_was_tried_the_defaults_stay() -> None:
    assert Verdict(Gain(1.0, 0.01), "measured", 0).decision == "keep-defaults"
    assert Verdict(Gain(1.0, 0.01), "predicted", 0).decision == "keep-defaults"


def test_what_nobody_measured_is_likely_at_best() -> None:
    assert Verdict(Gain(1.0, 0.01), "predicted", 5).grade == "likely"
    assert Verdict(Gain(1.0, 0.01), "measured", 5).grade == "shown"


def test_configs_are_counted_once_and_the_default_not() -> None:
    def party(name: str, *values: float) -> PartyTrials:
        return PartyTrials(name, 10, SPACE, "accuracy", tuple(Trial({"x": value}, 0.1) for value in values))

    assert tried_configs([party("a", 0.5, 0.1, 0.2), party("b", 0.5, 0.2, 0.3)]) == 3
    assert tried_configs([party("a", 0.5), party("b", 0.5)]) == 0


def test_a_partys_configs_are_counted_in_one_pass() -> None:
    """A million of them, one by one, took twice as long as the surface itself."""
    asked: list[int] = []

    class Counting(SearchSpace):
        def encode(self, configs: Sequence[Config]) -> Points:
            asked.append(len(configs))
            return super().encode(configs)

    space = Counting(SPACE.parameters, SPACE.default)
    tried = tuple(Trial({"x": k / 100}, 0.1) for k in range(100))
    assert tried_configs([PartyTrials(name, 10, space, "accuracy", tried) for name in "ab"]) == 99
    assert asked == [100, 100, 1]


class Slope:
    def __call__(self, points: np.ndarray) -> np.ndarray:
        return points[:, 0]

    def error(self, points: np.ndarray) -> np.ndarray:
        return np.full(len(points), 0.03)


def test_a_predicted_verdict_reads_the_surface() -> None:
    verdict = predicted_verdict(Slope(), SPACE, {"x": 0.1}, 7)
    assert verdict.gain.estimate == pytest.approx(0.4)
    assert verdict.gain.error == pytest.approx(0.03 * np.sqrt(2))
    assert (verdict.basis, verdict.chosen_from) == ("predicted", 7)


def test_gamma_is_the_papers_ratio() -> None:
    def party(name: str, *losses: float) -> PartyTrials:
        return PartyTrials(name, 10, SPACE, "accuracy", tuple(Trial({"x": 0.5}, loss) for loss in losses))

    assert gamma([party("a", 0.3, 0.1), party("b", 0.25)]) == pytest.approx(0.9 / 0.75)
    assert gamma([party("a", 0.3), party("b", 1.5)]) is None
