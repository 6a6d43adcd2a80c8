"""Recommended against default by federated trainings, with numbers that can be checked by hand."""

import math
from dataclasses import replace

import pytest

from flora.aggregator.comparison import Comparison, loss_of_guess, loss_of_training, mean_loss, trained_config
from flora.errors import FloraError
from flora.problem.messages import TrainReply
from flora.problem.trials import Gain


def reply(name: str, rows: int, loss: float | None, config: float = 1.0) -> TrainReply:
    return TrainReply(name, rows, b"", {"C": config}, loss)


def test_the_gain_is_that_of_the_folds() -> None:
    verdict = Comparison((0.30, 0.40), (0.20, 0.25)).verdict(None, 3)
    assert verdict is not None
    assert (verdict.basis, verdict.chosen_from, verdict.gain.degrees) == ("trained", 2, 1)
    assert verdict.gain.estimate == pytest.approx((0.10 + 0.15) / 2)
    # two folds: Nadeau and Bengio's 1/2 + 1/1 of the variance between them
    assert verdict.gain.error == pytest.approx(math.sqrt(1.5 * 0.05**2 / 2))


def test_there_is_no_verdict_where_nothing_was_compared() -> None:
    assert Comparison((0.3, 0.4), ()).verdict(None, 3) is None
    assert Comparison((0.3,), (0.2,)).verdict(None, 3) is None


def test_few_folds_borrow_from_what_the_parties_know_of_the_error() -> None:
    """One degree with 1.5 * 0.05^2 / 2 = 0.001875; four more with (0.7 * 0.1)^2 = 0.0049: 0.004295 on average."""
    comparison = Comparison((0.30, 0.40), (0.20, 0.25))
    alone, both = comparison.verdict(None, 3), comparison.verdict(Gain(0.9, 0.1, 4), 3)
    assert alone is not None
    assert both is not None
    assert both.gain.estimate == alone.gain.estimate  # what they measured moves no gain
    assert both.gain.error == pytest.approx(math.sqrt(0.004295))
    assert both.gain.degrees == 5
    sure = comparison.verdict(Gain(0.9, 0.1, 40), 4)
    known = comparison.verdict(Gain(0.9, 0.1), 4)
    assert sure == known
    assert sure is not None
    assert sure.gain.error == pytest.approx(math.sqrt((6 * 0.0049 + 0.001875) / 7))
    assert sure.gain.degrees == 7
    assert comparison.verdict(Gain(0.0, 0.0, 4), 3) == alone  # nobody saw any difference, so nobody knows its error
    spread = comparison.verdict(Gain(0.9, 0.1, 4), 5)  # of five parties, which is taken as it is
    assert spread is not None
    assert spread.gain.error == pytest.approx(math.sqrt((4 * 0.01 + 0.001875) / 5))


def test_folds_that_agree_by_chance_show_nothing() -> None:
    same = Comparison((0.30, 0.40, 0.35), (0.295, 0.395, 0.345))
    alone, both = same.verdict(None, 3), same.verdict(Gain(0.02, 0.03, 10), 3)
    assert alone is not None
    assert both is not None
    assert (alone.grade, both.grade) == ("shown", "not shown")


def test_the_mean_of_folds_has_its_standard_error() -> None:
    mean = mean_loss((0.2, 0.4))
    assert mean is not None
    assert (mean.estimate, mean.error) == pytest.approx((0.3, 0.1))
    assert mean_loss((0.2,)) is None


def test_a_gain_counts_where_the_models_beat_a_guess() -> None:
    default, recommended = (0.40, 0.41, 0.42, 0.40, 0.41), (0.30, 0.32, 0.31, 0.30, 0.32)
    better = Comparison(default, recommended, (0.5,) * 5).verdict(None, 3)
    assert better is not None
    assert (better.decision, better.chosen_from) == ("use", 1)
    assert better.learnt is not None
    assert better.learnt.estimate == pytest.approx(0.19)
    guessing = Comparison(default, recommended, (0.31,) * 5).verdict(None, 3)
    assert guessing is not None
    assert guessing.gain == better.gain
    assert guessing.decision == "keep-defaults"


def test_losses_over_parties() -> None:
    parties = [reply("a", 90, 0.2), reply("b", 10, 0.4), reply("c", 50, None)]
    assert loss_of_training(parties, "mean") == pytest.approx(0.22)
    assert loss_of_training(parties, "worst") == 0.4
    assert loss_of_training(parties[2:], "mean") is None
    guesses = [replace(party, guess_loss=loss) for party, loss in zip(parties, (0.5, 0.6, None), strict=True)]
    assert loss_of_guess(guesses, "mean") == pytest.approx(0.51)
    assert loss_of_guess(guesses, "worst") == 0.6
    assert loss_of_guess(parties, "mean") is None


def test_parties_that_end_with_different_configs_are_refused() -> None:
    assert trained_config([reply("a", 90, 0.2), reply("b", 10, 0.4)]) == {"C": 1.0}
    with pytest.raises(FloraError, match="different configs"):
        trained_config([reply("a", 90, 0.2), reply("b", 10, 0.4, config=2.0)])
