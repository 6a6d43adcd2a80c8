"""What is not plain from a result's numbers, in words."""

from dataclasses import replace

import pytest

from flora.aggregator.verdict import Verdict
from flora.outcome.explain import (
    edge_words,
    grade_words,
    grown_words,
    past_range,
    score_words,
    settle_words,
    times_more_rows,
    trained_words,
)
from flora.problem.space import SearchSpace
from flora.problem.trials import Gain
from flora.program.result import Result
from flora.program.result_parts import CandidateResult, Grounds, ModelScore, StatedGain, TrainingResult
from tests.program.test_result import CONFIG, result


@pytest.fixture(scope="module")
def plain() -> Result:
    return result()


def test_what_was_trained_is_what_the_verdict_says(plain: Result) -> None:
    once = replace(plain, trained_config=CONFIG, trainings=(TrainingResult(CONFIG, None),))
    assert trained_words(plain) == "No federated model was trained."
    assert trained_words(once) == "The federated model was trained with the recommendation."
    kept = replace(once, verdict="keep-defaults")
    assert trained_words(kept) == "The federated model was trained with the defaults."


def test_what_the_training_chose_is_named_and_whether_it_is_past_the_range(plain: Result) -> None:
    within = replace(plain, trained_config={**CONFIG, "C": 1000.0}, chosen_in_training=("C",))
    assert past_range(within) == ""
    assert trained_words(within).endswith("the recommendation, and C = 1000.0 chosen inside the training.")
    past = replace(within, trained_config={**CONFIG, "C": 1001.0})
    assert past_range(past).startswith("past the range that each party searches")
    assert trained_words(past).endswith("C = 1001.0 chosen inside the training (" + past_range(past) + ").")
    assert past_range(replace(past, chosen_in_training=())) == ""


def test_what_grows_with_the_rows_is_said_to(plain: Result) -> None:
    gain = StatedGain(0.1, 0.09, 0.11, 0.01)
    measured = replace(plain, candidates=(CandidateResult(CONFIG, {**CONFIG, "C": 0.5}, True, gain),))
    words = "More rows need more: C = 0.5 on a party's rows stands for 2 on those of all"
    assert grown_words(measured) == words
    assert grown_words(plain) == ""


def compared(plain: Result, gain: float, *, folds: int = 5) -> Result:
    """Return a run with a gain that has an error of 0.01 and ten degrees of freedom, by so many folds."""
    verdict = Verdict(Gain(gain, 0.01, 10), "trained", 2)
    trainings = (*(TrainingResult(CONFIG, 0.1, k // 2) for k in range(2 * folds)), TrainingResult(CONFIG, None))
    return replace(
        plain,
        verdict=verdict.decision,
        grade=verdict.grade,
        evidence=Grounds.of(verdict),
        expected_gain=StatedGain.by(verdict),
        trainings=trainings,
        seconds={"train": 11.0},
    )


def test_what_would_settle_a_gain_is_what_would_show_it(plain: Result) -> None:
    """Of 10 degrees and 0.025 Student's t is 2.228, of 15 it is 2.131; ten folds: sqrt(2.111 / 2.25) of the error."""
    assert settle_words(compared(plain, 0.0223)) == ""  # it is shown
    assert settle_words(compared(plain, 0.0210)) == "--trainings 21 may settle it (about 10 s more)."
    words = settle_words(compared(plain, 0.0150))
    assert words == "More trainings would hardly settle it; about 2.2 times the rows may."
    assert times_more_rows(compared(plain, 0.0150)) == pytest.approx((2.228 / 1.5) ** 2, abs=1e-3)
    assert "Neither more trainings nor 10 times the rows" in settle_words(compared(plain, 0.0070))
    assert settle_words(compared(plain, -0.0070)) == ""
    assert "hardly settle" in settle_words(compared(plain, 0.0210, folds=10))  # there were as many already


def test_trainings_settle_nothing_of_a_study_whose_model_nobody_named(plain: Result) -> None:
    """A CSV file says no family: ``flora aggregate`` has no --trainings."""
    predicted = Verdict(Gain(0.01, 0.01), "predicted", 75)
    unsure = replace(plain, family="svm", verdict="keep-defaults", grade="not shown", evidence=Grounds.of(predicted))
    assert settle_words(unsure).endswith("--trainings 11.")
    words = "Measurements of both configs at every party, on the same folds, would settle it."
    assert settle_words(replace(unsure, family=None)) == words


def test_models_that_are_no_better_than_a_guess_are_told_as_such(plain: Result) -> None:
    verdict = Verdict(Gain(0.03, 0.01, 10), "trained", 1, Gain(0.01, 0.01, 4))
    score = ModelScore(0.512, 0.02, 5, 0.49, 0.5)
    unlearnt = replace(
        compared(plain, 0.03),
        verdict=verdict.decision,
        grade=verdict.grade,
        evidence=Grounds.of(verdict),
        model_score=score,
    )
    words = grade_words(unlearnt)
    assert words.startswith("Models of the recommendation are not shown to predict better than a guess")
    assert settle_words(unlearnt) == "More rows, or columns that tell more, would."
    assert score_words(unlearnt).endswith("left out a part of all rows; a guess has 0.500.")
    assert score_words(replace(unlearnt, model_score=replace(score, guess_score=None))).endswith("of all rows.")
    assert grade_words(replace(unlearnt, verdict="use", grade="shown")).startswith("A gain is shown")


def test_a_recommendation_at_the_edge_of_its_range_says_so(plain: Result) -> None:
    words = "C = 1000 is at the upper end of its range: a wider one (--space) may hold a better value"
    assert edge_words(replace(plain, config={**CONFIG, "C": 1000.0})) == words
    assert edge_words(plain) == ""
    share = {"class_balance": {"type": "real", "range": [0, 1], "default": 0.0}}
    whole = replace(
        plain, space=SearchSpace.from_json(share), config={"class_balance": 1.0}, default={"class_balance": 0}
    )
    assert edge_words(whole) == ""  # no wider range is possible
    chosen = replace(plain, config={**CONFIG, "C": 1000.0}, chosen_in_training=("C",))
    assert edge_words(chosen) == ""  # the training chose it, and goes past the range where that helps
