"""What the aggregator concludes from what the parties tried and measured: lines 6 and 7 of the paper, and then some.

The program that drives parties and the one that reads files both end here: that is why they agree to the last digit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flora.candidates import candidates
from flora.choice import Choice, Confirmed, Minimum, Objective, choose
from flora.diagnostics import Diagnosis, diagnose
from flora.growth import family_path
from flora.models import FAMILIES, Family, family_of
from flora.path import Path
from flora.recommendation import Recommendation, recommend
from flora.space import Config, SearchSpace
from flora.surface import LossSurface, SurfaceChoice, check_compatible, fit_surface
from flora.trials import PartyTrials
from flora.verdict import Verdict, predicted_verdict


@dataclass(frozen=True)
class Aggregation:
    """One loss surface, what was measured at its best configs, and what follows."""

    trials: tuple[PartyTrials, ...]
    surface: LossSurface
    recommendation: Recommendation  # the surface's minimum, or what was chosen after a confirmation
    verdict: Verdict | None  # None where no default is known
    confirmed: Confirmed = field(default_factory=dict)  # what each party measured, if any was asked
    choice: Choice | None = None
    diagnoses: Mapping[str, Diagnosis] = field(default_factory=dict)

    @property
    def space(self) -> SearchSpace:
        """The space, in the order of the first party's HPs, by name."""
        return space_of(self.trials)

    def propose(self, count: int, seed: int) -> list[Config]:
        """Return the configs that all parties should measure: the surface's minimum, and good ones apart from it."""
        tried = [trial.config for party in self.trials for trial in party.trials]
        best, path = self.recommendation, path_of_trials(self.trials)
        return candidates(self.surface, self.space, seed, best=best, count=count, tried=tried, path=path)


def aggregate(trials: Sequence[PartyTrials], choice: SurfaceChoice, seed: int) -> Aggregation:
    """Learn one loss surface from the parties' trials and take its minimum."""
    check_compatible(trials)
    space = space_of(trials)
    surface = fit_surface(
        choice.name, trials, space, seed, regressor=choice.regressor, alpha=choice.alpha, weights=choice.weights
    )
    minimum = recommend(surface, space, seed, start=[trial.config for party in trials for trial in party.trials])
    verdict = predicted_verdict(surface, space, minimum.config) if space.default else None
    return Aggregation(tuple(sorted(trials, key=lambda party: party.party)), surface, minimum, verdict)


def conclude(found: Aggregation, confirmed: Confirmed, rows: Mapping[str, int], objective: Objective) -> Aggregation:
    """Choose among the candidates that all parties have measured."""
    space, path, grows = found.space, path_of_trials(found.trials), grows_of_trials(found.trials)
    minimum = Minimum(found.recommendation.config, found.verdict)
    choice = choose(confirmed, rows, space, path=path, grows=grows, objective=objective, minimum=minimum)
    config, measured = choice.chosen.config, choice.chosen.measured
    point = space.encode([measured])  # the surface is one of losses at a party's size
    return Aggregation(
        found.trials,
        found.surface,
        Recommendation(config, float(found.surface(point)[0]), float(found.surface.error(point)[0])),
        choice.verdict,
        confirmed,
        choice,
        diagnose(confirmed, rows, space, measured, path=path, grows=grows, objective=objective, minimum=minimum),
    )


def space_of(trials: Sequence[PartyTrials]) -> SearchSpace:
    """Return the parties' common space; the order of HPs is the first party's, by name."""
    return min(trials, key=lambda party: party.party).space


def path_of_trials(trials: Sequence[PartyTrials]) -> Path | None:
    """Return what the fits of the trials passed through."""
    family = _own_family(trials)
    return family_path(space_of(trials), family) if family else None


def grows_of_trials(trials: Sequence[PartyTrials]) -> frozenset[str]:
    """Return the HPs, beside the path's, whose best values rise with the number of rows."""
    family = _own_family(trials)
    return family.grows if family else frozenset()


def _own_family(trials: Sequence[PartyTrials]) -> Family | None:
    """Return the trials' family if it is FLoRA's own: no module is imported because a file names it."""
    name = trials[0].family
    return family_of(name) if name in FAMILIES else None
