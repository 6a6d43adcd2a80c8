"""The surface as it forms: learnt from what the parties have tried so far, again and again while a run goes on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flora.aggregator.recommend import recommend
from flora.aggregator.surface import learnt
from flora.models import FAMILIES, family_of
from flora.outcome.live import Live
from flora.outcome.report.analysis import SurfaceView
from flora.problem.path import family_path
from flora.problem.plan import SearchPlan
from flora.problem.trials import PartyTrials, Trial

FEWEST = 3  # trials of a party before a surface is learnt from them


@dataclass(frozen=True)
class Forming:
    """What is known so far."""

    trials: tuple[PartyTrials, ...]  # sorted by party
    survey: SurfaceView | None  # None: too few trials for a surface

    @property
    def count(self) -> int:
        """The number of pairs that it is learnt from."""
        return sum(len(party.trials) for party in self.trials)


def party_trials(plan: SearchPlan, party: str, trials: Sequence[Trial]) -> PartyTrials | None:
    """Return what a party has tried so far as what it will send; None where that is nothing yet."""
    if not trials:
        return None
    return PartyTrials(party, None, plan.space, plan.scoring, tuple(trials), (), plan.family, plan.task, plan.positive)


def forming(live: Live, trials: Sequence[PartyTrials]) -> Forming:
    """Return the surface of the trials so far, as the run itself would learn it from them."""
    ordered = tuple(sorted(trials, key=lambda party: party.party))
    enough = tuple(party for party in ordered if len(party.trials) >= FEWEST)
    if not enough or live.plan is None:
        return Forming(ordered, None)
    space = live.plan.space
    choice = live.surface if all(party.rows for party in enough) else replace(live.surface, weights="equal")
    surface = learnt(choice, enough, space, live.seed)
    tried = [trial.config for party in enough for trial in party.trials]
    found = recommend(surface, space, live.seed, start=tried)
    path = family_path(space, family_of(live.family)) if live.family in FAMILIES else None
    return Forming(ordered, SurfaceView(enough, space, surface, found.measured, live.seed, choice.regressor, path))
