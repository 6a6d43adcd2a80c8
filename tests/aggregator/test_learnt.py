"""A recommendation that parties measured counts where it predicts better than a guess that looks at no column."""

from collections.abc import Sequence

import pytest

from flora.aggregator.learnt import measured_learnt
from flora.aggregator.verdict import Verdict
from flora.problem.messages import Confirmation
from flora.problem.trials import Gain, Trial

CONFIG = {"a": 1.0}


def said(loss: float, error: float = 0.02) -> list[Confirmation]:
    """What a party says of the default, and of the config."""
    return [
        Confirmation(Trial({"a": 0.0}, 0.9, 0.1, 5), 0.0, 0.0),
        Confirmation(Trial(CONFIG, loss, error, 5), 0.9 - loss, 0.01),
    ]


def learnt(losses: Sequence[float], objective: str = "mean", guess: float = 0.75, error: float = 0.02) -> Gain:
    """What parties of a hundred rows each say of a guess."""
    parties = {f"p{k}": said(loss, error) for k, loss in enumerate(losses)}
    return measured_learnt(CONFIG, parties, dict.fromkeys(parties, 100), dict.fromkeys(parties, guess), objective)  # type: ignore[arg-type]


def test_a_constant_model_is_not_used_however_bad_the_default_is() -> None:
    constant = learnt([0.75, 0.75, 0.75], error=0.0)
    assert constant.estimate == 0
    gain = Gain(0.15, 0.01, 8)
    assert Verdict(gain, "measured", 8).decision == "use"  # nobody knows of a guess
    assert Verdict(gain, "measured", 8, constant).decision == "keep-defaults"
    assert Verdict(gain, "measured", 8, learnt([0.55, 0.6, 0.5])).decision == "use"


def test_what_is_better_than_a_guess_within_its_error_is_not_shown() -> None:
    assert not Verdict(Gain(0.2, 0.01, 8), "measured", 1, learnt([0.72, 0.73, 0.74], error=0.04)).learns


def test_the_error_is_that_of_all_parties_and_of_many_their_own_spread() -> None:
    assert learnt([0.6, 0.6, 0.6], error=0.03).error == pytest.approx(0.03 / 3**0.5)
    assert learnt([0.6, 0.6, 0.6, 0.6, 0.6], error=0.03).error == 0
    assert learnt([0.6, 0.6, 0.6, 0.6, 0.0]).estimate == pytest.approx(0.15)  # one that lies moves nothing


def test_the_party_that_is_worst_off_counts_where_it_is_to_count() -> None:
    assert learnt([0.2, 0.3, 0.74], "worst").estimate == pytest.approx(0.01)
