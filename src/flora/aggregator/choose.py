"""Which of the candidates: decided on what all parties measured, for the rows of all of them.

A party's rows need fewer trees and a lower C than those of all do (see ``size_law.py``). So where parties are many,
what they measured stands for a config with more of them. And where the training must stay in the range, candidates are
compared at the part of their path that it will be able to reach, and with the default at its best there: that many
trees it will be given, too.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Self

from flora.aggregator.evidence import ByParty, Confirmed, Measured, Objective, best_of, key_of
from flora.aggregator.verdict import Verdict
from flora.errors import TrialsError
from flora.problem.path import Path, counts_by_held_rows
from flora.problem.size_law import MANY, times_more
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import Gain


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


@dataclass(frozen=True)
class Whole:
    """All parties together, for whose rows a config is chosen."""

    parties: int  # that will train: where one is left out to see what the others say, more than those that measured
    rows: int  # of those that measured
    space: SearchSpace  # with the default
    path: Path | None = None  # what a fit passes through: configs that differ only there are one candidate
    grows: Set[str] = frozenset()  # the HPs whose best values rise with the number of rows, beside the path's
    objective: Objective = "mean"  # of the parties' losses, or that of the worst-off party

    def __post_init__(self) -> None:
        if not self.space.default:
            raise TrialsError("candidates are compared with the default config, and the space has none")

    @classmethod
    def of(cls, rows: Mapping[str, int], space: SearchSpace, *more: Any, **named: Any) -> Self:
        """Return all parties, of whom these are the numbers of rows; ``more`` are the other fields."""
        return cls(len(rows), sum(rows.values()), space, *more, **named)

    @property
    def many(self) -> bool:
        """Whether the parties are so many that their own spread is the error."""
        return self.parties >= MANY

    @property
    def factor(self) -> float:
        """How much more of what grows with the rows a training of all takes."""
        return more_for_all(self.parties, self.objective)

    @property
    def last_stop(self) -> float:
        """How far along the path, at a party's size, the training on all rows will be able to get."""
        if self.path is None or (self.path.open and counts_by_held_rows(self.rows)):
            return math.inf
        return _first_part(self.path, self.factor)

    def groups(self, configs: Sequence[Config]) -> list[list[int]]:
        """Return the places of each candidate's configs, as far along the path as counts."""
        return _grouped(configs, self.path, self.last_stop)

    def references(self, configs: Sequence[Config]) -> list[int]:
        """Return the places of what candidates may be compared with: the default, where more is trained at its best."""
        default = _place(self.space.default, configs)
        if self.factor == 1.0:
            return [default]
        return list(_group_of(self.space.default, configs, self.groups(configs), self.path))


def choose(confirmed: Confirmed, rows: Mapping[str, int], whole: Whole, minimum: Config | None = None) -> Choice:
    """Return the candidate with the highest gain, or the surface's minimum where many lean to it, and all of them.

    Args:
        confirmed: What each party measured, the default first.
        rows: The number of each party's rows.
        whole: All parties together.
        minimum: What the surface alone recommends; many parties lean to it with the ``"mean"``, its objective.

    Raises:
        TrialsError: If there is no default, or a party did not measure it.
    """
    return choose_by(ByParty.of(confirmed, rows, whole.objective, many=whole.many), whole, minimum)


def choose_by(evidence: Measured, whole: Whole, minimum: Config | None = None) -> Choice:
    """Return what some evidence says of the candidates, for all parties together."""
    space, path, factor = whole.space, whole.path, whole.factor
    groups = whole.groups(evidence.configs)
    default = _place(space.default, evidence.configs)
    reference, _ = best_of(evidence, whole.references(evidence.configs), default)
    found = [best_of(evidence, group, reference) for group in groups]
    measured = [(evidence.configs[place], gain) for place, gain in found]
    along = {path.name} if path else set[str]()
    keep_up = _keep_up(evidence, groups, path, factor)
    candidates = tuple(
        Candidate(space.scaled(config, along if k == 0 else along | whole.grows, factor), config, gain, keep_up[k])
        for k, (config, gain) in enumerate(measured)
    )
    eligible = [candidate for candidate in candidates if candidate.keeps_up]
    best = max(eligible, key=lambda candidate: candidate.gain.estimate)
    choice = Choice(candidates, best, sum(map(len, groups)) - 1)
    if minimum is None or whole.objective != "mean" or not whole.many:
        return choice
    return choice.leaning(minimum, path)


def gains_over(
    reference: Config, confirmed: Confirmed, rows: Mapping[str, int], objective: Objective
) -> list[tuple[Config, Gain]]:
    """Return every other config that all parties measured, with its gain over one of them; none where that failed."""
    evidence = ByParty.of(confirmed, rows, objective, many=len(rows) >= MANY)
    places = [k for k, config in enumerate(evidence.configs) if same_config(config, reference)]
    others = [k for k in range(len(evidence.configs)) if k not in places]
    return [(evidence.configs[k], evidence.gain(k, places[0])) for k in others] if places else []


def more_for_all(parties: int, objective: Objective) -> float:
    """Return how much more of what grows with the rows a training takes; the worst-off party's own loss needs none."""
    return times_more(parties) if objective == "mean" else 1.0


def _keep_up(evidence: Measured, groups: Sequence[object], path: Path | None, factor: float) -> list[bool]:
    """Return whether each candidate is not behind the default in the first part of the path; the default is not.

    That the rows of all get so many times further is a rule of thumb. Where they get further still, even the furthest
    training ends in what was the first part at a party's size, and one that learns slowly has run out of trees.
    """
    if path is None or factor == 1.0:
        return [True] * len(groups)
    default, *others = _grouped(evidence.configs, path, _first_part(path, factor))
    reference, _ = best_of(evidence, default, default[0])
    return [True, *(best_of(evidence, group, reference)[1].estimate >= 0 for group in others)]


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
    keys = [key_of(each) for each in configs]
    if key_of(config) not in keys:
        raise TrialsError(f"not all parties measured the default {dict(config)}")
    return keys.index(key_of(config))


def _but_for(path: Path | None, config: Config) -> str:
    """Return a config's key without its place on the path."""
    return key_of({name: value for name, value in config.items() if path is None or name != path.name})


def same_config(one: Config, other: Config) -> bool:
    """Whether two configs are the same: 100 and 100.0 are."""
    return key_of(one) == key_of(other)
