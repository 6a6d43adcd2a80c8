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
from flora.problem.size_law import MANY
from flora.problem.space import Config
from flora.problem.trials import Gain, paired_gain

SAME_ROWS = 2  # times that chance counts where no guess is known: the config was chosen on the same rows before
SHARPER = 0.7  # times the error of a gain at a party's size is that of models that all rows train; of many parties the
# error is their own spread, which has no term for the rows that folds share, and stands for the other as it is
BORROWED = 6.0  # degrees of freedom, at most, that the parties' own error adds to that of a few folds


@dataclass(frozen=True)
class Training:
    """One federated training: its config as trained, and its loss on rows that the parties held or left out."""

    config: Config
    loss: float | None  # None where none were
    chosen: tuple[str, ...] = ()  # the HPs that it chose itself, by rows held out
    fold: int | None = None  # that it left out; None: it used all rows
    guess: float | None = None  # the loss, on the fold, of the best prediction that looks at no column


@dataclass(frozen=True)
class Comparison:
    """Losses of federated models on the folds that they left out, in the order of the folds."""

    default: tuple[float, ...]
    recommended: tuple[float, ...]  # empty where it is the default
    guesses: tuple[float, ...] = ()  # of the best predictions that look at no column; empty where none is known

    def verdict(self, measured: Gain | None, parties: int) -> Verdict | None:
        """Return what the trainings say; None where there was nothing to compare.

        The gain is that of the trainings alone. But a few folds hardly know their own error, and so many parties who
        measured the recommendation on their own rows, if they did, know of it, too. Models that are no better than a
        guess have learnt nothing, and what seems to be gained among them is chance.
        """
        if len(self.recommended) < 2:
            return None
        gain = paired_gain(self.default, self.recommended)
        if measured is not None:
            gain = moderated(gain, measured, 1.0 if parties >= MANY else SHARPER)
        learnt = paired_gain(self.guesses, self.recommended) if self.guesses else None
        return Verdict(gain, "trained", 1 if learnt else SAME_ROWS, learnt)


def moderated(gain: Gain, guess: Gain, times: float) -> Gain:
    r"""Return a gain whose error is no longer that of a few folds alone.

    With :math:`s^2` of :math:`\nu` degrees, and a guess :math:`s_0^2` that is worth :math:`\nu_0` of them, the error is
    :math:`\sqrt{(\nu_0 s_0^2 + \nu s^2) / (\nu_0 + \nu)}` with the degrees of both (Smyth 2004).

    Args:
        gain: What some folds say.
        guess: A gain of the same two configs, paired, on as many rows in all.
        times: What its error is to be multiplied by.
    """
    if guess.error == 0 or gain.degrees is None:
        return gain
    borrowed = BORROWED if guess.degrees is None else min(BORROWED, guess.degrees)
    degrees = borrowed + gain.degrees
    variance = (borrowed * (times * guess.error) ** 2 + gain.degrees * gain.error**2) / degrees
    return Gain(gain.estimate, math.sqrt(variance), degrees)


def mean_loss(losses: Sequence[float]) -> Gain | None:
    """Return the mean of the folds' losses and its standard error; None of fewer than two."""
    if len(losses) < 2:
        return None
    return Gain(float(np.mean(losses)), float(np.std(losses, ddof=1)) / math.sqrt(len(losses)), len(losses) - 1)


def loss_of_training(replies: Sequence[TrainReply], objective: Objective) -> float | None:
    """Return the mean of the parties' losses by their rows, or that of the worst; None where no party has one."""
    return _together([(reply.held_loss, reply.rows) for reply in replies], objective)


def loss_of_guess(replies: Sequence[TrainReply], objective: Objective) -> float | None:
    """Return the same of the best predictions that look at no column."""
    return _together([(reply.guess_loss, reply.rows) for reply in replies], objective)


def _together(losses: Sequence[tuple[float | None, int]], objective: Objective) -> float | None:
    known = [(loss, rows) for loss, rows in losses if loss is not None]
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
