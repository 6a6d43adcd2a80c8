"""What parties measured, put together."""

import numpy as np

from flora.aggregator.evidence import ByParty
from flora.problem.space import Config


def test_a_mean_over_parties_is_the_same_to_the_last_bit_on_every_machine() -> None:
    """A product of matrices is not: BLAS may round once where a product and a sum round twice."""
    rng = np.random.default_rng(1)
    configs: tuple[Config, ...] = tuple({"C": float(k)} for k in range(200))
    gains, shares = rng.normal(size=(3, 200)), np.array([0.5, 0.3, 0.2])
    none = np.zeros((3, 200))
    measured = ByParty(configs, none, gains, none + 0.01, np.full(3, 4.0), shares, "mean", many=False)
    found = [measured.gain(k, 0).estimate for k in range(200)]
    by_hand = [0.0]
    for k in range(1, 200):
        first, second, third = (float(s) * float(g) for s, g in zip(shares, gains[:, k] - gains[:, 0], strict=True))
        by_hand.append(first + second + third)
    assert found == by_hand
