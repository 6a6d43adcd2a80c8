"""What the aggregator concludes from what the parties tried and measured: lines 6 and 7 of the paper, and then some.

The program that drives parties and the one that reads files both end here: that is why they agree to the last digit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from flora.aggregator.choose import Choice, Whole, choose
from flora.aggregator.diagnose import Diagnosis, diagnose
from flora.aggregator.effort import effort_for, starts_of
from flora.aggregator.evidence import Confirmed, Objective
from flora.aggregator.propose import candidates
from flora.aggregator.recommend import Recommendation, recommend, recommendation_at
from flora.aggregator.surface import SurfaceChoice, SurfaceKind, check_compatible, learnt
from flora.aggregator.verdict import Verdict, predicted_verdict, tried_configs
from flora.problem.family import Family
from flora.problem.path import Path, family_path
from flora.problem.privacy import Ledger
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import PartyTrials


@dataclass(frozen=True)
class Searched:
    """What is known of a private search: who could search, and in which space."""

    space: SearchSpace
    rows: Mapping[str, int]  # by party
    ledger: Ledger | None = None  # what the sums cost, where they were under noise


@dataclass(frozen=True)
class Aggregation:
    """One loss surface, what was measured at its best configs, and what follows."""

    trials: tuple[PartyTrials, ...]  # none of a private search
    surface: SurfaceKind
    recommendation: Recommendation  # the surface's minimum, or what was chosen after a confirmation
    verdict: Verdict | None  # None where no default is known
    confirmed: Confirmed = field(default_factory=dict)  # what each party measured, if any was asked
    choice: Choice | None = None
    diagnoses: Mapping[str, Diagnosis] = field(default_factory=dict)
    family: Family | None = None  # None where it is not one of FLoRA's own: then nothing is known of its HPs
    searched: Searched | None = None  # of a private search

    @property
    def space(self) -> SearchSpace:
        """The space, in the order of the first party's HPs, by name."""
        return self.searched.space if self.searched else space_of(self.trials)

    @property
    def sizes(self) -> dict[str, int]:
        """How many rows each party has that the surface is of."""
        return dict(self.searched.rows) if self.searched else {party.party: party.rows or 0 for party in self.trials}

    @property
    def parties(self) -> int:
        """How many parties the surface is of."""
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """How many rows they have together."""
        return sum(self.sizes.values())

    @property
    def path(self) -> Path | None:
        """What the fits of the trials passed through."""
        return family_path(self.space, self.family) if self.family else None

    @property
    def grows(self) -> frozenset[str]:
        """The HPs, beside the path's, whose best values rise with the number of rows."""
        return self.family.grows if self.family else frozenset()

    def propose(self, count: int, seed: int) -> list[Config]:
        """Return the configs that all parties should measure: the surface's minimum, and good ones apart from it."""
        drawn = effort_for(len(self.trials)).drawn
        tried, best = starts_of(self.trials, seed), self.recommendation
        return candidates(
            self.surface, self.space, seed, best=best, count=count, tried=tried, path=self.path, drawn=drawn
        )


def aggregate(
    trials: Sequence[PartyTrials], choice: SurfaceChoice, seed: int, family: Family | None = None
) -> Aggregation:
    """Learn one loss surface from the parties' trials and take its minimum."""
    check_compatible(trials)
    space = space_of(trials)
    surface = learnt(choice, trials, space, seed)
    size = effort_for(len(trials)).size
    minimum = recommend(surface, space, seed, start=starts_of(trials, seed), size=size)
    verdict = predicted_verdict(surface, space, minimum.config, tried_configs(trials)) if space.default else None
    ordered = tuple(sorted(trials, key=lambda party: party.party))
    return Aggregation(ordered, surface, minimum, verdict, family=family)


def conclude(found: Aggregation, confirmed: Confirmed, rows: Mapping[str, int], objective: Objective) -> Aggregation:
    """Choose among the candidates that all parties have measured."""
    whole, minimum = Whole.of(rows, found.space, found.path, found.grows, objective), found.recommendation.config
    choice = choose(confirmed, rows, whole, minimum)
    diagnoses = diagnose(confirmed, rows, whole, choice.chosen.measured, minimum)
    return replace(concluded(found, choice), confirmed=confirmed, diagnoses=diagnoses)


def concluded(found: Aggregation, choice: Choice) -> Aggregation:
    """Return the same with the recommendation and the verdict of a choice."""
    recommendation = recommendation_at(found.surface, found.space, choice.chosen.measured, choice.chosen.config)
    return replace(found, recommendation=recommendation, verdict=choice.verdict, choice=choice)


def space_of(trials: Sequence[PartyTrials]) -> SearchSpace:
    """Return the parties' common space; the order of HPs is the first party's, by name."""
    return min(trials, key=lambda party: party.party).space
