"""Local HPO on one party's rows: line 3 of the paper's algorithm.

A search is a function of the rows, the plan and the party's name; with a budget of time its length is not, but each
trial of it still is. It keeps its trials in an Optuna storage file and writes each one whole, so that a killed search
goes on where it stopped and ends with the very same trials.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from flora.core.workers import Map, one_by_one
from flora.errors import FloraError, InputError
from flora.models.family import ModelFamily
from flora.models.rows import Rows
from flora.party.local_search.finals import finals
from flora.party.local_search.folds import Fold, Tried, folds_of, try_configs
from flora.party.local_search.race import FINAL, SHARP, Leader, race_folds
from flora.party.local_search.study import Study
from flora.problem.path import Path, along, path_of
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from flora.problem.trials import MOST_TRIALS, PartyTrials

Progress = Callable[[str, int, int], None]  # party, trials done, trials asked for


def no_progress(party: str, done: int, total: int) -> None:
    """Show nothing."""


def search_locally(
    rows: Rows,
    plan: SearchPlan,
    family: ModelFamily,
    *,
    party: str,
    storage: FilePath | None = None,
    spread: Map = one_by_one,
    progress: Progress = no_progress,
) -> PartyTrials:
    """Return the party's trials: the default config first, then what the sampler proposes.

    Args:
        rows: The party's rows.
        plan: What is to be searched.
        family: The kind of model.
        party: The party's name; it decides the party's streams of randomness.
        storage: The file that keeps the search; without one a killed search is lost.
        spread: Shares out the folds of a trial.
        progress: Is told after each trial.
    """
    folds = folds_of(rows, plan, party, "search")
    fits = _Fits(rows, plan, family, party, spread, folds)
    path = path_of(plan, family.passes_through)
    searched = path.rest(plan.space) if path else plan.space
    _check_length(plan, path)
    with Study.open(storage, plan, party, rows, searched) as study:
        first = race_folds([len(test) for _, test in folds]) if plan.race else len(folds)
        rules = SHARP if first < len(folds) else FINAL
        progress(party, study.count, plan.trials)
        for number in range(study.count, plan.trials):
            if number and plan.seconds is not None and study.seconds >= plan.seconds:
                break
            leader = study.leader(first, rules) if plan.race else None
            tried = fits.tried(number, along(study.propose(number), path), folds[:first], leader)
            study.add(tried if number == 0 else tried.led_by_its_best())
            progress(party, study.count, plan.trials)
        outcomes = study.tried(plan.trials)
        if first < len(folds):
            outcomes = finals(outcomes, first, len(folds), study.kept(fits.further))
        found = study.party_trials(outcomes, len(rows))
    if not found.trials:
        raise FloraError(f"party {party!r}: every trial failed, the first with {study.first_failure}")
    return found if plan.send is None else found.keep_best(plan.send)


@dataclass(frozen=True)
class _Fits:
    """The fits of a search: each trial has seeds of its own, whenever it is measured."""

    rows: Rows
    plan: SearchPlan
    family: ModelFamily
    party: str
    spread: Map
    folds: Sequence[Fold]

    def tried(
        self,
        number: int,
        configs: Sequence[Config],
        folds: Mapping[int, Fold] | Sequence[Fold],
        leader: Leader | None = None,
    ) -> Tried:
        """Return what came of a trial on some of the folds."""
        name = (self.party, "trial", number)
        return try_configs(self.family, configs, self.rows, folds, self.plan, name, self.spread, leader)

    def further(self, number: int, known: Tried) -> Tried:
        """Return what came of a trial on the folds that it has not been measured on."""
        lacking = {k: self.folds[k] for k in range(len(known.fold_losses), len(self.folds))}
        return self.tried(number, [one.config for one in known.apart()], lacking)


def _check_length(plan: SearchPlan, path: Path | None) -> None:
    first, each = len(along(plan.space.default, path)), len(path.stops) if path else 1
    most = 1 + (MOST_TRIALS - first) // each
    if plan.trials > most:
        why = f", for each has {each} losses" if path else ""
        raise InputError(f"trials must be at most {most}{why}, got {plan.trials}")
