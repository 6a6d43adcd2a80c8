"""Where to look next: what a config may be expected to improve on the best."""

from dataclasses import dataclass

import numpy as np

from flora.problem.space import Points
from flora.surrogate.regressors import Losses, Regressor


@dataclass(frozen=True)
class ExpectedImprovement:
    r"""How much lower than ``best`` a loss may be expected to be, negated, so that its minimum is the proposal.

    :math:`E[\max(b - \ell, 0)] = (b - f)\,\Phi(z) + u\,\varphi(z)` with :math:`z = (b - f) / u`. A config that was
    tried before is worse than any other.
    """

    regressor: Regressor
    tried: Points
    best: float

    def __call__(self, points: Points) -> Losses:
        """Return the negated expected improvement: (n, d) -> (n,)."""
        from scipy.special import ndtr

        gain, deviation = self.best - self.regressor.mean(points), self.regressor.deviation(points)
        deviation = np.maximum(deviation, 1e-12)  # at a trial's own point it may be 0
        z = gain / deviation
        improvement = gain * ndtr(z) + deviation * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        seen = {point.tobytes() for point in self.tried}
        improvement[[point.tobytes() in seen for point in np.ascontiguousarray(points)]] = -deviation.max()
        return np.asarray(-improvement)
