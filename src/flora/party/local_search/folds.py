"""How good configs are on one party's rows: folds, fits, and what came of them."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flora.core.workers import Map, at_once, one_thread
from flora.errors import DataError
from flora.models.family import ModelFamily, Scores, ScoresOnTheWay
from flora.models.rows import Rows
from flora.party.local_search.race import Goal, Leader
from flora.problem.path import path_of
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from flora.problem.trials import loss_of
from flora.randomness import derived_seed


@dataclass(frozen=True)
class Tried:
    """What came of one config: a loss for each fold, the same for what its fit passed through, or a failure."""

    config: Config
    fold_losses: tuple[float, ...]
    path: tuple[tuple[Config, tuple[float, ...]], ...] = ()
    seconds: float = 0.0
    failure: str | None = None
    leader: Leader | None = None  # that left it behind before it had all folds

    def led_by_its_best(self) -> Self:
        """Return the same, with the config of the path that did best in front: it is what the sampler learns from."""
        if self.failure is not None:
            return self
        whole = [(self.config, self.fold_losses), *self.path]
        best = min(range(len(whole)), key=lambda k: np.mean(whole[k][1]))
        config, losses = whole.pop(best)
        return replace(self, config=config, fold_losses=losses, path=tuple(whole))

    def apart(self) -> list[Self]:
        """Return the config and each of its path as outcomes of their own."""
        alone = replace(self, path=())
        return [alone, *(replace(alone, config=config, fold_losses=losses) for config, losses in self.path)]

    def loss_and_error(self) -> tuple[float, float]:
        """Return the mean loss over all folds and its standard error."""
        return mean_and_error(self.fold_losses) if self.leader is None else self.leader.loss_and_error(self.fold_losses)


def mean_and_error(losses: Any) -> tuple[float, float]:
    """Return the mean of the folds' losses and its standard error."""
    return float(np.mean(losses)), float(np.std(losses, ddof=1) / math.sqrt(len(losses)))


Fold = tuple[NDArray[np.intp], NDArray[np.intp]]  # the rows to train on, the rows to test on


@runtime_checkable
class Divided(Protocol):
    """Rows whose owner says how they are divided, as a scikit-learn user does who has a splitter."""

    def folds(self, seed: int, purpose: str) -> list[Fold]:
        """Return the folds, the same for the same seed and purpose; others for another purpose where there are any."""
        ...


def folds_of(rows: Rows, plan: SearchPlan, party: str, purpose: str) -> list[Fold]:
    """Return the folds, the same for every config: stratified for classes, with K at most the smallest class."""
    from sklearn.model_selection import KFold, StratifiedKFold

    seed = derived_seed(plan.seed, party, "folds", purpose)
    if isinstance(rows, Divided):
        return rows.folds(seed, purpose)
    count = fold_count(rows, plan.folds)
    splitter = StratifiedKFold if rows.schema.task == "classification" else KFold
    return list(splitter(count, shuffle=True, random_state=seed).split(rows.y, rows.y))


def fold_count(rows: Rows, asked: int) -> int:
    """Return the number of folds that the rows allow: at most the smallest class, or the rows themselves."""
    if isinstance(rows, Divided):
        return asked
    why = no_folds(rows)
    if why:
        raise DataError(f"cross-validation needs at least 2 classes and 2 rows of each, and this party {why}")
    return min(asked, _smallest(rows))


def no_folds(rows: Rows) -> str | None:
    """Return in words why the rows allow no cross-validation, or None where they do."""
    if isinstance(rows, Divided):
        return None
    if rows.schema.task == "classification" and len(np.unique(rows.y)) < 2:
        return "has one class only"
    if _smallest(rows) < 2:
        return "has one row only" if len(rows) < 2 else "has one row only of a class"
    return None


def _smallest(rows: Rows) -> int:
    if rows.schema.task == "classification":
        return int(np.unique(rows.y, return_counts=True)[1].min())
    return len(rows)


@dataclass(frozen=True)
class FoldTask:
    """One fit: all that a worker needs for it."""

    family: ModelFamily
    config: Config
    train: Rows
    test: Rows
    scoring: str
    seed: int
    path: tuple[Config, ...] = ()
    goal: Goal | None = None  # a fit that is lost on its way to it ends there


def score_fold(task: FoldTask) -> Scores | str:
    """Fit and score one fold, in whatever process this is; a fit that fails says why.

    It says so in its answer: what is raised to the search is then a worker's end, never a config's fault.
    """
    try:
        with one_thread():
            if task.goal and isinstance(task.family, ScoresOnTheWay):
                return _until_lost(task, task.goal, task.family)
            return task.family.score(task.config, task.train, task.test, task.scoring, task.seed, task.path)
    except Exception as error:  # whatever a user's estimator may raise
        return f"{type(error).__name__}: {error}"


def _until_lost(task: FoldTask, goal: Goal, family: ScoresOnTheWay) -> Scores:
    """Return the scores of one fit up to where it is lost, if it is."""
    last, heard = max(int(step[goal.name]) for step in (task.config, *task.path)), []
    arguments = (task.config, task.train, task.test, task.scoring, task.seed, task.path)
    for step, score in family.scores_on_the_way(*arguments):
        heard.append((step, score))
        losses = [loss_of(task.scoring, known) for _, known in heard]
        if goal.is_lost([int(step[goal.name]) for step, _ in heard], losses, last):
            break
    return heard


def try_configs(
    family: ModelFamily,
    configs: Sequence[Config],
    rows: Rows,
    folds: Mapping[int, Fold] | Sequence[Fold],
    plan: SearchPlan,
    name: tuple[Any, ...],
    spread: Map,
    leader: Leader | None = None,
) -> Tried:
    """Return what came of a config, and of those on its path; a fit that fails makes a failed trial.

    It is measured on all ``folds``, which are some by their numbers or all of them, or until the ``leader`` leaves it
    behind. Then its path, which ascends, ends where a first fit was lost.
    """
    began = time.perf_counter()
    config, *path = configs
    numbered = dict(folds if isinstance(folds, Mapping) else enumerate(folds))
    passed = path_of(plan, family.passes_through)
    tasks = [
        FoldTask(
            family, config, rows.take(train), rows.take(test), plan.scoring, derived_seed(plan.seed, *name, k),
            tuple(path), leader.goal(passed.name, k) if leader and passed else None,
        )
        for k, (train, test) in numbered.items()
    ]  # fmt: skip
    losses: list[list[float]] = []  # of each fold, along the path
    steps: list[Config] = []
    for answer in _answers(tasks, spread, at_once(spread) if leader else len(tasks)):
        failure = answer if isinstance(answer, str) else None
        if not isinstance(answer, str):
            steps = [step for step, _ in answer][: len(steps) or None]
            losses = [fold[: len(steps)] for fold in (*losses, [loss_of(plan.scoring, score) for _, score in answer])]
            if not np.isfinite(losses[-1]).all():
                failure = f"ArithmeticError: {plan.scoring} is not always finite"
        if failure is not None:
            return Tried(config, (), seconds=time.perf_counter() - began, failure=failure)
        if leader and leader.leaves_behind(losses):
            break
    whole = [(step, tuple(fold[k] for fold in losses)) for k, step in enumerate(steps)]
    behind = leader if len(losses) < len(folds) else None
    return Tried(config, whole[0][1], tuple(whole[1:]), time.perf_counter() - began, leader=behind)


def _answers(tasks: Sequence[FoldTask], spread: Map, count: int) -> Iterator[Scores | str]:
    """Yield each fold's answer, in order; so many are worked on at the same time, whether or not all will be heard."""
    for first in range(0, len(tasks), count):
        yield from spread(score_fold, tasks[first : first + count])
