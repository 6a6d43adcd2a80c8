"""What is not plain from a result's numbers, in words."""

from dataclasses import replace

import pytest

from flora.outcome.explain import grown_words, past_range, trained_words
from flora.program.result import CandidateResult, Result, StatedGain, TrainingResult
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
