"""What the parties measured of the candidates, as far as a choice among them needs it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from flora.problem.messages import Confirmation
from flora.problem.space import Config
from flora.problem.trials import Gain

Objective = Literal["mean", "worst"]
TRIMMED = 0.2  # of many parties, at either end: of five, one that lies or is broken moves nothing

Confirmed = Mapping[str, Sequence[Confirmation]]  # by party
Floats = NDArray[np.float64]


class Measured(Protocol):
    """What all parties together say of some configs."""

    @property
    def configs(self) -> tuple[Config, ...]:
        """What all parties have measured."""
        ...

    def gain(self, config: int, reference: int) -> Gain:
        """Return how much lower the loss of one config is than that of another, by their places."""
        ...


def best_of(evidence: Measured, group: Sequence[int], reference: int) -> tuple[int, Gain]:
    """Return the place of the best of some configs, and its gain over the reference."""
    gains = [evidence.gain(k, reference) for k in group]
    best = max(range(len(group)), key=lambda k: gains[k].estimate)
    return group[best], gains[best]


def key_of(config: Config) -> str:
    """Return a text that is the same for the same config: 100 and 100.0 are, and True is no 1."""
    numbers = {n: float(v) for n, v in config.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return repr(sorted({**config, **numbers}.items()))


@dataclass(frozen=True)
class ByParty:
    """Losses and gains over the default by party and config."""

    configs: tuple[Config, ...]
    losses: Floats  # (parties, configs)
    gains: Floats
    errors: Floats  # of the gains
    degrees: Floats  # of freedom of each party's errors
    shares: Floats  # each party's share of all rows
    objective: Objective
    many: bool  # parties: their own spread is the error, and the ends are left out

    @classmethod
    def of(cls, confirmed: Confirmed, rows: Mapping[str, int], objective: Objective, *, many: bool) -> Self:
        """Put what all parties measured side by side; a config that failed at one of them is left out."""
        parties = sorted(confirmed)
        by_config = [{key_of(c.config): c for c in confirmed[party]} for party in parties]
        first = {key: each.config for key, each in by_config[0].items()}
        shared = {key: config for key, config in first.items() if all(key in found for found in by_config)}
        table = [[found[key] for key in shared] for found in by_config]
        counts = np.array([rows[party] for party in parties], dtype=np.float64)
        return cls(
            tuple(shared.values()),
            np.array([[c.trial.loss for c in line] for line in table]),
            np.array([[c.gain for c in line] for line in table]),
            np.array([[c.gain_error for c in line] for line in table]),
            np.array(
                [max(min((c.trial.folds or 2 for c in line), default=2) - 1, 1) for line in table], dtype=np.float64
            ),
            counts / counts.sum(),
            objective,
            many,
        )

    def gain(self, config: int, reference: int) -> Gain:
        """Return how much lower the loss of one config is than that of another, over all parties."""
        if self.objective == "worst":
            worst = int(np.argmax(self.losses[:, config]))
            estimate = float(self.losses[:, reference].max() - self.losses[worst, config])
            error = math.hypot(self.errors[worst, config], self.errors[worst, reference])
            return Gain(estimate, error, float(self.degrees[worst]))
        differences = self.gains[:, config] - self.gains[:, reference]
        if self.many:
            return trimmed_mean(differences, self.shares)
        variances = self.shares**2 * (self.errors[:, config] ** 2 + self.errors[:, reference] ** 2)
        error = math.sqrt(float(variances.sum()))
        mean = float(np.sum(self.shares * differences))  # no @: its last bit hangs on the machine's BLAS
        return Gain(mean, error, joint_degrees(variances, self.degrees))


def trimmed_mean(values: Floats, shares: Floats) -> Gain:
    """Return the mean by rows without the parties at either end, and its standard error."""
    count, cut = len(values), int(TRIMMED * len(values))
    order = np.argsort(values, kind="stable")
    kept = order[cut : count - cut]
    mean = float(np.average(values[kept], weights=shares[kept]))
    apart = np.clip(values, values[kept].min(), values[kept].max()) - mean
    error = math.sqrt(float(np.sum((shares * apart) ** 2)) * count / (count - 1)) / (1 - 2 * cut / count)
    return Gain(mean, error, len(kept) - 1)


def joint_degrees(variances: Floats, degrees: Floats) -> float:
    """Return the degrees of freedom of a sum of variances (Satterthwaite 1946)."""
    total = float(variances.sum())
    shares = variances / total if total > 0 else np.full(len(variances), 1 / len(variances))
    return float(1 / np.sum(shares**2 / degrees))
