"""Which HPs a surface depends on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flora.problem.space import Points, SearchSpace
from flora.surrogate.regressors import Losses


@dataclass(frozen=True)
class Importance:
    """The share of the surface's variance that an HP makes alone, and with all its interactions."""

    alone: float
    total: float


def importance_of(
    surface: Callable[[Points], Losses], space: SearchSpace, draws: Callable[[str], np.random.Generator], samples: int
) -> tuple[Importance, ...]:
    r"""Return Sobol's indices :math:`V(E(f|x_i))/V(f)` and :math:`E(V(f|x_{-i}))/V(f)`, by pick and freeze.

    Points are uniform in the unit cube, from two generators (``"a"`` and ``"b"``). The estimators are Saltelli's (2010)
    and Jansen's (1999).
    """
    a, b = (space.sample(draws(name), samples) for name in "ab")
    mixed = _each_replaced(a, b, space)
    losses = surface(np.vstack([a, b, *mixed])).reshape(-1, samples)
    losses = losses - losses[:2].mean()
    variance = float(losses[:2].var())
    if variance <= 1e-18:
        return tuple(Importance(0.0, 0.0) for _ in mixed)
    at_a, at_b, at_mixed = losses[0], losses[1], losses[2:]
    alone = np.clip((at_b * (at_mixed - at_a)).mean(axis=1) / variance, 0, 1)
    total = np.clip(((at_a - at_mixed) ** 2).mean(axis=1) / (2 * variance), 0, 1)
    return tuple(Importance(float(s), float(max(s, t))) for s, t in zip(alone, total, strict=True))


def _each_replaced(a: Points, b: Points, space: SearchSpace) -> list[Points]:
    """Return ``a`` with each HP in turn as in ``b``."""
    mixed, first = [], 0
    for parameter in space.parameters:
        columns = slice(first, first := first + parameter.width)
        points = a.copy()
        points[:, columns] = b[:, columns]
        mixed.append(points)
    return mixed
