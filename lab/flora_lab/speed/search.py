"""``flora-lab speed search``: a party's search beside what its user would write with Optuna and scikit-learn.

Both have the same trials, folds and jobs, and one thread a job. They take turns, with another seed each time. With one
job the seconds are the process's own, so that other work on the machine weighs less. What their best configs are worth
is measured on folds that neither has seen.
"""

import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from flora.cli.parsed import options_of
from flora.core.workers import Map, at_once, one_thread, workers
from flora.models import family_of
from flora.models.rows import Rows
from flora.party.local_search.folds import folds_of
from flora.party.local_search.optuna_space import config_from, distributions_of
from flora.party.local_search.search import search_locally
from flora.party.measure import measure
from flora.problem.family import PAPER, space_of
from flora.problem.plan import SearchPlan, at_least
from flora.problem.space import Config, Real, SearchSpace
from flora_lab.datasets import data_folder
from flora_lab.machine import about
from flora_lab.speed.trees import a_third
from flora_lab.statistics import spread_of

SCORING = "balanced_accuracy"
ESTIMATOR = "sklearn.linear_model:LogisticRegression"
PLAIN: dict[str, Callable[[Config], Any]] = {  # as a user would write it
    "hgb": lambda config: HistGradientBoostingClassifier(early_stopping=False, **config),
    "svm": lambda config: make_pipeline(MinMaxScaler(), SVC(class_weight="balanced", **config)),
    "mlp": lambda config: make_pipeline(MinMaxScaler(), MLPClassifier(early_stopping=True, random_state=0, **config)),
    ESTIMATOR: lambda config: make_pipeline(MinMaxScaler(), LogisticRegression(**config)),
}
CASES = {"hgb": "eeg-eye-state", "svm": "pc3", "mlp": "pc3", ESTIMATOR: "pc3"}  # a third of each dataset


@dataclass(frozen=True)
class SearchSpeedOptions:
    """What ``flora-lab speed search`` was asked for."""

    data: Path | None
    family: tuple[str, ...]
    tried: int
    folds: int
    repeats: int
    jobs: int

    def __post_init__(self) -> None:
        for name in ("tried", "repeats", "jobs"):
            at_least(name, getattr(self, name), 1)


@dataclass(frozen=True)
class Took:
    """What one search took, and what it is worth."""

    seconds: float
    fits: int
    best: Config
    loss: float


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--family", action="append", default=[], choices=list(CASES), help="(all)")
    parser.add_argument("--folds", type=int, default=10, metavar="K", help="(%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="processes, of both (%(default)s)")


def run(parsed: Namespace) -> None:
    """Measure, and print a table for each family as soon as it is there."""
    options = options_of(SearchSpeedOptions, parsed)
    sys.stdout.write(about("numpy", "scikit-learn", "optuna") + "\n")
    for family in options.family or CASES:
        rows = a_third(CASES[family], data_folder(options.data))
        sys.stdout.write("\n".join(search_lines(family, CASES[family], rows, options)) + "\n")
        sys.stdout.flush()


def search_lines(family: str, dataset: str, rows: Rows, options: SearchSpeedOptions) -> list[str]:
    """Return the table of one family."""
    found: dict[str, list[Took]] = {"Optuna + scikit-learn": [], "FLoRA, all folds": [], "FLoRA, raced": []}
    worth: dict[str, list[float]] = {way: [] for way in found}
    with workers(options.jobs) as spread, one_thread():
        for seed in range(options.repeats):
            plan = usual_plan(family, options, seed)
            found["Optuna + scikit-learn"].append(plainly(rows, plan, options.jobs))
            found["FLoRA, all folds"].append(ours(rows, plan, spread))
            found["FLoRA, raced"].append(ours(rows, replace(plan, race=True), spread))
            outcomes = measure(
                rows,
                replace(plan, paths=False),
                family_of(family),
                [found[way][-1].best for way in found],
                party="a",
                purpose="fresh",
                spread=spread,
            )
            for way, outcome in zip(found, outcomes, strict=True):
                worth[way].append(outcome.loss_and_error()[0])
    base = np.array([took.seconds for took in found["Optuna + scikit-learn"]])
    return [
        f"\nA search of {family}: a third of {dataset}, {len(rows)} x {rows.X.shape[1]} rows, {options.tried} trials "
        f"x {options.folds} folds, {options.jobs} jobs, {options.repeats} seeds",
        "| | seconds: median (least to most) | share of the plain way: median (least to most) | fits | best loss "
        "| on fresh folds |",
        "|---|---|---|---|---|---|",
        *(_line(way, found[way], worth[way], base) for way in found),
    ]


def _line(way: str, found: list[Took], worth: list[float], base: Any) -> str:
    seconds = np.array([took.seconds for took in found])
    shares, fits, loss = seconds / base, np.mean([t.fits for t in found]), np.mean([t.loss for t in found])
    return f"| {way} | {spread_of(seconds)} | {spread_of(shares, 3)} | {fits:.0f} | {loss:.4f} | {np.mean(worth):.4f} |"


def usual_plan(family: str, options: SearchSpeedOptions, seed: int) -> SearchPlan:
    """Return a search of the paper's space, which others have, too, on all folds."""
    if family == ESTIMATOR:
        space = SearchSpace((Real("C", 1e-3, 1e3, "log"), Real("tol", 1e-5, 1e-2, "log")), {"C": 1.0, "tol": 1e-4})
    else:
        space = space_of(family_of(family), "classification", PAPER)
    return SearchPlan(family, "classification", space, SCORING, options.tried, options.folds, seed=seed)


def _clock(jobs: int) -> Callable[[], float]:
    return time.process_time if jobs == 1 else time.perf_counter


def ours(rows: Rows, plan: SearchPlan, spread: Map) -> Took:
    """Return what the product's search takes."""
    clock = _clock(at_once(spread))
    began = clock()
    found = search_locally(rows, plan, family_of(plan.family), party="a", spread=spread)
    seconds = clock() - began
    pairs = {tuple((name, v) for name, v in t.config.items() if name != "max_iter"): t.folds or 0 for t in found.trials}
    return Took(seconds, sum(pairs.values()), found.best.config, found.best.loss)


def plainly(rows: Rows, plan: SearchPlan, jobs: int) -> Took:
    """Return what the same search takes that a user would write: the default first, then Optuna's proposals."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    clock = _clock(jobs)
    began = clock()
    folds = folds_of(rows, plan, "a", "search")  # the same, so that losses can be compared

    def loss(trial: optuna.Trial) -> float:
        config = config_from(plan.space, {n: trial._suggest(n, d) for n, d in distributions_of(plan.space).items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = cross_val_score(PLAIN[plan.family](config), rows.X, rows.y, cv=folds, scoring=SCORING, n_jobs=jobs)
        return float(1 - scores.mean())

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=plan.seed))
    study.enqueue_trial({name: value for name, value in plan.space.default.items() if name != "l2_regularization"})
    study.optimize(loss, n_trials=plan.trials)
    best = config_from(plan.space, study.best_params)
    return Took(clock() - began, plan.trials * plan.folds, best, study.best_value)
