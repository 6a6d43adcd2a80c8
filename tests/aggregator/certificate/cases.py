"""What several tests of the certificate need: one HP, known surfaces and trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials, Trial

Floats = NDArray[np.float64]
LINE = SearchSpace.from_json({"x": {"type": "real", "space": "linear", "range": [0, 1], "default": 0.5}})


@dataclass(frozen=True)
class Known:
    """A regressor, and a surface, that is a given function of the one HP."""

    function: Callable[[Floats], Floats]

    def mean(self, points: Points) -> Floats:
        return self.function(points[:, 0])

    def deviation(self, points: Points) -> Floats:
        return np.zeros(len(points))

    def __call__(self, points: Points) -> Floats:
        return self.mean(points)

    def error(self, points: Points) -> Floats:
        return self.deviation(points)


def party(
    name: str,
    x: Sequence[float],
    losses: Sequence[float],
    rows: int | None = 100,
    error: float | None = None,
    scoring: str = "accuracy",
) -> PartyTrials:
    tried = tuple(Trial({"x": float(a)}, float(b), error) for a, b in zip(x, losses, strict=True))
    return PartyTrials(name, rows, LINE, scoring, tried)


def interpolated(x: Floats, losses: Floats) -> Known:
    order = np.argsort(x)
    return Known(lambda at: np.interp(at, x[order], losses[order]))


def column(*values: float) -> Points:
    return np.array(values)[:, None]
