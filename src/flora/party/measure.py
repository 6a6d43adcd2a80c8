"""A party's second look: a few configs and the default, measured on the same fresh folds.

Differences on the same folds are far surer than losses, and no fold has been searched on: nothing flatters.
"""

from collections.abc import Sequence

from flora.core.workers import Map, one_by_one
from flora.errors import FloraError
from flora.models.family import ModelFamily
from flora.models.rows import Rows
from flora.party.local_search.folds import Tried, folds_of, try_configs
from flora.problem.messages import Confirmation
from flora.problem.path import along, path_of
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from flora.problem.trials import Trial, paired_gain


def confirm(
    rows: Rows,
    plan: SearchPlan,
    family: ModelFamily,
    configs: Sequence[Config],
    *,
    party: str,
    spread: Map = one_by_one,
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
    family: ModelFamily,
    configs: Sequence[Config],
    *,
    party: str,
    purpose: str,
    spread: Map = one_by_one,
) -> list[Tried]:
    """Return what came of each config; ``purpose`` names the folds (``"search"`` are those of the search)."""
    folds, path = folds_of(rows, plan, party, purpose), path_of(plan, family.passes_through)
    return [try_configs(family, along(config, path), rows, folds, plan, (party, purpose), spread) for config in configs]


def _compared(outcome: Tried, default: Sequence[float], rows: int) -> Confirmation:
    gain = paired_gain(default, outcome.fold_losses)
    trial = Trial(outcome.config, *outcome.loss_and_error(), len(outcome.fold_losses), rows)
    return Confirmation(trial, gain.estimate, gain.error)
