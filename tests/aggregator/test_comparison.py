"""Recommended against default by federated trainings, with numbers that can be checked by hand."""

import math

import pytest

from flora.aggregator.comparison import Comparison, loss_of_training, mean_loss, trained_config
from flora.errors import FloraError
from flora.problem.messages import TrainReply


def reply(name: str, rows: int, loss: float | None, config: float = 1.0) -> TrainReply:
    return TrainReply(name, rows, b"", {"C": config}, loss)


def test_the_gain_is_that_of_the_folds() -> None:
    verdict = Comparison((0.30, 0.40), (0.20, 0.25)).verdict
    assert verdict is not None
    assert (verdict.basis, verdict.chosen_from, verdict.gain.degrees) == ("trained", 2, 1)
    assert verdict.gain.estimate == pytest.approx((0.10 + 0.15) / 2)
    # two folds: Nadeau and Bengio's 1/2 + 1/1 of the variance between them
    assert verdict.gain.error == pytest.approx(math.sqrt(1.5 * 0.05**2 / 2))


def test_there_is_no_verdict_where_nothing_was_compared() -> None:
    assert Comparison((0.3, 0.4), ()).verdict is None
    assert Comparison((0.3,), (0.2,)).verdict is None


def test_the_mean_of_folds_has_its_standard_error() -> None:
    mean = mean_loss((0.2, 0.4))
    assert mean is not None
    assert (mean.estimate, mean.error) == pytest.approx((0.3, 0.1))
    assert mean_loss((0.2,)) is None


def test_losses_over_parties() -> None:
    parties = [reply("a", 90, 0.2), reply("b", 10, 0.4), reply("c", 50, None)]
    assert loss_of_training(parties, "mean") == pytest.approx(0.22)
    assert loss_of_training(parties, "worst") == 0.4
    assert loss_of_training(parties[2:], "mean") is None


def test_parties_that_end_with_different_configs_are_refused() -> None:
    assert trained_config([reply("a", 90, 0.2), reply("b", 10, 0.4)]) == {"C": 1.0}
    with pytest.raises(FloraError, match="different configs"):
        trained_config([reply("a", 90, 0.2), reply("b", 10, 0.4, config=2.0)])
