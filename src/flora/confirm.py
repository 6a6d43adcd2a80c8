"""A party's second look: a few configs and the default, measured on the same fresh folds.

Differences on the same folds are far surer than losses, and no fold has been searched on: nothing flatters.
"""

import math
from collections.abc import Sequence

import numpy as np

from flora.errors import FloraError
from flora.federation import Confirmation
from flora.models import Family
from flora.path import path_of
from flora.plan import SearchPlan
from flora.search import along, folds_of, try_configs
from flora.space import Config
from flora.study import Outcome
from flora.table import Rows
from flora.trials import Trial
from flora.verdict import Gain
from flora.workers import Map, one_by_one


def confirm(
    rows: Rows, plan: SearchPlan, family: Family, configs: Sequence[Config], *, party: str, spread: Map = one_by_one
) -> tuple[Confirmation, ...]:
    """Measure the default and ``configs``, and all that their fits pass through; return gains over the default.

    The default comes first, and must not fail; another config that does is left out.
    """
    tried = measure(rows, plan, family, [plan.space.default, *configs], party=party, purpose="confirm", spread=spread)
    if tried[0].failure is not None:
        raise FloraError(f"party {party!r}: the default config failed with {tried[0].failure}")
    done = [each for outcome in tried if outcome.failure is None for each in outcome.apart()]
    return tuple(_compared(each, tried[0].fold_losses, len(rows)) for each in done)


def measure(
    rows: Rows,
    plan: SearchPlan,
    family: Family,
    configs: Sequence[Config],
    *,
    party: str,
    purpose: str,
    spread: Map = one_by_one,
) -> list[Outcome]:
    """Return what came of each config; ``purpose`` names the folds (``"search"`` are those of the search)."""
    folds, path = folds_of(rows, plan, party, purpose), path_of(plan, family.passes_through)
    return [try_configs(family, along(config, path), rows, folds, plan, (party, purpose), spread) for config in configs]


def paired_gain(default: Sequence[float], losses: Sequence[float]) -> Gain:
    """Return how much lower losses are than the default's on the same folds.

    The error allows for the folds' shared training rows (Nadeau and Bengio 2003).
    """
    gains = np.subtract(default, losses)
    count = len(gains)
    error = math.sqrt((1 / count + 1 / (count - 1)) * float(np.var(gains, ddof=1)))
    return Gain(float(np.mean(gains)), error)


def _compared(outcome: Outcome, default: Sequence[float], rows: int) -> Confirmation:
    gain = paired_gain(default, outcome.fold_losses)
    trial = Trial(outcome.config, *outcome.loss_and_error(), len(outcome.fold_losses), rows)
    return Confirmation(trial, gain.estimate, gain.error)
