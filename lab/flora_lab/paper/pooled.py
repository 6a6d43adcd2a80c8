"""What configs are worth to a training on all rows, which stands for the federated one, by the authors' protocol."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from flora.core.workers import one_thread
from flora.errors import FloraError
from flora.party.local_search.folds import Fold, folds_of
from flora.party.measure import confirm, measure
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from flora.problem.trials import PartyTrials
from flora_lab.cells import Cell
from flora_lab.paper.as_published import AuthorsModel, FoldedRows
from flora_lab.paper.emulated import counted, uncounted
from flora_lab.paper.searches import PaperSearch, home_of, plan_of
from flora_lab.pieces import POOLED, Bench


@dataclass(frozen=True)
class Pooled:
    """All rows of a cell's dataset, with the folds of the centralised search."""

    rows: FoldedRows
    plan: SearchPlan
    model: AuthorsModel

    @classmethod
    def of(cls, cell: Cell, bench: Bench) -> Self:
        """Return the rows of a cell."""
        home = home_of(cell)
        plan = plan_of(home, bench.protocol, 1)
        return cls(PaperSearch(home, POOLED).rows(bench), plan, AuthorsModel.of(cell.family))

    def score(self, config: Config) -> float:
        """Return a config's score on the folds of the centralised search."""
        [outcome] = measure(self.rows, self.plan, self.model, [config], party=POOLED, purpose="search")
        if outcome.failure is not None:
            raise FloraError(f"{dict(config)} failed on all rows with {outcome.failure}")
        return 1 - outcome.loss_and_error()[0]

    def counted_score(self, config: Config) -> float:
        """Return the same of a training that counts its trees, in each fold by a third of the rows it trains on.

        Such a training begins with as many trees as it may take; ``config`` says how many.
        """
        folds = folds_of(self.rows, self.plan, POOLED, "search")
        return float(np.mean([self._counted(config, fold) for fold in folds]))

    def _counted(self, config: Config, fold: Fold) -> float:
        train, test = (self.rows.take(places) for places in fold)
        found = uncounted(counted(config, {POOLED: train}, self.plan))
        with one_thread():
            [(_, score)] = self.model.score(found, train, test, self.plan.scoring, self.plan.seed)
        return score

    def fresh_scores(self, best: Config) -> tuple[float, float]:
        """Return the scores of the default and of a config on folds that the search has not seen."""
        default, other = confirm(self.rows, self.plan, self.model, [best], party=POOLED)
        return 1 - default.trial.loss, 1 - other.trial.loss


def trainings_to_match(score: float, chance: PartyTrials) -> float:
    """Return how many random trainings it takes, on average, until one is as good: where the first of them stands."""
    as_good = sum(1 - trial.loss >= score for trial in chance.trials)
    return (len(chance.trials) + 1) / (as_good + 1)


def pooled_searches(cell: Cell) -> Sequence[PaperSearch]:
    """Return the centralised search, and the random one."""
    return [PaperSearch(home_of(cell), POOLED, sampler) for sampler in ("tpe", "random")]
