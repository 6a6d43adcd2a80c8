"""How many trees: chosen inside the one training, by the parties' summed losses on rows that were held out.

The loss is the scoring's own, or close to it: log loss stops long before a label-based score does. Of numbers of trees
that the held-out rows cannot tell from the best, the largest is taken: on more rows it has more room.
"""

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from flora.core.collective import Collective, Floats
from flora.models.family import Held
from flora.models.rows import Rows

WINDOW = 1.25  # a loss counts with those of up to so many times more or fewer trees: its neighbours' noise is its own
OF_PROBABILITIES = ("log_loss", "roc_auc", "brier", "average_precision", "d2")  # scorings that look at more than labels


def best_tree_count(booster: lgb.Booster, held: Held, collective: Collective) -> int:
    """Return the largest number of trees that is within one standard error of the best, on all parties' rows."""
    losses = row_losses(booster, held, collective)  # (rows, trees)
    sums = _smoothed(collective.allreduce(losses.sum(axis=0)))
    best = int(np.argmin(sums))
    # Row by row against the best: what both get wrong says nothing of which is better.
    errors = np.sqrt(collective.allreduce(((losses - losses[:, [best]]) ** 2).sum(axis=0)))
    return int(np.flatnonzero(sums - sums[best] <= errors)[-1]) + 1


def row_losses(booster: lgb.Booster, held: Held, collective: Collective) -> Floats:
    """Return each held-out row's loss after each tree: (rows, trees)."""
    rows, count = held.rows, booster.current_iteration()
    weights = _weights(held, collective)
    losses = np.zeros((len(rows), count))
    scores: Floats = np.zeros(())
    for k in range(count if len(rows) else 0):
        scores = scores + np.asarray(
            booster.predict(rows.X, start_iteration=k, num_iteration=1, raw_score=True, num_threads=1)
        )
        losses[:, k] = weights * _loss(scores, rows, held.scoring)
    return losses


def _weights(held: Held, collective: Collective) -> Floats:
    """Return each row's weight: for a balanced scoring, classes count the same."""
    rows = held.rows
    if rows.schema.task == "regression":
        return np.ones(len(rows))
    counts = collective.allreduce(np.bincount(rows.y, minlength=len(rows.schema.classes)).astype(np.float64))
    return (1 / np.maximum(counts, 1))[rows.y] if held.scoring.startswith("balanced") else np.ones(len(rows))


def _loss(scores: Floats, rows: Rows, scoring: str) -> Floats:
    """Return each row's squared error, log loss or error of the label."""
    if rows.schema.task == "regression":
        return np.asarray((scores - rows.y) ** 2)
    logits = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
    if any(name in scoring for name in OF_PROBABILITIES):
        return np.asarray(-log_softmax(logits, axis=1)[np.arange(len(rows)), rows.y])
    wrong: NDArray[np.bool_] = logits.argmax(axis=1) != rows.y
    return wrong.astype(np.float64)


def _smoothed(losses: Floats) -> Floats:
    """Return the mean over the neighbours of each number of trees."""
    numbers = np.arange(1, len(losses) + 1)
    first = np.ceil(numbers / WINDOW).astype(int) - 1
    last = np.minimum(np.floor(numbers * WINDOW).astype(int), len(losses))
    total = np.concatenate([[0.0], np.cumsum(losses)])
    return np.asarray((total[last] - total[first]) / (last - first))
