"""How many trees: chosen inside the one training, by the parties' summed losses on rows that were held out."""

import lightgbm as lgb
import numpy as np
from scipy.special import log_softmax

from flora.collective import Collective, Floats
from flora.table import Rows


def best_tree_count(booster: lgb.Booster, held: Rows, collective: Collective) -> int:
    """Return the number of iterations with the lowest loss on all parties' held-out rows; the fewest of equals."""
    losses = collective.allreduce(losses_along(booster, held))
    return int(np.argmin(losses)) + 1


def losses_along(booster: lgb.Booster, held: Rows) -> Floats:
    """Return the summed loss on ``held`` after each iteration: log loss for classes, squared error for numbers."""
    count = booster.current_iteration()
    if not len(held):
        return np.zeros(count)
    scores: Floats = np.zeros(())
    losses = []
    for k in range(count):
        scores = scores + np.asarray(
            booster.predict(held.X, start_iteration=k, num_iteration=1, raw_score=True, num_threads=1)
        )
        losses.append(_loss(scores, held))
    return np.array(losses)


def _loss(scores: Floats, held: Rows) -> float:
    if held.schema.task == "regression":
        return float(np.sum((scores - held.y) ** 2))
    logits = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
    return float(-log_softmax(logits, axis=1)[np.arange(len(held)), held.y].sum())
