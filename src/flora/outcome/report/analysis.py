"""What a report computes beyond ``result.json``: the surface again, its slices, its HPs' importance, the agreement."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.recommend import Recommendation, recommend
from flora.aggregator.surface import LossSurface, SurfaceChoice, SurfaceKind, learnt
from flora.aggregator.surfaces.kinds import Learning, per_party
from flora.errors import InputError
from flora.models import FAMILIES, family_of
from flora.outcome.report.axes import Axis, axes_of
from flora.problem.path import Path, family_path
from flora.problem.space import Config, Points, SearchSpace, Value
from flora.problem.trials import PartyTrials
from flora.program.result import Result
from flora.randomness import stream
from flora.surrogate.importance import Importance, importance_of
from flora.surrogate.regressors import Regressor

Matrix = NDArray[np.float64]
MOST_HPS = 12  # on maps and in panels: the most important ones
MOST_LEFT_OUT = 10  # parties; each that is left out takes a search of its own
MOST_COMPARED = 100  # parties with each other: of pairs there would be too many for a page
MOST_POINTS, FEWEST_POINTS = 30_000, 6_000  # of all maps together
SAMPLE = 1_000  # points at which parties' surfaces are compared
BEST_SHARE = 0.1  # of a party's surface is its best region


@dataclass(frozen=True)
class Slice:
    """The surface along one HP, all others as recommended."""

    axis: Axis
    values: list[Value]
    losses: Matrix
    errors: Matrix


@dataclass(frozen=True)
class SurfaceView:
    """A surface, the trials that it was learnt from, and the config on it that is looked at."""

    trials: tuple[PartyTrials, ...]  # sorted by party
    space: SearchSpace
    surface: SurfaceKind
    measured: Config  # the recommendation as the parties measured it: its place on a surface made of their losses
    seed: int
    regressor: str
    path: Path | None  # what the fits of the trials passed through

    @property
    def point(self) -> Points:
        """The place of the config: (1, d)."""
        return self.space.encode([self.measured])

    @cached_property
    def own(self) -> tuple[Regressor, ...]:
        """Each party's own surface, from its trials alone."""
        return self.surface.parts or per_party(self.trials, self.space, self.seed, Learning(self.regressor))

    @cached_property
    def importance(self) -> tuple[Importance, ...]:
        """The importance of each HP, in the space's order."""
        samples = _samples(len(self.trials), len(self.space.names))
        return importance_of(self.surface, self.space, partial(stream, self.seed, "report", "importance"), samples)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The HPs that are drawn: all, or the most important ones, in the space's order."""
        axes = axes_of(self.space)
        ranked = sorted(range(len(axes)), key=lambda k: (-self.importance[k].total, k))
        return tuple(axes[k] for k in sorted(ranked[:MOST_HPS]))

    @cached_property
    def sample(self) -> Points:
        """Random points at which parties are compared: (n, d)."""
        return self.space.sample(stream(self.seed, "report", "sample"), SAMPLE)

    @cached_property
    def compared(self) -> tuple[int, ...]:
        """The places of the parties whose surfaces are compared: all, or some that are evenly spaced by name."""
        count = len(self.trials)
        places = np.linspace(0, count - 1, min(count, MOST_COMPARED)).round().astype(int)
        return tuple(places.tolist())

    @property
    def compared_names(self) -> list[str]:
        """The names of the parties whose surfaces are compared."""
        return [self.trials[place].party for place in self.compared]

    @cached_property
    def opinions(self) -> Matrix:
        """What each compared party's own surface says at the sample: (parties, n)."""
        return np.array([self.own[place].mean(self.sample) for place in self.compared])

    def slices(self) -> list[Slice]:
        """Return the surface along each HP, through the recommendation."""
        return [self._slice(axis, axis.grid(61)) for axis in self.axes]

    def _slice(self, axis: Axis, values: list[Value]) -> Slice:
        points = axis.through(self.point, values)
        return Slice(axis, values, self.surface(points), self.surface.error(points))

    def maps(self) -> dict[tuple[int, int], Matrix]:
        """Return the surface over each two drawn HPs, the others as recommended: (across, up) -> (up, across)."""
        pairs = [(i, j) for i in range(len(self.axes)) for j in range(i + 1, len(self.axes))]
        if not pairs:
            return {}
        grids = self.map_grids()
        points = [self._plane(self.axes[i], grids[i], self.axes[j], grids[j]) for i, j in pairs]
        losses = np.split(self.surface(np.vstack(points)), np.cumsum([len(plane) for plane in points])[:-1])
        return {(i, j): z.reshape(len(grids[j]), len(grids[i])) for (i, j), z in zip(pairs, losses, strict=True)}

    def map_grids(self) -> list[list[Value]]:
        """Return the values of each drawn HP on the maps: fewer, the more maps and parties there are."""
        pairs = max(1, len(self.axes) * (len(self.axes) - 1) // 2)
        points = np.clip(300_000 // len(self.trials), FEWEST_POINTS, MOST_POINTS) // pairs
        return [axis.grid(int(np.clip(points**0.5, 9, 41))) for axis in self.axes]

    def _plane(self, across: Axis, xs: list[Value], up: Axis, ys: list[Value]) -> Points:
        rows = up.through(self.point, ys)
        return np.vstack([across.through(row[None, :], xs) for row in rows])

    def agreement(self) -> Matrix:
        """Return Spearman's rank correlation of compared surfaces; NaN where one is flat: (parties, parties)."""
        from scipy.stats import rankdata

        ranks = rankdata(self.opinions, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            matrix = np.atleast_2d(np.corrcoef(ranks))
        return np.asarray(np.clip(matrix, -1, 1))

    def best_regions(self) -> list[list[Config]]:
        """Return, for each compared party, the sampled configs that its own surface holds to be the best tenth."""
        count = int(BEST_SHARE * SAMPLE)
        lowest = np.argsort(self.opinions, axis=1, kind="stable")[:, :count]
        return [self.space.decode(self.sample[rows]) for rows in lowest]


@dataclass(frozen=True)
class Analysis(SurfaceView):
    """A finished run, with its surface learnt again from the parties' trials."""

    result: Result

    @classmethod
    def of(cls, result: Result, trials: Sequence[PartyTrials]) -> "Analysis":
        """Check that the trials are the run's own, and learn its surface again."""
        ordered = tuple(sorted(trials, key=lambda party: party.party))
        _check_own(result, ordered)
        return cls.with_surface(result, ordered, _fit(result, ordered))

    @classmethod
    def with_surface(cls, result: Result, trials: tuple[PartyTrials, ...], surface: SurfaceKind) -> "Analysis":
        """Return a run whose surface is given."""
        space = trials[0].space
        path = family_path(space, family_of(result.family)) if result.family in FAMILIES else None
        return cls(trials, space, surface, result.measured_config, result.seed, result.regressor, path, result)

    @property
    def config(self) -> Config:
        """The recommendation."""
        return self.result.config

    def left_out(self) -> list[tuple[str, Recommendation, float]]:
        """Return, for each party, what the others alone recommend, and how much worse the whole surface finds it.

        Empty where there is one party, or where there are many.
        """
        if not 2 <= len(self.trials) <= MOST_LEFT_OUT:
            return []
        found = []
        for place, party in enumerate(self.trials):
            others = self.trials[:place] + self.trials[place + 1 :]
            tried = [trial.config for other in others for trial in other.trials]
            answer = recommend(self.without(place), self.space, self.seed, start=tried)
            ours, theirs = self.surface(np.vstack([self.point, self.space.encode([answer.config])]))
            found.append((party.party, answer, float(theirs - ours)))
        return found

    def without(self, place: int) -> LossSurface:
        """Return the surface of all parties but one, as it is learnt from the others' trials.

        A party's own regressor depends on its own trials alone, so that nothing need be learnt again.
        """
        others = self.surface.without(place)
        if others is not None:
            return others
        return _fit(self.result, _drop(self.trials, place))


def _samples(parties: int, hps: int) -> int:
    return int(np.clip(300_000 // parties // (hps + 2), 128, 1_024))


def _drop(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return items[:place] + items[place + 1 :]


def _fit(result: Result, trials: tuple[PartyTrials, ...]) -> SurfaceKind:
    choice = SurfaceChoice(result.surface, result.regressor, result.alpha, result.weights)
    return learnt(choice, trials, trials[0].space, result.seed)


def _check_own(result: Result, trials: tuple[PartyTrials, ...]) -> None:
    if not trials:
        raise InputError("a report needs the trials of at least one party, got none")
    stated = {entry.name: entry.trials_digest for entry in result.parties}
    found = {party.party: party.digest for party in trials}
    for name in sorted(stated.keys() | found.keys()):
        if stated.get(name) != found.get(name):
            raise InputError(f"party {name!r:.80}: the result was not made from these trials")
    trials[0].space.check(result.config)
