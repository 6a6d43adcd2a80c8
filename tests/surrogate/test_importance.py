"""Sobol's indices of surfaces whose indices are known."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from flora.problem.space import Categorical, Points, Real, SearchSpace
from flora.randomness import stream
from flora.surrogate.importance import importance_of
from flora.surrogate.regressors import Losses

PLAIN = SearchSpace(tuple(Real(name, 0.0, 1.0) for name in "abc"))
DRAWS = partial(stream, 0)


@dataclass(frozen=True)
class Formula:
    """A surface that is a formula of the points."""

    formula: Callable[[Points], Losses]

    def __call__(self, points: Points) -> Losses:
        return np.asarray(self.formula(points))

    def error(self, points: Points) -> Losses:
        return np.zeros(len(points))


def test_of_a_sum_is_each_ones_share_of_the_variance() -> None:
    found = importance_of(Formula(lambda x: x[:, 0] + 2 * x[:, 1]), PLAIN, DRAWS, 4096)
    assert [value.alone for value in found] == pytest.approx([0.2, 0.8, 0.0], abs=0.04)
    assert [value.total for value in found] == pytest.approx([0.2, 0.8, 0.0], abs=0.04)


def test_of_a_pure_interaction_is_nothing_alone() -> None:
    found = importance_of(Formula(lambda x: (x[:, 0] - 0.5) * (x[:, 1] - 0.5)), PLAIN, DRAWS, 4096)
    assert [value.alone for value in found] == pytest.approx([0, 0, 0], abs=0.06)
    assert [value.total for value in found] == pytest.approx([1, 1, 0], abs=0.06)


def test_of_a_flat_surface_is_nothing() -> None:
    found = importance_of(Formula(lambda x: np.full(len(x), 0.3)), PLAIN, DRAWS, 64)
    assert [(value.alone, value.total) for value in found] == [(0, 0)] * 3


def test_a_category_is_one_hp_of_several_axes() -> None:
    space = SearchSpace((Categorical("kind", ("x", "y", "z")), Real("a", 0.0, 1.0)))
    kind, a = importance_of(Formula(lambda x: 10 * x[:, 2] + x[:, 3]), space, DRAWS, 1024)
    assert kind.total > 0.9
    assert 0 < a.total < 0.1
