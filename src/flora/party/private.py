"""A party's part in a private search: its surface and its gains are added to the others', and shown to nobody."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Collective, Floats
from flora.errors import ConsentError
from flora.models.sums import added, fixed_point_sum
from flora.problem.messages import Confirmation
from flora.problem.path import Path
from flora.problem.private_messages import too_few
from flora.problem.size_law import MANY
from flora.problem.space import Config, Points, SearchSpace
from flora.surrogate.regressors import Losses, Regressor
from flora.surrogate.survey import surveyed, watched


@dataclass(frozen=True)
class OwnSurface:
    """What one party believes, and how much it counts."""

    regressor: Regressor
    largest: float  # loss that it has measured, without its sign
    weight: float = 1.0


@dataclass(frozen=True)
class MeanSurface:
    """What all parties believe together, where they have looked."""

    parties: int
    means: Losses
    deviations: Losses


def mean_surface(own: OwnSurface | None, space: SearchSpace, seed: int, collective: Collective) -> MeanSurface:
    """Return the mean of all parties' surfaces, which a party without one of its own helps to add up."""
    weight = own.weight if own else 0.0
    bound = weight * own.largest if own else 0.0
    count, whole, total = added(np.array([float(own is not None), weight, bound]), collective)
    check_enough(count)

    def mean(points: Points) -> Losses:
        values = np.zeros(len(points)) if own is None else weight * own.regressor.mean(points)
        summed = fixed_point_sum(values[None, :], bound, float(total), collective)
        return np.asarray(summed / whole)

    points, means = surveyed(space, seed, mean)
    few = watched(means)
    squares = np.zeros(len(few)) if own is None else weight * (own.regressor.mean(points[few]) - means[few]) ** 2
    return MeanSurface(int(count), means, np.sqrt(added(squares, collective) / whole))


@dataclass(frozen=True)
class MeanGains:
    """What all parties measured together, as the reply has it."""

    parties: int
    configs: tuple[Config, ...]
    gains: Floats  # over the default
    compared: tuple[int, ...]  # the places of the best of each candidate, the default's first
    errors: Floats  # of their gains over the first
    degrees: Floats


@dataclass(frozen=True)
class OwnGains:
    """What one party measured of configs that all know: (configs,); 0 where one failed."""

    rows: float
    failed: Floats
    gains: Floats
    errors: Floats
    degrees: float

    @classmethod
    def of(cls, found: Sequence[Confirmation], configs: Sequence[Config], rows: int) -> Self:
        """Return what was measured, in the order of the configs."""
        known = {_key(each.config): each for each in found}
        line = [known.get(_key(config)) for config in configs]
        folds = min((each.trial.folds or 2 for each in found), default=2)
        return cls(
            float(rows),
            np.array([float(each is None) for each in line]),
            np.array([each.gain if each else 0.0 for each in line]),
            np.array([each.gain_error if each else 0.0 for each in line]),
            float(max(folds - 1, 1)),
        )


@dataclass(frozen=True)
class Candidates:
    """What is measured: groups of configs that one fit passes through, the default's first."""

    groups: tuple[tuple[Config, ...], ...]
    path: Path | None
    last: int | None  # place on the path that counts
    free: bool  # whether the default may be at its best place

    @property
    def configs(self) -> list[Config]:
        """All of them, in order."""
        return [config for group in self.groups for config in group]

    def best(self, gains: Floats, failed: NDArray[np.bool_]) -> list[int]:
        """Return the place of the best of each group that nobody failed at, the default's first."""
        found, first = [], 0
        for number, group in enumerate(self.groups):
            places = range(first, first + len(group))
            first += len(group)
            if failed[places[0]]:  # one fit: all of it fails
                continue
            counted = [k for k, config in zip(places, group, strict=True) if self._counts(config)] or [places[0]]
            found.append(max(counted, key=lambda k: gains[k]) if number or self.free else places[0])
        return found

    def _counts(self, config: Config) -> bool:
        return self.path is None or self.last is None or int(config[self.path.name]) <= self.last


def mean_gains(own: OwnGains | None, candidates: Candidates, collective: Collective) -> MeanGains:
    """Return the mean of all parties' gains by rows, and its error; a party that measured nothing helps to add up.

    The error is asked for of the best of each candidate alone. Among places of one path often one party's gain alone
    changes, and the change of a sum together with that of a sum of squares would tell what that gain is.
    """
    configs = candidates.configs
    zeros = np.zeros(len(configs))
    rows, gains, fell = (own.rows, own.gains, own.failed) if own else (0.0, zeros, zeros)
    total = added(np.concatenate([[float(own is not None), rows, rows**2], rows * gains, fell]), collective)
    (count, whole, squared_rows), sums, falls = total[:3], total[3 : 3 + len(configs)], total[3 + len(configs) :]
    check_enough(count)
    means, failed = sums / whole, falls > 0
    compared = candidates.best(means, failed)
    first, second = np.split(added(_for_errors(own, compared, many=count >= MANY), collective), 2)
    if count >= MANY:
        errors = _spread(first, second, means[compared] - means[compared[0]], squared_rows, count) / whole
        degrees = np.full(len(compared), count - 1)
    else:
        errors, degrees = np.sqrt(first) / whole, first**2 / np.where(second > 0, second, 1.0)
    errors[0] = 0.0
    kept = np.flatnonzero(~failed)
    places = tuple(np.searchsorted(kept, compared).tolist())
    return MeanGains(int(count), tuple(configs[k] for k in kept), means[kept], places, errors, np.maximum(degrees, 1.0))


def check_enough(count: float) -> None:
    """Raise where so few parties add up that one can find out another's share."""
    if why := too_few(int(count)):
        raise ConsentError(why)


def _for_errors(own: OwnGains | None, compared: Sequence[int], *, many: bool) -> Floats:
    """Return what a party adds for the error of the mean: its squared gains, or its errors' squares where few are."""
    if own is None:
        return np.zeros(2 * len(compared))
    places, reference = list(compared), compared[0]
    if many:  # their own spread is the error
        away = own.rows * (own.gains[places] - own.gains[reference])
        return np.concatenate([away**2, own.rows * away])
    variances = own.rows**2 * (own.errors[places] ** 2 + own.errors[reference] ** 2)
    return np.concatenate([variances, variances**2 / own.degrees])


def _spread(squares: Floats, crossed: Floats, means: Floats, squared_rows: float, count: float) -> Floats:
    r"""Return the standard error of sums of n g, from :math:`\sum n^2 g^2`, :math:`\sum n^2 g`, :math:`\sum n^2`."""
    apart = squares - 2 * means * crossed + means**2 * squared_rows
    return np.sqrt(np.maximum(apart, 0.0) * count / (count - 1))


def _key(config: Config) -> str:
    return repr(sorted(config.items()))
