r"""From one run to its certificate: how much more the trained config loses than the best of a finite set.

With the envelopes of the parties' trials (``envelope.py``) the gap of :math:`\hat\theta` to :math:`\theta` is at most

.. math:: \sum_i w_i \{U_i(\hat\theta) - \underline f_i - \max(0, L_i(\theta) - \overline f_i)
          + 2 \tilde\beta\, \mathcal W_1(D, D_i)\} + z \sqrt{\textstyle\sum_i w_i^2 s_i^2}.

:math:`f_i` is by how much a loss falls with the rows of all, which the paper takes for 0, and :math:`s_i` the standard
error of a difference between two configs, which it takes for 0 as well. Parties are looked at one after the other:
memory grows with their trials, and not with the product of parties and configs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.certificate.evidence import Evidence, evidence_of, growth_of
from flora.aggregator.certificate.measured import MeasuredGap, measured_gaps
from flora.aggregator.certificate.paper import Constants, constants_of, paper_forms
from flora.aggregator.certificate.record import STATUSES, Certificate, Number, Status
from flora.aggregator.certificate.theorem import corollary, regret_bound, tried_points
from flora.aggregator.choose import same_config
from flora.aggregator.evidence import Objective
from flora.aggregator.surface import check_compatible
from flora.aggregator.verdict import SHOWN, quantile
from flora.problem.learning_curve import LearningCurve
from flora.problem.sketch import Sketch
from flora.problem.space import Config, Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.randomness import stream

Floats = NDArray[np.float64]
RANDOM_CONFIGS, MOST_TRIED = 256, 2_000  # in the finite set


@dataclass(frozen=True, eq=False)
class FiniteSet:
    r""":math:`\bar\Theta`: the trained config first, the default where there is one, what was tried, random ones."""

    points: Points
    tried: int  # how many of them somebody tried, or named

    @classmethod
    def of(cls, trials: Sequence[PartyTrials], space: SearchSpace, named: Sequence[Config], seed: int) -> "FiniteSet":
        """Draw the random ones, and of more than 2,000 trials that many."""
        rng = stream(seed, "certificate")
        tried = np.unique(np.vstack([tried_points(party, space)[0] for party in trials]), axis=0)
        tried = tried[np.sort(rng.permutation(len(tried))[:MOST_TRIED])]
        first, *others = named
        defaults = [space.default] if space.default else []
        known = np.vstack([space.encode([first, *defaults, *others]), tried])
        return cls(np.vstack([known, space.sample(rng, RANDOM_CONFIGS)]), len(known))


def certify(
    found: Aggregation,
    trained: Config,
    *,
    seed: int,
    objective: Objective = "mean",
    sketches: Sequence[Sketch] = (),
    curves: Sequence[LearningCurve] = (),
    weights: Mapping[str, float] | None = None,
) -> Certificate:
    r"""Return the certificate of the config that is trained.

    Args:
        found: What the parties tried and measured, the surface and the recommendation.
        trained: The config: the recommendation, or the default.
        seed: Decides the random configs of the finite set.
        objective: Of the measured gaps. The theorem's is the mean by ``weights``, whichever is asked for.
        sketches: The parties' sketches; a party without one is assumed to have everybody's distribution.
        curves: Learning curves of the trained config, and of the default or the recommendation; a party without one
            is assumed, as the paper does, to lose the same whether it trains on its own rows or on all.
        weights: :math:`w_i` of the distribution that matters; each party's share of rows where they are not given.
    """
    check_compatible(found.trials)
    ordered = sorted(found.trials, key=lambda party: party.party)
    space, others = found.space, [found.recommendation.config]
    bar = FiniteSet.of(ordered, space, [trained, *others], seed)
    growth = growth_of(ordered, trained, [*others, space.default], curves)
    known = evidence_of(ordered, space, found.confirmed, sketches, growth, weights)
    constants = constants_of(known, found.surface, space, bar.points)
    forms = paper_forms(known, found.surface, space, bar.points, constants)
    measured = measured_gaps(found, trained, space.default, objective)
    return _certificate(_Bound(known, bar), found, trained, forms, constants, measured)


@dataclass(frozen=True, eq=False)
class _Bound:
    r"""The gap's bound at each config of the finite set.

    The theorem's weights :math:`\alpha_i(\theta)` are those of the surface. As the surface drops out any weights do; we
    take each party's share of the data that matters, so that what parties have in common cancels in a difference.
    """

    known: Evidence
    bar: FiniteSet

    @property
    def noise(self) -> float:
        """What cross-validation may flatter, for all configs at once (Bonferroni)."""
        errors = [party.w.value * party.noise.value for party in self.known.parties]
        return -quantile(SHOWN / len(self.bar.points)) * math.hypot(*errors)

    @property
    def shift(self) -> float:
        """What the difference between the parties' data adds, to either end."""
        return self.known.beta.value * sum(party.w.value * party.shift.value for party in self.known.parties)

    def gaps(self) -> Floats:
        """Return the gap to each config of the set, 0 to itself: (n,)."""
        points, floor = self.bar.points, self.known.scale.floor
        gaps = np.full(len(points), 2 * self.shift + self.noise)
        for party in self.known.parties:
            above, below = party.envelope.above(points[:1]), party.envelope.from_above(points[:1]).below(points)
            highest = float(above.trial[0] + above.rough[0] - party.fall[0])
            gaps += party.w.value * (highest - np.maximum(floor, below.trial - below.rough - party.fall[1]))
        return np.where((points == points[0]).all(axis=1), 0.0, gaps)

    def contributions(self, place: int) -> dict[str, float]:
        """Return what each term adds to the gap to one config."""
        parts = dict.fromkeys(("loss", "trials", "size", "floor"), 0.0)
        for party in self.known.parties:
            above = party.envelope.above(self.bar.points[:1])
            below = party.envelope.from_above(self.bar.points[:1]).below(self.bar.points[[place]])
            lowest = float(below.trial[0] - below.rough[0] - party.fall[1])
            parts["loss"] += party.w.value * float(above.rough[0] + below.rough[0])
            parts["trials"] += party.w.value * float(above.trial[0] - below.trial[0])
            parts["size"] += party.w.value * party.size.value
            parts["floor"] -= party.w.value * max(0.0, self.known.scale.floor - lowest)
        return {"shift": 2 * self.shift, **parts, "noise": self.noise}

    def range(self, status: Status) -> Number | None:
        """Return what the trained config may lose above the lowest loss that there is; None where that is unknown."""
        scale = self.known.scale
        if math.isinf(scale.floor):
            return None
        errors = [party.w.value * party.loss_error.value for party in self.known.parties]
        lost = self.shift - quantile(SHOWN) * math.hypot(*errors)
        for party in self.known.parties:
            edge = party.envelope.above(self.bar.points[:1])
            lost += party.w.value * float(edge.trial[0] + edge.rough[0] - party.fall[0])
        return Number(min(lost - scale.floor, scale.range), status)


def _certificate(
    bound: _Bound,
    run: Aggregation,
    trained: Config,
    forms: Mapping[str, float],
    constants: Sequence[Constants],
    measured: tuple[MeasuredGap, ...],
) -> Certificate:
    known, bar, space = bound.known, bound.bar, run.space
    gaps = bound.gaps()
    worst = int(gaps.argmax())
    parties = _party_numbers(known, constants, bar.points[[0, worst]])
    numbers = [known.beta, *(number for party in parties.values() for number in party.values())]
    status = max((number.status for number in numbers), key=STATUSES.index)
    most = bound.range(status)
    found, tried = (_below(most, float(values.max()), status) for values in (gaps, gaps[: bar.tried]))
    measured = tuple(replace(gap, value=_stated(most, gap.value)) for gap in measured)
    papers = {name: _below(most, value, "assumed") for name, value in forms.items()}
    spread = [party.w.value * np.ptp([trial.loss for trial in party.trials.trials]) for party in known.parties]
    gained = (0.0 if same_config(trained, space.default) else -float(gaps[1])) if space.default else None
    return Certificate(
        config=trained,
        measured=measured,
        bound=found,
        tried=tried,
        range=most,
        forms=papers,
        contributions=bound.contributions(worst),
        spread=Number(float(sum(spread)), "estimated"),
        beta=known.beta,
        parties=parties,
        growth=known.growth,
        regret={
            "measured": _measured_regret(measured),
            "bound": _regret(found, gained),
            "surface": _surface_regret(papers["paper"], run.surface(bar.points)) if space.default else None,
        },
        configs=len(bar.points),
        tried_configs=bar.tried,
        worst=space.decode(bar.points[[worst]])[0],
    )


def _stated(most: Number | None, value: float | None) -> float | None:
    """Return a bound, or None where it is not below the range: what the config loses itself."""
    return None if value is None or (most is not None and value >= most.value) else value


def _below(most: Number | None, value: float, status: Status) -> Number | None:
    stated = _stated(most, value)
    return None if stated is None else Number(stated, status)


def _party_numbers(known: Evidence, constants: Sequence[Constants], ends: Points) -> dict[str, dict[str, Number]]:
    """Return the numbers of each party; ``ends`` are the trained config and the one where the bound is attained."""
    found = {}
    for party, own in zip(known.parties, constants, strict=True):
        edge = party.envelope.from_above(ends[:1]).below(ends[1:])
        found[party.trials.party] = {
            "w": party.w,
            "W1": party.shift,
            "W1_by_chance": party.by_chance,
            "noise": party.noise,
            "loss_error": party.loss_error,
            "size": party.size,
            "distance": Number(float(edge.distance[0]), "proved"),
            "omega": Number(float(edge.rough[0]), "estimated"),
            "L_tilde": Number(own.loss, "estimated"),
            "L_hat": Number(own.surface, "estimated"),
            "delta": Number(own.delta, "proved"),
        }
    return found


def _regret(bound: Number | None, gained: float | None) -> Number | None:
    value = None if bound is None or gained is None else regret_bound(bound.value, gained)
    return None if bound is None or value is None else Number(value, bound.status)


def _measured_regret(measured: Sequence[MeasuredGap]) -> Number | None:
    """Return the regret against the best measured config, by the gain that the same measurements show at least."""
    found = next((gap for gap in measured if gap.basis == "measured"), None)
    if found is None or found.value is None:
        return None
    return _regret(Number(found.value, "estimated"), found.gain)


def _surface_regret(paper: Number | None, predicted: Floats) -> Number | None:
    """Return the corollary with the surface's lowest value for the centrally tuned config's, which nobody knows."""
    value = None if paper is None else corollary(paper.value, float(predicted[1]), float(predicted.min()))
    return None if value is None else Number(value, "assumed")
