"""How many trees: chosen inside the one training, by the parties' summed losses on rows that were held out.

The loss is the scoring's own, or close to it: log loss stops long before a label-based score does. Of numbers of trees
that the held-out rows cannot tell from the best, the largest is taken: on more rows it has more room.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from flora.core.collective import Collective, Floats
from flora.models.class_weights import class_totals
from flora.models.family import Held
from flora.models.hgb.model import BoostedTrees, answers
from flora.models.rows import Rows
from flora.models.sums import pooled_sums

WINDOW = 1.25  # a loss counts with those of up to so many times more or fewer trees: its neighbours' noise is its own
OF_PROBABILITIES = ("log_loss", "roc_auc", "brier", "average_precision", "d2")  # scorings that look at more than labels


def best_tree_count(model: BoostedTrees, held: Held, collective: Collective) -> int:
    """Return the largest number of trees that is within one standard error of the best, on all parties' rows."""
    losses = row_losses(model, held, collective)  # (rows, trees)
    sums = _smoothed(pooled_sums(losses, collective))
    best = int(np.argmin(sums))
    # Row by row against the best: what both get wrong says nothing of which is better.
    errors = np.sqrt(pooled_sums((losses - losses[:, [best]]) ** 2, collective))
    return int(np.flatnonzero(sums - sums[best] <= errors)[-1]) + 1


def row_losses(model: BoostedTrees, held: Held, collective: Collective) -> Floats:
    """Return each held-out row's loss after each tree: (rows, trees)."""
    rows, weights = held.rows, _weights(held, collective)
    losses = np.zeros((len(rows), len(model.trees)), order="F")
    if len(rows):
        for k, scores in enumerate(model.staged_scores(rows.X)):
            losses[:, k] = weights * _loss(scores, rows, held.scoring)
    return losses


def _weights(held: Held, collective: Collective) -> Floats:
    """Return each row's weight: its own and, for a balanced scoring, so that classes count the same."""
    rows = held.rows
    own = np.ones(len(rows)) if rows.weights is None else rows.weights
    if rows.schema.task == "regression":
        return own
    totals = class_totals(rows, collective)
    return own * (1 / np.where(totals > 0, totals, 1))[rows.y] if held.scoring.startswith("balanced") else own


def _loss(scores: Floats, rows: Rows, scoring: str) -> Floats:
    """Return each row's squared error, log loss or error of the label."""
    if rows.schema.task == "regression":
        return np.asarray((scores[:, 0] - rows.y) ** 2)
    if any(name in scoring for name in OF_PROBABILITIES):
        logits = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
        return np.asarray(-log_softmax(logits, axis=1)[np.arange(len(rows)), rows.y])
    wrong: NDArray[np.bool_] = answers(scores, rows.schema) != rows.y
    return wrong.astype(np.float64)


def _smoothed(losses: Floats) -> Floats:
    """Return the mean over the neighbours of each number of trees."""
    numbers = np.arange(1, len(losses) + 1)
    first = np.ceil(numbers / WINDOW).astype(int) - 1
    last = np.minimum(np.floor(numbers * WINDOW).astype(int), len(losses))
    total = np.concatenate([[0.0], np.cumsum(losses)])
    return np.asarray((total[last] - total[first]) / (last - first))
