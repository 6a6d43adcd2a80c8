"""Use the recommendation, or keep the defaults: the one answer that must not be wrong."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flora.aggregator.surface import LossSurface
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import Gain, PartyTrials

Decision = Literal["use", "keep-defaults"]
# By all parties on fresh folds; by the surface alone; or a measured gain within its error, which the surface predicts.
Basis = Literal["measured", "predicted", "measured and predicted"]


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
