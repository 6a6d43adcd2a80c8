"""Local HPO on one party's rows: line 3 of the paper's algorithm.

A search is a function of the rows, the plan and the party's name. It keeps its trials in an Optuna storage file and
writes each one whole, so that a killed search goes on where it stopped and ends with the very same trials.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.errors import DataError, FloraError, InputError
from flora.models import Family, Scores
from flora.path import Path, path_of
from flora.plan import SearchPlan
from flora.randomness import derived_seed
from flora.space import Config
from flora.study import Outcome, Study
from flora.table import Rows
from flora.trials import MOST_TRIALS, PartyTrials, loss_of
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
    path = path_of(plan, family.passes_through)
    searched = path.rest(plan.space) if path else plan.space
    _check_length(plan, path)
    with Study.open(storage, plan, party, rows, searched) as study:
        progress(party, study.count, plan.trials)
        for number in range(study.count, plan.trials):
            configs = along(study.propose(number), path)
            tried = try_configs(family, configs, rows, folds, plan, (party, "trial", number), spread)
            study.add(tried if number == 0 else tried.led_by_its_best())
            progress(party, study.count, plan.trials)
        found = study.party_trials(plan.trials, len(rows))
    if not found.trials:
        first = study.first_failure
        raise FloraError(f"party {party!r}: every trial failed, the first with {first}")
    return found if plan.send is None else found.keep_best(plan.send)


def _check_length(plan: SearchPlan, path: Path | None) -> None:
    first, each = len(along(plan.space.default, path)), len(path.stops) if path else 1
    most = 1 + (MOST_TRIALS - first) // each
    if plan.trials > most:
        why = f", for each has {each} losses" if path else ""
        raise InputError(f"trials must be at most {most}{why}, got {plan.trials}")


def along(config: Config, path: Path | None) -> list[Config]:
    """Return what one fit scores: the config, then the stops of the path that it is not at."""
    if path is None:
        return [dict(config)]
    stops = path.configs(config)
    if path.name in config:
        return [dict(config), *(stop for stop in stops if stop[path.name] != config[path.name])]
    return stops


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
    path: tuple[Config, ...] = ()


def score_fold(task: FoldTask) -> Scores | str:
    """Fit and score one fold, in whatever process this is; a fit that fails says why.

    It says so in its answer: what is raised to the search is then a worker's end, never a config's fault.
    """
    try:
        with one_thread():
            return task.family.score(task.config, task.train, task.test, task.scoring, task.seed, task.path)
    except Exception as error:  # whatever a user's estimator may raise
        return f"{type(error).__name__}: {error}"


def try_configs(
    family: Family,
    configs: Sequence[Config],
    rows: Rows,
    folds: Sequence[Fold],
    plan: SearchPlan,
    name: tuple[Any, ...],
    spread: Map,
) -> Outcome:
    """Return what came of a config, and of those on its path, on all folds; a fit that fails makes a failed trial."""
    began = time.perf_counter()
    config, *path = configs
    seeds = [derived_seed(plan.seed, *name, k) for k in range(len(folds))]
    tasks = [
        FoldTask(family, config, rows.take(train), rows.take(test), plan.scoring, seed, tuple(path))
        for seed, (train, test) in zip(seeds, folds, strict=True)
    ]
    answers = spread(score_fold, tasks)
    seconds = time.perf_counter() - began
    scores = [answer for answer in answers if not isinstance(answer, str)]
    for failure in (answer for answer in answers if isinstance(answer, str)):
        return Outcome(config, (), seconds=seconds, failure=failure)
    losses = [tuple(loss_of(plan.scoring, fold[k][1]) for fold in scores) for k in range(len(scores[0]))]
    if not np.isfinite(losses).all():
        return Outcome(config, (), seconds=seconds, failure=f"ArithmeticError: {plan.scoring} is not always finite")
    passed = [(scores[0][k][0], losses[k]) for k in range(1, len(losses))]
    return Outcome(config, losses[0], tuple(passed), seconds)
