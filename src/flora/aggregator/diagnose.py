"""Who disagrees: how each party's own measurement differs from the others', and what they would choose without it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from flora.aggregator.choose import Whole, choose, same_config
from flora.aggregator.evidence import Confirmed
from flora.aggregator.verdict import Decision
from flora.problem.messages import Confirmation
from flora.problem.space import Config
from flora.surrogate.own_surface import FEW

FAR = 2.0  # standard errors: further from the others than chance would have it


@dataclass(frozen=True)
class Diagnosis:
    """One party beside the others."""

    measured: Confirmation  # the recommendation at this party
    distance: float | None  # of its gain from the others' mean, in standard errors; None where it is alone
    config_without: Config | None  # what the others recommend; None where there are none, or very many
    verdict_without: Decision | None

    @property
    def disagrees(self) -> bool:
        """Whether the party is further from the others than chance would have it."""
        return self.distance is not None and abs(self.distance) > FAR


def diagnose(
    confirmed: Confirmed, rows: Mapping[str, int], whole: Whole, config: Config, minimum: Config | None = None
) -> dict[str, Diagnosis]:
    """Return each party's diagnosis with regard to the recommended ``config``.

    To leave out each of very many parties takes the square of their number, and one of them decides nothing: then only
    their distances are told.
    """
    own = {party: next(c for c in found if same_config(c.config, config)) for party, found in confirmed.items()}
    if len(own) > FEW:
        return _distances_of_many(own)
    found: dict[str, Diagnosis] = {}
    for party, mine in own.items():
        others = {name: each for name, each in own.items() if name != party}
        if not others:
            return {party: Diagnosis(mine, None, None, None)}
        measured, sizes = {name: confirmed[name] for name in others}, {name: rows[name] for name in others}
        left = choose(measured, sizes, replace(whole, rows=sum(sizes.values())), minimum)
        found[party] = Diagnosis(mine, _distance(mine, others), left.chosen.config, left.verdict.decision)
    return found


def _distances_of_many(own: Mapping[str, Confirmation]) -> dict[str, Diagnosis]:
    """Return each party's distance from the others, whose mean and error are those of all without its own."""
    gains = np.array([each.gain for each in own.values()])
    squares = np.array([each.gain_error for each in own.values()]) ** 2
    others = len(own) - 1
    away = gains - (gains.sum() - gains) / others
    errors = np.sqrt(squares + np.maximum(squares.sum() - squares, 0.0) / others**2)
    distances = away / np.maximum(errors, 1e-12)
    return {
        party: Diagnosis(mine, distance, None, None)
        for (party, mine), distance in zip(own.items(), distances.tolist(), strict=True)
    }


def _distance(mine: Confirmation, others: Mapping[str, Confirmation]) -> float:
    gains = [other.gain for other in others.values()]
    error = np.linalg.norm([other.gain_error for other in others.values()]) / len(gains)
    away = mine.gain - float(np.mean(gains))
    return away / max(math.hypot(mine.gain_error, float(error)), 1e-12) if away else 0.0
