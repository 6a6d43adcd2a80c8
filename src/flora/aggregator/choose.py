"""Which of the candidates: decided on what all parties measured, for the rows of all of them.

A party's rows need fewer trees and a lower C than those of all do (see ``size_law.py``). So where parties are many,
what they measured stands for a config with more of them. And where the training must stay in the range, candidates are
compared at the part of their path that it will be able to reach, and with the default at its best there: that many
trees it will be given, too.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.verdict import Verdict
from flora.errors import TrialsError
from flora.problem.messages import Confirmation
from flora.problem.path import Path, counts_by_held_rows
from flora.problem.size_law import MANY, times_more
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import Gain

Objective = Literal["mean", "worst"]
TRIMMED = 0.2  # of many parties, at either end: of five, one that lies or is broken moves nothing

Confirmed = Mapping[str, Sequence[Confirmation]]  # by party
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidate:
    """A config for the rows of all parties, what of it they measured, and what it gains over the default."""

    config: Config
    measured: Config  # the same, but for what grows with the rows: a party needs fewer trees, and a lower C
    gain: Gain
    keeps_up: bool = True  # with the default, in the first part of the path as well: else it is not chosen


@dataclass(frozen=True)
class Choice:
    """What the confirmation round comes to."""

    candidates: tuple[Candidate, ...]  # as they were proposed; the first is the default, with its path
    chosen: Candidate
    chosen_from: int  # configs that were measured and compared, beside the default itself

    @property
    def verdict(self) -> Verdict:
        """Whether the chosen one is worth using."""
        return Verdict(self.chosen.gain, "measured", self.chosen_from)

    def leaning(self, minimum: Config, path: Path | None) -> "Choice":
        """Return the choice of the surface's minimum where its gain is beyond its error and within that of the best.

        Of several gains that differ by less than their error the highest is chance, and many small parties err
        together: what their trials had said before the candidates were measured is the better guide.
        """
        candidate = self._at(minimum, path)
        if candidate is None or candidate.gain.low <= 0 or candidate.gain.estimate < self.chosen.gain.low:
            return self
        return replace(self, chosen=candidate)

    def _at(self, minimum: Config, path: Path | None) -> Candidate | None:
        """Return the candidate that is the surface's minimum, at whatever place on the path; the default is none."""
        others = (candidate for candidate in self.candidates[1:] if candidate.keeps_up)
        return next((c for c in others if _but_for(path, c.measured) == _but_for(path, minimum)), None)


def choose(
    confirmed: Confirmed,
    rows: Mapping[str, int],
    space: SearchSpace,
    *,
    path: Path | None = None,
    grows: Set[str] = frozenset(),
    objective: Objective = "mean",
    minimum: Config | None = None,
    parties: int | None = None,
) -> Choice:
    """Return the candidate with the highest gain, or the surface's minimum where many lean to it, and all of them.

    Args:
        confirmed: What each party measured, the default first.
        rows: The number of each party's rows.
        space: The space, with the default.
        path: What a fit passes through: configs that differ only there are one candidate.
        grows: The HPs whose best values rise with the number of rows, beside the path's.
        objective: Whether the ``"mean"`` of the parties' losses counts, or that of the ``"worst"``-off party.
        minimum: What the surface alone recommends; many parties lean to it with the ``"mean"``, its objective.
        parties: How many will train: where one is left out to see what the others say, more than those that measured.

    Raises:
        TrialsError: If there is no default, or a party did not measure it.
    """
    if not space.default:
        raise TrialsError("candidates are compared with the default config, and the space has none")
    many = (parties or len(rows)) >= MANY
    evidence = _Evidence.of(confirmed, rows, objective, many=many)
    factor = more_for_all(parties or len(rows), objective)
    groups = _grouped(evidence.configs, path, _last_stop(path, rows, factor))
    reference = _place(space.default, evidence.configs)
    if factor > 1:
        reference, _ = evidence.best_of(_group_of(space.default, evidence.configs, groups, path), reference)
    found = [evidence.best_of(group, reference) for group in groups]
    measured = [(evidence.configs[place], gain) for place, gain in found]
    along = {path.name} if path else set[str]()
    keep_up = _keep_up(evidence, groups, path, factor)
    candidates = tuple(
        Candidate(space.scaled(config, along if k == 0 else along | grows, factor), config, gain, keep_up[k])
        for k, (config, gain) in enumerate(measured)
    )
    eligible = [candidate for candidate in candidates if candidate.keeps_up]
    best = max(eligible, key=lambda candidate: candidate.gain.estimate)
    choice = Choice(candidates, best, sum(map(len, groups)) - 1)
    if minimum is None or objective != "mean" or not many:
        return choice
    return choice.leaning(minimum, path)


def gains_over(
    reference: Config, confirmed: Confirmed, rows: Mapping[str, int], objective: Objective
) -> list[tuple[Config, Gain]]:
    """Return every other config that all parties measured, with its gain over one of them; none where that failed."""
    evidence = _Evidence.of(confirmed, rows, objective, many=len(rows) >= MANY)
    places = [k for k, config in enumerate(evidence.configs) if same_config(config, reference)]
    others = [k for k in range(len(evidence.configs)) if k not in places]
    return [(evidence.configs[k], evidence.gain(k, places[0])) for k in others] if places else []


def more_for_all(parties: int, objective: Objective) -> float:
    """Return how much more of what grows with the rows a training takes; the worst-off party's own loss needs none."""
    return times_more(parties) if objective == "mean" else 1.0


@dataclass(frozen=True)
class _Evidence:
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
    def of(cls, confirmed: Confirmed, rows: Mapping[str, int], objective: Objective, *, many: bool) -> "_Evidence":
        """Put what all parties measured side by side; a config that failed at one of them is left out."""
        parties = sorted(confirmed)
        by_config = [{_key(c.config): c for c in confirmed[party]} for party in parties]
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

    def best_of(self, group: Sequence[int], reference: int) -> tuple[int, Gain]:
        """Return the place of the best of some configs, and its gain over the reference."""
        gains = [self.gain(k, reference) for k in group]
        best = max(range(len(group)), key=lambda k: gains[k].estimate)
        return group[best], gains[best]

    def gain(self, config: int, reference: int) -> Gain:
        """Return how much lower the loss of one config is than that of another, over all parties."""
        if self.objective == "worst":
            worst = int(np.argmax(self.losses[:, config]))
            estimate = float(self.losses[:, reference].max() - self.losses[worst, config])
            error = math.hypot(self.errors[worst, config], self.errors[worst, reference])
            return Gain(estimate, error, float(self.degrees[worst]))
        differences = self.gains[:, config] - self.gains[:, reference]
        if self.many:
            return _trimmed_mean(differences, self.shares)
        variances = self.shares**2 * (self.errors[:, config] ** 2 + self.errors[:, reference] ** 2)
        error = math.sqrt(float(variances.sum()))
        return Gain(float(self.shares @ differences), error, _joint_degrees(variances, self.degrees))


def _trimmed_mean(values: Floats, shares: Floats) -> Gain:
    """Return the mean by rows without the parties at either end, and its standard error."""
    count, cut = len(values), int(TRIMMED * len(values))
    order = np.argsort(values, kind="stable")
    kept = order[cut : count - cut]
    mean = float(np.average(values[kept], weights=shares[kept]))
    apart = np.clip(values, values[kept].min(), values[kept].max()) - mean
    error = math.sqrt(float(np.sum((shares * apart) ** 2)) * count / (count - 1)) / (1 - 2 * cut / count)
    return Gain(mean, error, len(kept) - 1)


def _joint_degrees(variances: Floats, degrees: Floats) -> float:
    """Return the degrees of freedom of a sum of variances (Satterthwaite 1946)."""
    total = float(variances.sum())
    shares = variances / total if total > 0 else np.full(len(variances), 1 / len(variances))
    return float(1 / np.sum(shares**2 / degrees))


def _keep_up(evidence: _Evidence, groups: Sequence[object], path: Path | None, factor: float) -> list[bool]:
    """Return whether each candidate is not behind the default in the first part of the path; the default is not.

    That the rows of all get so many times further is a rule of thumb. Where they get further still, even the furthest
    training ends in what was the first part at a party's size, and one that learns slowly has run out of trees.
    """
    if path is None or factor == 1.0:
        return [True] * len(groups)
    default, *others = _grouped(evidence.configs, path, _first_part(path, factor))
    reference, _ = evidence.best_of(default, default[0])
    return [True, *(evidence.best_of(group, reference)[1].estimate >= 0 for group in others)]


def _last_stop(path: Path | None, rows: Mapping[str, int], factor: float) -> float:
    """Return how far along the path, at a party's size, the training on all rows will be able to get."""
    if path is None or (path.open and counts_by_held_rows(sum(rows.values()))):
        return math.inf
    return _first_part(path, factor)


def _first_part(path: Path, factor: float) -> float:
    """Return the last stop at a party's size that stands for a place in the range on the rows of all."""
    return max(path.stops[0], path.stops[-1] / factor)


def _grouped(configs: Sequence[Config], path: Path | None, last: float) -> list[list[int]]:
    """Return the places of each candidate's configs, as far along the path as counts."""
    if path is None:
        return [[k] for k in range(len(configs))]
    groups: dict[str, list[int]] = {}
    for k, config in enumerate(configs):
        groups.setdefault(_but_for(path, config), []).append(k)
    return [[k for k in group if int(configs[k][path.name]) <= last] or group[:1] for group in groups.values()]


def _group_of(
    config: Config, configs: Sequence[Config], groups: Sequence[Sequence[int]], path: Path | None
) -> Sequence[int]:
    """Return the group whose configs differ from this one along the path alone."""
    return next(group for group in groups if _but_for(path, configs[group[0]]) == _but_for(path, config))


def _place(config: Config, configs: Sequence[Config]) -> int:
    keys = [_key(each) for each in configs]
    if _key(config) not in keys:
        raise TrialsError(f"not all parties measured the default {dict(config)}")
    return keys.index(_key(config))


def _but_for(path: Path | None, config: Config) -> str:
    """Return a config's key without its place on the path."""
    return _key({name: value for name, value in config.items() if path is None or name != path.name})


def same_config(one: Config, other: Config) -> bool:
    """Whether two configs are the same: 100 and 100.0 are."""
    return _key(one) == _key(other)


def _key(config: Config) -> str:
    numbers = {n: float(v) for n, v in config.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return repr(sorted({**config, **numbers}.items()))  # True is no 1
