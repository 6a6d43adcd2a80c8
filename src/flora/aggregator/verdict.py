"""Use the recommendation, or keep the defaults: the one answer that must not be wrong, and how sure it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flora.aggregator.surface import LossSurface
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import Gain, PartyTrials

Decision = Literal["use", "keep-defaults"]
Grade = Literal["shown", "likely", "not shown"]
# By federated trainings on the rows of all; by each party on its own rows; or by the surface alone.
Basis = Literal["trained", "measured", "predicted"]
SHOWN, LIKELY = 0.05, 0.20  # how often, at most, chance alone would show as much
LEVEL = 1 - 2 * SHOWN  # of the interval: its low end is above 0 where a gain is shown


@dataclass(frozen=True)
class Verdict:
    """The answer: to use the recommendation takes a gain that chance alone would not show in four of five cases.

    The best of many looks good by chance. So a gain's probability under chance counts as many times as there were
    configs to choose from (Bonferroni), by Student's t where the error itself was measured by few folds or parties.
    """

    gain: Gain
    basis: Basis
    chosen_from: int = 1  # configs that this evidence chose from, or counts as so many; 0: nothing was tried
    learnt: Gain | None = None  # what the recommendation gains over a guess that looks at no column; None: not known

    @property
    def chance(self) -> float:
        """How probable, at most, so high a gain is where nothing is to be gained."""
        return self._chance(self.gain.estimate)

    @property
    def decision(self) -> Decision:
        """What to do. A gain is none where the models that it was seen with have learnt nothing."""
        return "use" if self.chance <= LIKELY and self.learns else "keep-defaults"

    @property
    def learns(self) -> bool:
        """Whether the recommendation is shown to predict better than a guess, or nobody knows."""
        return self.learnt is None or _probability(self.learnt, self.learnt.estimate) <= SHOWN

    @property
    def grade(self) -> Grade:
        """How sure the decision is: that there is a gain, or that there is none. Nobody measured what is predicted."""
        doubt = self.chance if self.decision == "use" else self._chance(-self.gain.estimate)
        if doubt > LIKELY:
            return "not shown"
        return "likely" if doubt > SHOWN or self.basis == "predicted" else "shown"

    def _chance(self, amount: float) -> float:
        """Return how probable it is, at most, that chance alone moves the best of all that was tried so far."""
        if not self.chosen_from:
            return 1.0
        return min(1.0, _probability(self.gain, amount) * self.chosen_from)

    @property
    def stated(self) -> float:
        r"""The gain as it is stated: what is chosen because it looks good looks better than it is.

        A gain :math:`g` with an error :math:`s` is taken for one of a normal prior with a variance of
        :math:`g^2 - s^2` (empirical Bayes). The best of K has, by chance alone, about :math:`s \sqrt{2 \ln K}`.
        """
        gain, many = self.gain, 1 if self.basis == "trained" else max(self.chosen_from, 1)
        if abs(gain.estimate) <= gain.error or (gain.estimate > 0 and not self.learns):
            return 0.0
        return gain.estimate * max(0.0, 1 - (1 + 2 * math.log(many)) * (gain.error / gain.estimate) ** 2)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the gain lies, at the level of :data:`LEVEL`, for all configs that were chosen from at once."""
        gain = self.gain
        times = -quantile(SHOWN / max(self.chosen_from, 1), gain.degrees)
        return gain.estimate - times * gain.error, gain.estimate + times * gain.error


def _probability(gain: Gain, amount: float) -> float:
    """Return how probable an amount as high is by the gain's error alone; 1 of none."""
    if amount <= 0:
        return 1.0
    if gain.error == 0:
        return 0.0
    from scipy.special import ndtr, stdtr

    away = -amount / gain.error
    return float(ndtr(away) if gain.degrees is None else stdtr(gain.degrees, away))


def quantile(tail: float, degrees: float | None = None) -> float:
    """Return the standard normal number, or Student's t, that so small a share of others lies below."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(tail) if degrees is None else stdtrit(degrees, tail))


def predicted_verdict(surface: LossSurface, space: SearchSpace, config: Config, tried: int) -> Verdict:
    """Return the verdict where no party can be asked again: what a surface of so many tried configs says at both."""
    points = space.encode([space.default, config])
    (default, recommended), errors = surface(points), surface.error(points)
    return Verdict(Gain(float(default - recommended), math.hypot(*map(float, errors))), "predicted", tried)


def tried_configs(trials: Sequence[PartyTrials]) -> int:
    """Return how many configs beside the default the parties have tried."""
    space = trials[0].space
    points = (space.encode([trial.config for trial in party.trials]) for party in trials)
    tried = {point.tobytes() for of_party in points for point in of_party}
    return len(tried - {space.encode([space.default]).tobytes()})


def gamma(trials: Sequence[PartyTrials]) -> float | None:
    r"""Return :math:`\gamma_p = (1 - \min_i L^{(i)}_\star) / (1 - \max_i L^{(i)}_\star)` of section 5.

    It is 1 where the parties reach the same loss. None where a best loss is 1 or more, as for some regressions.
    """
    best = [party.best.loss for party in trials]
    return (1 - min(best)) / (1 - max(best)) if max(best) < 1 else None
