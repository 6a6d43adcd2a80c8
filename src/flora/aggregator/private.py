"""What the aggregator concludes from sums alone: a private search, in which it knows no party's pairs or gains."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from flora.aggregator.aggregation import Aggregation, Searched, concluded
from flora.aggregator.choose import Whole, choose_by
from flora.aggregator.evidence import Objective
from flora.aggregator.propose import apart, is_default
from flora.aggregator.recommend import recommendation_at
from flora.aggregator.surfaces.kinds import Floats, Learning, Undivided
from flora.aggregator.verdict import predicted_verdict
from flora.errors import TrialsError
from flora.problem.plan import SearchPlan
from flora.problem.privacy import Ledger
from flora.problem.private_messages import ConfirmPrivatelyReply, SurveyReply
from flora.problem.space import Config, Points, SearchSpace
from flora.problem.trials import Gain, PartyTrials
from flora.randomness import derived_seed
from flora.surrogate.minimise import middle_of_lowest
from flora.surrogate.regressors import REGRESSORS, Losses, Regressor
from flora.surrogate.survey import surveyed, surveyed_once, watched

SMOOTH = "gp"  # the regressor that makes a surface of noisy sums


@dataclass(frozen=True)
class SurveyedMean(Undivided):
    """APLM where the parties have looked, from their sums; elsewhere what a regressor learns from that."""

    words: ClassVar[str] = "the mean of the parties' regressors, one for each party (APLM), known from sums alone"
    weighted: ClassVar[bool] = True
    merged: ClassVar[bool] = False
    points: Points
    losses: Losses
    deviations: Losses  # over the parties, at the points of ``watched``
    count: float  # of parties; where they count by their rows, of as many that would count the same
    regressor: str
    seed: int

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Self:  # noqa: ARG003
        """Raise: it is made of sums, and never of trials."""
        raise TrialsError("the surface of a private search is made of sums, not of trials")

    def __call__(self, points: Points) -> Losses:
        """Return the mean of the parties' losses: (n, d) -> (n,)."""
        found = self._between.mean(points)
        for k, point in enumerate(np.ascontiguousarray(points)):
            found[k] = self._known.get(point.tobytes(), found[k])
        return found

    def error(self, points: Points) -> Losses:
        """Return the standard error of the mean, as the parties' spread at the minimum has it: (n, d) -> (n,)."""
        return np.full(len(points), self.deviations[-1] / math.sqrt(max(self.count - 1, 1)))

    @property
    def looked(self) -> int:
        """At how many points the parties were asked."""
        return len(self.points)

    @cached_property
    def minimum(self) -> Points:
        """The lowest point that was looked at: (1, d)."""
        return middle_of_lowest(self.points, self.losses)

    @cached_property
    def _known(self) -> dict[bytes, float]:
        return {point.tobytes(): float(loss) for point, loss in zip(self.points, self.losses, strict=True)}

    @cached_property
    def _between(self) -> Regressor:
        return REGRESSORS[self.regressor](self.points, self.losses, derived_seed(self.seed, "surveyed"))


@dataclass(frozen=True)
class NoisyMean(SurveyedMean):
    """The same under noise, and smooth: a Gaussian process tells what varies over the space from noise, which does not.

    It is of losses less their mean. Its points and losses are those of the smooth surface.
    """

    words: ClassVar[str] = "the mean of the parties' regressors, less its mean over the points, from a sum under noise"
    weighted: ClassVar[bool] = False
    smooth: Regressor
    asked: int  # points

    def __call__(self, points: Points) -> Losses:
        """Return by how much the mean of the parties' losses is above its own mean: (n, d) -> (n,)."""
        return self.smooth.mean(points)

    def error(self, points: Points) -> Losses:
        """Return the standard deviation of the belief in that: (n, d) -> (n,)."""
        return self.smooth.deviation(points)

    @property
    def looked(self) -> int:
        """At how many points the parties were asked: it is known at more."""
        return self.asked


def aggregate_noisy_sums(reply: SurveyReply, rows: Mapping[str, int], plan: SearchPlan, epsilon: float) -> Aggregation:
    """Return the minimum of a smooth surface through what a sum under noise says of the parties' surfaces."""
    told, points = np.array(reply.means, dtype=np.float64), surveyed_once(plan.space, plan.seed)
    if len(told) != len(points):
        raise TrialsError(f"a survey of this space under noise has {len(points)} points, got {len(told)} losses")
    smooth = REGRESSORS[SMOOTH](points, told, derived_seed(plan.seed, "surveyed"))
    everywhere, losses = surveyed(plan.space, plan.seed, smooth.mean)
    deviations = smooth.deviation(everywhere[[int(np.argmin(losses))]])
    known = (everywhere, losses, deviations, reply.parties, SMOOTH, plan.seed)
    surface = NoisyMean(*known, smooth=smooth, asked=len(points))
    minimum = recommendation_at(surface, plan.space, plan.space.decode(surface.minimum)[0])
    verdict = predicted_verdict(surface, plan.space, minimum.config, plan.trials * len(rows))
    ledger = Ledger.of(epsilon, reply.parties, len(points))
    return Aggregation((), surface, minimum, verdict, searched=Searched(plan.space, dict(rows), ledger))


def aggregate_sums(
    reply: SurveyReply, rows: Mapping[str, int], plan: SearchPlan, regressor: str, *, by_rows: bool
) -> Aggregation:
    """Return the minimum of the mean surface over the points at which the parties have looked.

    Args:
        reply: What all parties say alike.
        rows: Those of each party that could search.
        plan: The search.
        regressor: How each party learnt its surface.
        by_rows: Whether parties count by their rows.
    """
    if reply.parties != len(rows):
        raise TrialsError(f"{len(rows)} parties could search, and sums are of {reply.parties}")
    weights = np.array(list(rows.values()) if by_rows else [1.0] * len(rows), dtype=np.float64)
    count = float(weights.sum() ** 2 / (weights**2).sum())
    points, means = _points_of(reply, plan)
    surface = SurveyedMean(points, means, np.array(reply.deviations), count, regressor, plan.seed)
    minimum = recommendation_at(surface, plan.space, plan.space.decode(surface.minimum)[0])
    verdict = predicted_verdict(surface, plan.space, minimum.config, plan.trials * len(rows))
    return Aggregation((), surface, minimum, verdict, searched=Searched(plan.space, dict(rows)))


def _points_of(reply: SurveyReply, plan: SearchPlan) -> tuple[Points, Losses]:
    """Return where the parties have looked: the rule gives the points from the means before them."""
    told = np.array(reply.means, dtype=np.float64)
    heard = 0

    def mean(points: Points) -> Losses:
        nonlocal heard
        heard += len(points)
        if heard > len(told):
            raise TrialsError(f"a survey of this space has more than {len(told)} points")
        return told[heard - len(points) : heard]

    points, means = surveyed(plan.space, plan.seed, mean)
    if heard != len(told) or len(reply.deviations) != len(watched(means)):
        raise TrialsError(f"a survey of this space has {heard} points and {len(watched(means))} deviations")
    return points, means


def propose_from_sums(found: Aggregation, surface: SurveyedMean, count: int) -> list[Config]:
    """Return the configs that all parties should measure: the minimum, and good ones that lie apart from it."""
    space, path = found.space, found.path
    order = np.argsort(surface.losses, kind="stable")
    pool = [found.recommendation.config, *space.decode(surface.points[order])]
    pool = [pool[0], *(config for config in pool[1:] if not is_default(config, space, path))]
    rest = path.rest(space) if path else space
    return [pool[k] for k in apart(rest.encode(pool), range(len(pool)), count)]


@dataclass(frozen=True)
class Summed:
    """Gains of all parties together, where no party's own is known."""

    configs: tuple[Config, ...]
    gains: Floats
    errors: Mapping[int, tuple[float, float]]  # of the best of each candidate, over the best of the default's

    @classmethod
    def of(cls, reply: ConfirmPrivatelyReply) -> Self:
        """Return what all parties say alike."""
        errors = zip(reply.compared, zip(reply.errors, reply.degrees, strict=True), strict=True)
        return cls(reply.configs, np.array(reply.gains), dict(errors))

    def gain(self, config: int, reference: int) -> Gain:
        """Return how much lower the mean loss of one config is; the error is known of the best ones alone."""
        error, degrees = self.errors.get(config, (math.inf, 1.0))
        return Gain(float(self.gains[config] - self.gains[reference]), error, degrees)


def whole_of(found: Aggregation, objective: Objective = "mean") -> Whole:
    """Return all parties together, for whose rows a config is chosen."""
    return Whole(found.parties, found.rows, found.space, found.path, found.grows, objective)


def conclude_from_sums(found: Aggregation, reply: ConfirmPrivatelyReply) -> Aggregation:
    """Choose among the candidates that all parties have measured."""
    return concluded(found, choose_by(Summed.of(reply), whole_of(found), found.recommendation.config))


def counted_until(found: Aggregation) -> tuple[int | None, bool]:
    """Return the last place on the path that counts, and whether the default is compared at its best place."""
    whole, path = whole_of(found), found.path
    last = whole.last_stop
    return (int(last) if path is not None and math.isfinite(last) else None), whole.factor != 1.0
