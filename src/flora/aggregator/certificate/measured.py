r"""The bound that is free: how much better the best of the measured configs may be than the one that is trained.

It needs no theorem. The parties measured some configs on the same folds, or trained two of them together, and a gain
over the trained config has an error. The unknown best of :math:`k` configs is compared with the :math:`k - 1` others:
if no one of these comparisons errs by more than its quantile, then the best is at most the highest of all upper ends
above *any* of them, also above one that the same data chose (Hsu 1984). So each quantile is that of
:math:`0.05 / (k - 1)` (Bonferroni), by Student's t.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.choose import gains_over, same_config
from flora.aggregator.evidence import Objective
from flora.aggregator.verdict import SHOWN, quantile
from flora.problem.space import Config
from flora.problem.trials import Gain

Basis = Literal["trained", "measured"]  # on the rows of all, or at each party's own size


@dataclass(frozen=True)
class MeasuredGap:
    """How much less the best of some configs loses, at most, than the config that is trained."""

    basis: Basis
    value: float | None  # None: not below the range
    level: float  # how often such a bound holds
    configs: int  # that were compared, the trained one among them
    rival: Config  # that may be so much better
    gain: float | None  # over the default, at least; None where the default was not compared


def measured_gap(
    trained: Config, others: Sequence[tuple[Config, Gain]], default: Config, basis: Basis, counted: int = 1
) -> MeasuredGap | None:
    """Return the gap to the best of ``others``, by their gains over the trained config; None where there are none.

    Chance counts as often as there are others, or as ``counted`` where the verdict counts it more often.
    """
    if not others:
        return None
    ends = [(_upper(gain, SHOWN / max(len(others), counted)), config) for config, gain in others]
    most, rival = max(ends, key=lambda end: end[0])
    gained = [-end for end, config in ends if same_config(config, default)]
    return MeasuredGap(
        basis,
        max(0.0, most),
        1 - SHOWN,
        len(others) + 1,
        rival if most > 0 else trained,
        gained[0] if gained else 0.0 if same_config(trained, default) else None,
    )


def measured_gaps(
    found: Aggregation, trained: Config, default: Config, objective: Objective
) -> tuple[MeasuredGap, ...]:
    """Return the gaps to the best of what was trained by all parties, and of what each of them measured."""
    both = _compared(found, trained, default), _confirmed(found, trained, default, objective)
    return tuple(gap for gap in both if gap is not None)


def _compared(found: Aggregation, trained: Config, default: Config) -> MeasuredGap | None:
    """Return the gap to the better of recommendation and default, where federated trainings compared the two."""
    if found.verdict is None or found.verdict.basis != "trained":
        return None
    gain, recommended = found.verdict.gain, found.recommendation.config
    if same_config(trained, recommended):
        other = default, Gain(-gain.estimate, gain.error, gain.degrees)
    else:
        other = recommended, gain
    return measured_gap(trained, [other], default, "trained", found.verdict.chosen_from)


def _confirmed(found: Aggregation, trained: Config, default: Config, objective: Objective) -> MeasuredGap | None:
    """Return the gap to the best config of the confirmation; there another config may stand for the trained one."""
    if not found.confirmed:
        return None
    recommended, rows = found.recommendation, {party.party: party.rows or 1 for party in found.trials}
    stands_for_it = recommended.measured if same_config(trained, recommended.config) else trained
    others = gains_over(stands_for_it, found.confirmed, rows, objective)
    return measured_gap(trained, others, default, "measured")


def _upper(gain: Gain, tail: float) -> float:
    return gain.estimate - quantile(tail, gain.degrees) * gain.error
