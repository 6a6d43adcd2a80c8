"""Local HPO on one party's rows: line 3 of the paper's algorithm.

A search is a function of the rows, the plan and the party's name. It keeps its trials in an Optuna storage file and
writes each one whole, so that a killed search goes on where it stopped and ends with the very same trials.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.errors import DataError, FloraError
from flora.federation import Confirmation
from flora.models import Family, Scores
from flora.plan import SearchPlan
from flora.randomness import derived_seed
from flora.space import Config
from flora.study import Outcome, Study
from flora.table import Rows
from flora.trials import PartyTrials, Trial, loss_of
from flora.workers import Map, one_by_one, one_thread

Progress = Callable[[str, int, int], None]  # party, trials done, trials asked for
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]  # the rows to train on, the rows to test on


def no_progress(party: str, done: int, total: int) -> None:
    """Show nothing."""


def search_locally(
    rows: Rows,
    plan: SearchPlan,
    family: Family,
    *,
    party: str,
    storage: Path | None = None,
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
    with Study.open(storage, plan, party, rows) as study:
        progress(party, study.count, plan.trials)
        for number in range(study.count, plan.trials):
            config = study.propose(number)
            study.add(_try(family, config, rows, folds, plan, (party, "trial", number), spread))
            progress(party, study.count, plan.trials)
        found = study.party_trials(plan.trials, len(rows))
    if not found.trials:
        first = study.first_failure
        raise FloraError(f"party {party!r}: every trial failed, the first with {first}")
    return found if plan.send is None else found.keep_best(plan.send)


def confirm(
    rows: Rows, plan: SearchPlan, family: Family, configs: Sequence[Config], *, party: str, spread: Map = one_by_one
) -> tuple[Confirmation, ...]:
    """Measure configs and the default on the same folds, which the search has not seen, and return paired gains."""
    tried = measure(rows, plan, family, [plan.space.default, *configs], party=party, purpose="confirm", spread=spread)
    return tuple(_compared(outcome, tried[0].fold_losses, len(rows)) for outcome in tried)


def measure(
    rows: Rows,
    plan: SearchPlan,
    family: Family,
    configs: Sequence[Config],
    *,
    party: str,
    purpose: str,
    spread: Map = one_by_one,
) -> list[Outcome]:
    """Return the fold losses of each config; ``purpose`` names the folds (``"search"`` are those of the search)."""
    folds = folds_of(rows, plan, party, purpose)
    tried = [_try(family, config, rows, folds, plan, (party, purpose), spread) for config in configs]
    for outcome in tried:
        if outcome.failure is not None:
            raise FloraError(f"party {party!r}: {dict(outcome.config)} failed with {outcome.failure}")
    return tried


def _compared(outcome: Outcome, default: Sequence[float], rows: int) -> Confirmation:
    """Return a confirmation; the gain's error allows for the folds' shared training rows (Nadeau and Bengio 2003)."""
    gains = np.subtract(default, outcome.fold_losses)
    count = len(gains)
    error = math.sqrt((1 / count + 1 / (count - 1)) * float(np.var(gains, ddof=1)))
    trial = Trial(outcome.config, *outcome.loss_and_error(), count, rows)
    return Confirmation(trial, float(np.mean(gains)), error)


def folds_of(rows: Rows, plan: SearchPlan, party: str, purpose: str) -> list[Fold]:
    """Return the folds, the same for every config: stratified for classes, with K at most the smallest class."""
    from sklearn.model_selection import KFold, StratifiedKFold

    count = fold_count(rows, plan.folds)
    splitter = StratifiedKFold if rows.schema.task == "classification" else KFold
    folds = splitter(count, shuffle=True, random_state=derived_seed(plan.seed, party, "folds", purpose))
    return list(folds.split(rows.y, rows.y))


def fold_count(rows: Rows, asked: int) -> int:
    """Return the number of folds that the rows allow: at most the smallest class, or the rows themselves."""
    if rows.schema.task == "classification":
        smallest = int(np.unique(rows.y, return_counts=True)[1].min())
    else:
        smallest = len(rows)
    if smallest < 2:
        raise DataError(f"cross-validation needs at least 2 rows of each class, got {smallest}")
    return min(asked, smallest)


@dataclass(frozen=True)
class FoldTask:
    """One fit: all that a worker needs for it."""

    family: Family
    config: Config
    train: Rows
    test: Rows
    scoring: str
    seed: int


def score_fold(task: FoldTask) -> Scores | str:
    """Fit and score one fold, in whatever process this is; a fit that fails says why.

    It says so in its answer: what is raised to the search is then a worker's end, never a config's fault.
    """
    try:
        with one_thread():
            return task.family.score(task.config, task.train, task.test, task.scoring, task.seed)
    except Exception as error:  # whatever a user's estimator may raise
        return f"{type(error).__name__}: {error}"


def _try(
    family: Family,
    config: Config,
    rows: Rows,
    folds: Sequence[Fold],
    plan: SearchPlan,
    name: tuple[Any, ...],
    spread: Map,
) -> Outcome:
    """Return what came of one config on all folds; a fit that fails makes a failed trial, not an end."""
    began = time.perf_counter()
    tasks = [
        FoldTask(family, config, rows.take(train), rows.take(test), plan.scoring, derived_seed(plan.seed, *name, k))
        for k, (train, test) in enumerate(folds)
    ]
    answers = spread(score_fold, tasks)
    seconds = time.perf_counter() - began
    scores = [answer for answer in answers if not isinstance(answer, str)]
    for failure in (answer for answer in answers if isinstance(answer, str)):
        return Outcome(config, (), seconds=seconds, failure=failure)
    path = [
        (scores[0][k][0], tuple(loss_of(plan.scoring, fold[k][1]) for fold in scores)) for k in range(len(scores[0]))
    ]
    if not np.isfinite([losses for _, losses in path]).all():
        return Outcome(config, (), seconds=seconds, failure=f"ArithmeticError: {plan.scoring} is not always finite")
    return Outcome(config, path[0][1], tuple(path[1:]), seconds)
