"""Recommended against default, as federated models: each training leaves out a fold of every party's rows.

What parties measure on their own rows is measured at their size. Here both configs are trained by all parties, on the
same rows, and judged on the same rows that neither saw.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flora.aggregator.evidence import Objective
from flora.aggregator.verdict import Verdict
from flora.errors import FloraError
from flora.problem.messages import TrainReply
from flora.problem.space import Config
from flora.problem.trials import Gain, paired_gain

SAME_ROWS = 2  # times that chance counts: on other folds, but on the same rows, the config was chosen before


@dataclass(frozen=True)
class Training:
    """One federated training: its config as trained, and its loss on rows that the parties held or left out."""

    config: Config
    loss: float | None  # None where none were
    chosen: tuple[str, ...] = ()  # the HPs that it chose itself, by rows held out
    fold: int | None = None  # that it left out; None: it used all rows


@dataclass(frozen=True)
class Comparison:
    """Losses of federated models on the folds that they left out, in the order of the folds."""

    default: tuple[float, ...]
    recommended: tuple[float, ...]  # empty where it is the default

    @property
    def verdict(self) -> Verdict | None:
        """What the trainings say; None where there was nothing to compare."""
        if len(self.recommended) < 2:
            return None
        return Verdict(paired_gain(self.default, self.recommended), "trained", SAME_ROWS)


def mean_loss(losses: Sequence[float]) -> Gain | None:
    """Return the mean of the folds' losses and its standard error; None of fewer than two."""
    if len(losses) < 2:
        return None
    return Gain(float(np.mean(losses)), float(np.std(losses, ddof=1)) / math.sqrt(len(losses)), len(losses) - 1)


def loss_of_training(replies: Sequence[TrainReply], objective: Objective) -> float | None:
    """Return the mean of the parties' losses by their rows, or that of the worst; None where no party has one."""
    known = [(reply.held_loss, reply.rows) for reply in replies if reply.held_loss is not None]
    if not known:
        return None
    if objective == "worst":
        return max(loss for loss, _ in known)
    return sum(loss * rows for loss, rows in known) / sum(rows for _, rows in known)


def trained_config(replies: Sequence[TrainReply]) -> Config:
    """Return the config of a training as the parties ended it."""
    configs = [reply.config for reply in replies]
    if any(config != configs[0] for config in configs):
        raise FloraError("the parties ended the training with different configs")
    return configs[0]
