"""Use the recommendation, or keep the defaults: the one answer that must not be wrong."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flora.space import Config, SearchSpace
from flora.surface import LossSurface
from flora.trials import PartyTrials

Decision = Literal["use", "keep-defaults"]
# By all parties on fresh folds; by the surface alone; or a measured gain within its error, which the surface predicts.
Basis = Literal["measured", "predicted", "measured and predicted"]


@dataclass(frozen=True)
class Gain:
    """How much lower the loss is than the default's (how much higher the score), with its standard error."""

    estimate: float
    error: float

    @property
    def low(self) -> float:
        """One standard error below the estimate."""
        return self.estimate - self.error

    @property
    def high(self) -> float:
        """One standard error above the estimate."""
        return self.estimate + self.error

    def to_json(self) -> dict[str, float]:
        """Return the estimate and the ends of its interval of one standard error."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high, "standard_error": self.error}


@dataclass(frozen=True)
class Verdict:
    """The answer: to use the recommendation takes a gain beyond its standard error, measured or predicted."""

    gain: Gain
    basis: Basis

    @property
    def decision(self) -> Decision:
        """What to do."""
        bar = self.gain.estimate if self.basis == "measured and predicted" else self.gain.low
        return "use" if bar > 0 else "keep-defaults"


def predicted_verdict(surface: LossSurface, space: SearchSpace, config: Config) -> Verdict:
    """Return the verdict where no party can be asked again: what the surface says at both configs."""
    points = space.encode([space.default, config])
    (default, recommended), errors = surface(points), surface.error(points)
    return Verdict(Gain(float(default - recommended), math.hypot(*map(float, errors))), "predicted")


def gamma(trials: Sequence[PartyTrials]) -> float | None:
    r"""Return :math:`\gamma_p = (1 - \min_i L^{(i)}_\star) / (1 - \max_i L^{(i)}_\star)` of section 5.

    It is 1 where the parties reach the same loss. None where a best loss is 1 or more, as for some regressions.
    """
    best = [party.best.loss for party in trials]
    return (1 - min(best)) / (1 - max(best)) if max(best) < 1 else None
