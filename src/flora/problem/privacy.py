"""How much the sums of a private search tell of a party: epsilon, the noise that it takes, and the ledger.

Two runs are neighbours where one party's shares are all zeros in one of them: what is hidden is whether a party's
numbers are in the sums, and so what they are. Noise with a standard deviation of s on numbers whose norm is at most c
costs rho = (c / s)^2 / 2 (zero-concentrated differential privacy; Bun and Steinke 2016), and costs of several sums
add up. :func:`epsilon_of` says what a rho is worth as epsilon and delta.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Self

from flora.core.rules import Amount, Count, Rule, Sentence, check

FEWEST_UNDER_NOISE = 20  # parties: the noise is for all of them together, and fewer would hear nothing but noise
DELTA = 1e-5  # the chance of more than epsilon: well below one in as many parties as there may be
MOST_EPSILON = 100.0  # which is next to no noise
CLIP = 0.01  # of a surface less its mean: the root of its mean square over the points, for losses from 0 to 1
MECHANISM = "noise shared out among the parties, as whole numbers of the discrete Gaussian distribution"

Epsilon = Annotated[float, Rule(f"a number above 0 and at most {MOST_EPSILON:g}", lambda e: 0 < e <= MOST_EPSILON)]


def honest_of(parties: int) -> int:
    """Return how many parties' shares of the noise are enough: half of them, which keep theirs to themselves."""
    return -(-parties // 2)


def clip_of(numbers: int) -> float:
    """Return the largest norm of one party's numbers."""
    return CLIP * math.sqrt(numbers)


def too_few_for_noise(parties: int) -> str | None:
    """Return why so few parties allow no epsilon; None where they are enough."""
    if parties >= FEWEST_UNDER_NOISE:
        return None
    return f"epsilon needs {FEWEST_UNDER_NOISE} parties, for of fewer the sums are mostly noise, and here are {parties}"


def epsilon_of(rho: float, delta: float = DELTA) -> float:
    r"""Return the epsilon that a rho is worth, with a chance of ``delta`` of more.

    The least over :math:`\alpha > 1` of :math:`\alpha\rho + \ln(1 - 1/\alpha) - (\ln\delta + \ln\alpha)/(\alpha - 1)`
    (Canonne, Kamath, Steinke 2020, corollary 13). Any alpha gives a bound that holds.
    """
    if rho <= 0:
        return 0.0

    def bound(order: float) -> float:  # by the logarithm of alpha - 1
        away = math.exp(order)
        return (1 + away) * rho + order - math.log1p(away) - (math.log(delta) + math.log1p(away)) / away

    low, high = -12.0, 16.0
    for _ in range(200):  # thirds: the bound falls, then rises
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if bound(first) <= bound(second) else (first, high)
    return max(bound((low + high) / 2), 0.0)


def rho_of(epsilon: float, delta: float = DELTA) -> float:
    """Return the largest rho, as far as floats can tell, that is worth no more than an epsilon."""
    low, high = 0.0, epsilon  # a rho is worth more than itself, as any delta of use is small
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low


def multiplier_of(epsilon: float) -> float:
    """Return the standard deviation of the noise that an epsilon takes, by the norm of one party's numbers."""
    return 1 / math.sqrt(2 * rho_of(epsilon))


@dataclass(frozen=True)
class Ledger:
    """What a search's sums tell of a party, and on which grounds."""

    epsilon: Epsilon
    delta: Amount  # the chance that it is more
    rho: Amount  # the same in zero-concentrated terms, which add up
    numbers: Count  # that were added up under noise
    clip: Amount  # the largest norm of one party's numbers
    multiplier: Amount  # the standard deviation of the noise that is counted on, by the clip
    parties: Count
    honest: Count  # so many of them must keep their shares of the noise to themselves
    mechanism: Sentence = MECHANISM

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def of(cls, epsilon: float, parties: int, numbers: int) -> Self:
        """Return the ledger of a search."""
        known = (DELTA, rho_of(epsilon), numbers, clip_of(numbers), multiplier_of(epsilon))
        return cls(epsilon, *known, parties, honest_of(parties))
