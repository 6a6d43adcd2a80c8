"""A party's own learning curve: what its loss would have been with fewer rows, measured on its folds.

The theorem takes the loss of a model trained on one party's rows for that of one trained on all rows. How wrong that
is, a party can only guess from how its loss falls with more rows. What leaves is (rows, mean loss, standard error).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flora.core.workers import Map, one_by_one
from flora.errors import FloraError, InputError
from flora.models.family import ModelFamily, Scores
from flora.models.rows import Rows
from flora.party.local_search.folds import Fold, FoldTask, folds_of, score_fold
from flora.problem.learning_curve import CurvePoint, LearningCurve
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from flora.problem.trials import loss_of
from flora.randomness import derived_seed, stream

SIZES = (0.25, 0.5, 1.0)
MOST_PIECES = 4  # a small size is tried on this many sub-samples without a row in common
Places = NDArray[np.intp]


def learning_curve(
    rows: Rows,
    plan: SearchPlan,
    family: ModelFamily,
    config: Config,
    *,
    party: str,
    sizes: Sequence[float] = SIZES,
    spread: Map = one_by_one,
) -> LearningCurve:
    """Return the config's losses at growing shares of the party's rows.

    All sizes are scored on the same test folds, unseen before. One that loses a class, or a fit, is left out.

    Args:
        rows: The party's rows.
        plan: The search that was done; it gives the scoring, the folds and the seed.
        family: The kind of model.
        config: Its HPs.
        party: The party's name; it decides its streams of randomness.
        sizes: Shares of the rows, each above 0 and at most 1.
        spread: Shares out the fits.
    """
    for size in sizes:
        if not 0 < size <= 1:
            raise InputError(f"a learning curve's sizes are shares of the rows, above 0 and at most 1, got {size}")
    folds = folds_of(rows, plan, party, "curve")
    points: dict[int, CurvePoint] = {}
    failure = "a class has too few rows to be divided"
    for size in sorted(set(sizes)):
        tasks = [
            FoldTask(family, config, rows.take(piece), rows.take(folds[k][1]), plan.scoring, seed)
            for k, piece, seed in _pieces(rows, folds, size, plan.seed, party)
        ]
        answers = spread(score_fold, tasks)
        failure = next((answer for answer in answers if isinstance(answer, str)), failure)
        point = _point(tasks, answers, len(folds), plan.scoring)
        points |= {} if point is None else {point.rows: point}
    if not points:
        raise FloraError(f"party {party!r}: no learning curve of {dict(config)}, {failure}")
    return LearningCurve(party, config, tuple(points.values()))


def _pieces(rows: Rows, folds: Sequence[Fold], size: float, seed: int, party: str) -> list[tuple[int, Places, int]]:
    """Return (fold, training rows, seed) of each fit, fold by fold; none where a piece would lack a class."""
    dealt = [_deal(rows, train, size, stream(seed, party, "curve", k)) for k, (train, _) in enumerate(folds)]
    if rows.schema.task == "classification":
        classes = len(np.unique(rows.y))
        if any(len(np.unique(rows.y[piece])) < classes for pieces in dealt for piece in pieces):
            return []
    return [
        (k, piece, derived_seed(seed, party, "curve", k, str(size), number))
        for k, pieces in enumerate(dealt)
        for number, piece in enumerate(pieces)
    ]


def _deal(rows: Rows, train: Places, size: float, rng: np.random.Generator) -> list[Places]:
    """Return sub-samples of a fold's training rows, with no row in common, and alike in their classes."""
    order = rng.permutation(train)
    if rows.schema.task == "classification":  # sorted by class: every so many-th row is then a stratified sample
        order = order[np.argsort(rows.y[order], kind="stable")]
    pieces = min(MOST_PIECES, int(1 / size))
    count = max(1, min(round(size * len(train)), len(train) // pieces))
    places = (np.arange(count * pieces) * len(train) // (count * pieces)).reshape(count, pieces)
    return [np.sort(order[places[:, k]]) for k in range(pieces)]


def _point(tasks: Sequence[FoldTask], answers: Sequence[Scores | str], folds: int, scoring: str) -> CurvePoint | None:
    """Return one size's loss, with the standard error over the folds; None where it was not measured everywhere."""
    losses = np.array([loss_of(scoring, answer[0][1]) for answer in answers if not isinstance(answer, str)])
    if not len(losses) or len(losses) < len(answers) or not np.isfinite(losses).all():
        return None
    by_fold = losses.reshape(folds, -1).mean(axis=1)
    trained = round(float(np.mean([len(task.train) for task in tasks])))
    return CurvePoint(trained, float(by_fold.mean()), float(by_fold.std(ddof=1) / np.sqrt(folds)))
