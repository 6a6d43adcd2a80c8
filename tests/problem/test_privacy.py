"""Epsilon's ledger, by hand and against what maintained libraries say (scripts/privacy_figures.py made the figures)."""

import math

import pytest

from flora.errors import InputError
from flora.problem.privacy import CLIP, DELTA, Ledger, epsilon_of, honest_of, multiplier_of, rho_of, too_few_for_noise

OPENDP = {  # 0.16.0: (rho, delta) -> epsilon
    (0.001, 1e-5): 0.15733539316121553,
    (0.01, 1e-5): 0.5457255482740025,
    (0.05, 1e-5): 1.3081183429064382,
    (0.1, 1e-2): 0.9787547576255943,
    (0.5, 1e-5): 4.728386984943315,
    (1.0, 1e-5): 7.07719669580634,
    (5.0, 1e-2): 13.155978633161393,
}
DP_ACCOUNTING = {  # 0.6.0, Renyi orders of a fine grid: a little more
    (0.001, 1e-5): 0.1573353985742576,
    (0.05, 1e-5): 1.3081184774884904,
    (1.0, 1e-5): 7.07739157816664,
}
EXACT = {(0.01, 1e-5): 0.4969753890601919, (1.0, 1e-5): 6.572970071144048}  # of one Gaussian: no bound is below it


@pytest.mark.parametrize(("known", "epsilon"), OPENDP.items())
def test_epsilon_is_that_of_opendp(known: tuple[float, float], epsilon: float) -> None:
    assert epsilon_of(*known) == pytest.approx(epsilon, rel=1e-9)
    assert rho_of(epsilon, known[1]) == pytest.approx(known[0], rel=1e-9)


@pytest.mark.parametrize(("known", "epsilon"), DP_ACCOUNTING.items())
def test_epsilon_is_that_of_dp_accounting_as_far_as_its_orders_are_fine(
    known: tuple[float, float], epsilon: float
) -> None:
    assert epsilon_of(*known) <= epsilon
    assert epsilon_of(*known) == pytest.approx(epsilon, rel=1e-4)


@pytest.mark.parametrize(("known", "epsilon"), EXACT.items())
def test_it_is_no_less_than_one_gaussian_is_worth(known: tuple[float, float], epsilon: float) -> None:
    assert epsilon < epsilon_of(*known) < 1.2 * epsilon


def test_no_cost_is_no_epsilon_and_more_cost_is_more() -> None:
    assert epsilon_of(0.0) == 0.0
    assert epsilon_of(0.1) < epsilon_of(0.2) < epsilon_of(0.1) * 2
    assert epsilon_of(rho_of(2.0)) <= 2.0


def test_the_ledger_by_hand() -> None:
    ledger = Ledger.of(2.0, 21, 33)
    assert ledger.rho == pytest.approx(0.10825636, abs=1e-8)  # as OpenDP has it for 2 at 1e-5
    assert ledger.multiplier == pytest.approx(1 / math.sqrt(2 * 0.10825636), rel=1e-6)
    assert ledger.clip == pytest.approx(CLIP * math.sqrt(33))
    assert (ledger.delta, ledger.parties, ledger.honest, ledger.numbers) == (DELTA, 21, 11, 33)
    assert multiplier_of(2.0) ** 2 * 2 * ledger.rho == pytest.approx(1.0)


@pytest.mark.parametrize(("parties", "honest"), [(20, 10), (21, 11), (100, 50)])
def test_half_of_the_parties_must_be_honest(parties: int, honest: int) -> None:
    assert honest_of(parties) == honest


def test_from_twenty_parties_on() -> None:
    assert too_few_for_noise(20) is None
    assert "epsilon needs 20 parties" in str(too_few_for_noise(19))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 101.0])
def test_what_is_no_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon must be"):
        Ledger(epsilon, DELTA, 0.1, 33, 0.1, 1.0, 20, 10)
