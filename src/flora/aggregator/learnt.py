"""Whether what is recommended has learnt anything, where no federated models say so: beside a guess that needs no rows.

Trainings in folds know what a guess is worth (``models/guess.py``). Before them, a few scorings tell it without a row.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.evidence import Confirmed, Floats, Objective, joint_degrees, key_of, trimmed_mean
from flora.problem.messages import Confirmation
from flora.problem.size_law import MANY
from flora.problem.space import Config
from flora.problem.trials import Gain, Trial


def beside_guess(found: Aggregation, guesses: Mapping[str, float], objective: Objective) -> Aggregation:
    """Return the conclusion with what the recommendation gains over a guess; as it is where not all guesses are known.

    Args:
        found: What parties measured, or the surface predicts.
        guesses: By party, a loss that a prediction which looks at no column has at most.
        objective: Of the parties' losses.
    """
    if found.verdict is None or not set(found.sizes) <= set(guesses):
        return found
    if found.choice is not None and found.confirmed:
        learnt = measured_learnt(found.choice.chosen.measured, found.confirmed, found.sizes, guesses, objective)
    else:  # parties told sums alone, or measured nothing: the surface's own belief
        parties = sorted(found.sizes)
        guess = float(np.sum(_shares(parties, found.sizes) * _losses(parties, guesses)))
        learnt = Gain(guess - found.recommendation.loss, found.recommendation.error)
    return replace(found, verdict=replace(found.verdict, learnt=learnt))


def measured_learnt(
    config: Config, confirmed: Confirmed, rows: Mapping[str, int], guesses: Mapping[str, float], objective: Objective
) -> Gain:
    """Return how much lower a config's loss is than that of a guess, as the parties measured it on their own rows."""
    parties = sorted(confirmed)
    trials = [_trial(config, confirmed[party]) for party in parties]
    losses, shares = np.array([trial.loss for trial in trials]), _shares(parties, rows)
    gains = _losses(parties, guesses) - losses
    errors = np.array([trial.error or 0.0 for trial in trials])
    degrees = np.array([max((trial.folds or 2) - 1, 1) for trial in trials], dtype=np.float64)
    if objective == "worst":
        worst = int(np.argmax(losses))
        return Gain(float(gains[worst]), float(errors[worst]), float(degrees[worst]))
    if len(parties) >= MANY:
        return trimmed_mean(gains, shares)
    variances = (shares * errors) ** 2
    return Gain(float(np.sum(shares * gains)), math.sqrt(float(variances.sum())), joint_degrees(variances, degrees))


def _shares(parties: Sequence[str], rows: Mapping[str, int]) -> Floats:
    counts = np.array([rows[party] for party in parties], dtype=np.float64)
    shares: Floats = counts / counts.sum()
    return shares


def _losses(parties: Sequence[str], guesses: Mapping[str, float]) -> Floats:
    return np.array([guesses[party] for party in parties])


def _trial(config: Config, said: Sequence[Confirmation]) -> Trial:
    return next(each.trial for each in said if key_of(each.config) == key_of(config))
