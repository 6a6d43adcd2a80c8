"""Who disagrees: how each party's own measurement differs from the others', and what they would choose without it."""

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np

from flora.aggregator.choose import Confirmed, Minimum, Objective, choose, same_config
from flora.aggregator.verdict import Decision
from flora.problem.messages import Confirmation
from flora.problem.path import Path
from flora.problem.space import Config, SearchSpace

FAR = 2.0  # standard errors: further from the others than chance would have it


@dataclass(frozen=True)
class Diagnosis:
    """One party beside the others."""

    measured: Confirmation  # the recommendation at this party
    distance: float | None  # of its gain from the others' mean, in standard errors; None where it is alone
    config_without: Config | None  # what the others recommend
    verdict_without: Decision | None

    @property
    def disagrees(self) -> bool:
        """Whether the party is further from the others than chance would have it."""
        return self.distance is not None and abs(self.distance) > FAR


def diagnose(
    confirmed: Confirmed,
    rows: Mapping[str, int],
    space: SearchSpace,
    config: Config,
    *,
    path: Path | None,
    grows: Set[str] = frozenset(),
    objective: Objective,
    minimum: Minimum | None = None,
) -> dict[str, Diagnosis]:
    """Return each party's diagnosis with regard to the recommended ``config``."""
    own = {party: next(c for c in found if same_config(c.config, config)) for party, found in confirmed.items()}
    found: dict[str, Diagnosis] = {}
    for party, mine in own.items():
        others = {name: each for name, each in own.items() if name != party}
        if not others:
            return {party: Diagnosis(mine, None, None, None)}
        left = choose(
            {name: confirmed[name] for name in others},
            {name: rows[name] for name in others},
            space,
            path=path,
            grows=grows,
            objective=objective,
            minimum=minimum,
            parties=len(rows),
        )
        found[party] = Diagnosis(mine, _distance(mine, others), left.chosen.config, left.verdict.decision)
    return found


def _distance(mine: Confirmation, others: Mapping[str, Confirmation]) -> float:
    gains = [other.gain for other in others.values()]
    error = np.linalg.norm([other.gain_error for other in others.values()]) / len(gains)
    away = mine.gain - float(np.mean(gains))
    return away / max(math.hypot(mine.gain_error, float(error)), 1e-12) if away else 0.0
