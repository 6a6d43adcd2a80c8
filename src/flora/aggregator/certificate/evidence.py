"""What is known of each party, as the bounds need it: its trials, its noise, its data's distance, and more rows."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.certificate.distance import distance, sampling_noise
from flora.aggregator.certificate.envelope import Envelope
from flora.aggregator.certificate.extrapolation import extrapolate
from flora.aggregator.certificate.record import Growth, Number, Status
from flora.aggregator.certificate.theorem import by_config, distribution_lipschitz, mixture_distance
from flora.aggregator.choose import same_config
from flora.errors import InputError
from flora.problem.learning_curve import LearningCurve
from flora.problem.messages import Confirmation
from flora.problem.score_range import loss_range
from flora.problem.sketch import Sketch
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import PartyTrials

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """The lowest and the highest loss that there can be, as far as they are known: no gap is wider than that."""

    floor: float = -math.inf
    ceiling: float = math.inf

    @property
    def range(self) -> float:
        """How far two losses can lie apart."""
        return self.ceiling - self.floor


@dataclass(frozen=True, eq=False)
class PartyEvidence:
    """One party's share in the bounds."""

    trials: PartyTrials
    envelope: Envelope
    w: Number
    shift: Number  # the distance of its data from that of all
    by_chance: Number  # what that would be if all had one distribution
    noise: Number  # the standard error of a difference between two configs
    loss_error: Number  # that of one loss
    fall: tuple[float, float]  # of the loss with the rows of all: the trained config's at least, any config's at most
    fall_status: Status

    @property
    def size(self) -> Number:
        """What more rows may add to the gap."""
        low, high = self.fall
        return Number(high - low, self.fall_status)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of all parties, in order."""

    parties: tuple[PartyEvidence, ...]
    beta: Number
    scale: Scale
    growth: tuple[Growth, ...]


def evidence_of(
    trials: Sequence[PartyTrials],
    space: SearchSpace,
    confirmed: Mapping[str, Sequence[Confirmation]],
    sketches: Sequence[Sketch],
    growth: tuple[Growth, ...],
    weights: Mapping[str, float] | None,
) -> Evidence:
    """Put together what is known of the parties, which come sorted."""
    w = party_weights(trials, weights)
    beta, shift, by_chance = beta_and_shift(trials, sketches, w)
    parties = []
    for k, party in enumerate(trials):
        second = confirmed.get(party.party, ())
        tried = [*party.trials, *(each.trial for each in second)]
        envelope = Envelope.of(space, [trial.config for trial in tried], [trial.loss for trial in tried])
        fall, status = _fall(growth, party.party)
        noise = difference_error(party, second, space), loss_error(party)
        parties.append(PartyEvidence(party, envelope, w[k], shift[k], by_chance[k], *noise, fall, status))
    return Evidence(tuple(parties), beta, _scale(trials), growth)


def difference_error(party: PartyTrials, confirmed: Sequence[Confirmation], space: SearchSpace) -> Number:
    """Return the typical standard error of a difference between two configs of a party's cross-validation.

    A confirmation measures it: gains over the default are paired. Else two losses of the search err independently at
    worst.
    """
    paired = [each.gain_error for each in confirmed if not space.is_default(each.config)]
    if paired:
        return Number(_root_mean_square(paired), "estimated")
    single = loss_error(party)
    return Number(math.sqrt(2) * single.value, single.status)


def loss_error(party: PartyTrials) -> Number:
    """Return the typical standard error of a party's losses; one that states none is assumed to make none."""
    stated = [trial.error for trial in party.trials if trial.error is not None]
    if len(stated) < len(party.trials):
        return Number(0.0, "assumed")
    return Number(_root_mean_square(stated), "estimated")


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(sum(value**2 for value in values) / len(values))


def _fall(growth: Iterable[Growth], party: str) -> tuple[tuple[float, float], Status]:
    """Return by how much the trained config's loss falls at least, and any config's at most: two stand for all."""
    own = [each for each in growth if each.party == party]
    trained = [each.expected.low for each in own if each.config == "trained"]
    if not trained:
        return (0.0, 0.0), "assumed"
    return (min(trained), max(each.expected.high for each in own)), "estimated"


def _scale(trials: Sequence[PartyTrials]) -> Scale:
    """Return the scale of the losses, which a loss outside of it denies."""
    scale = Scale(*loss_range(trials[0].scoring))
    losses = [trial.loss for party in trials for trial in party.trials]
    return scale if scale.floor <= min(losses) and max(losses) <= scale.ceiling else Scale()


def party_weights(trials: Sequence[PartyTrials], given: Mapping[str, float] | None) -> list[Number]:
    """Return each party's weight: as given, its share of rows, or an equal one where rows are not stated."""
    names = [party.party for party in trials]
    if given is not None:
        values = list(given.values())
        if set(given) != set(names) or not min(values) >= 0 or not abs(sum(values) - 1) < 1e-6:
            raise InputError(f"need a weight >= 0 for each of {names}, 1 in all, got {dict(given)}")
        return [Number(float(given[name]), "proved") for name in names]
    rows = [party.rows for party in trials if party.rows is not None]
    if len(rows) < len(trials):
        return [Number(1 / len(trials), "assumed")] * len(trials)
    return [Number(count / sum(rows), "proved") for count in rows]


def beta_and_shift(
    trials: Sequence[PartyTrials], sketches: Sequence[Sketch], w: Sequence[Number]
) -> tuple[Number, list[Number], list[Number]]:
    """Return beta, each party's distance from the mixture, and what that would be by chance alone."""
    ordered = _in_order(trials, sketches)
    unknown: Status = "proved" if len(trials) == 1 else "assumed"  # one party's data does not differ from all
    shares, losses = np.array([number.value for number in w]), [by_config(party) for party in trials]
    ratios, shift, by_chance = [], [], []
    for k in range(len(trials)):  # one party's distances at a time: those of all pairs need not fit into memory
        apart = _distances(ordered, k, distance)
        ratios.append(distribution_lipschitz(losses[k], losses[:k], apart[:k]))
        status: Status = unknown if len(trials) == 1 or np.isnan(apart).any() else "estimated"
        shift.append(Number(mixture_distance(shares, apart), status))
        by_chance.append(Number(mixture_distance(shares, _distances(ordered, k, sampling_noise)), status))
    known = [ratio for ratio in ratios if ratio is not None]
    return Number(max(known), "estimated") if known else Number(0.0, unknown), shift, by_chance


def _in_order(trials: Sequence[PartyTrials], sketches: Sequence[Sketch]) -> list[Sketch | None]:
    """Return the parties' sketches, None for one without."""
    by_party = {sketch.party: sketch for sketch in sketches}
    names = [party.party for party in trials]
    if unknown := sorted(set(by_party) - set(names)):
        raise InputError(f"a sketch must be of one of the parties {names}, got {unknown[0]!r}")
    return [by_party.get(name) for name in names]


def _distances(sketches: Sequence[Sketch | None], k: int, measure: Callable[[Sketch, Sketch], float]) -> Floats:
    """Return a measure between one party and each, 0 for itself and NaN without a sketch: (p,)."""
    own = sketches[k]
    return np.array(
        [0.0 if j == k else measure(own, other) if own and other else np.nan for j, other in enumerate(sketches)]
    )


def growth_of(
    trials: Sequence[PartyTrials], trained: Config, others: Sequence[Config], curves: Sequence[LearningCurve]
) -> tuple[Growth, ...]:
    """Return what each learning curve says of the rows of all."""
    rows = [party.rows for party in trials if party.rows is not None]
    if curves and len(rows) < len(trials):
        raise InputError("learning curves need the number of rows of every party, and one does not state it")
    found = []
    for curve in sorted(curves, key=lambda curve: curve.party):
        if curve.party not in [party.party for party in trials]:
            raise InputError(f"a learning curve must be of one of the parties, got {curve.party!r}")
        ours = same_config(curve.config, trained)
        if not ours and not any(same_config(curve.config, other) for other in others):
            raise InputError(f"party {curve.party!r}: its learning curve is of a config that is not in question")
        found.append(Growth(curve.party, "trained" if ours else "other", extrapolate(curve, sum(rows))))
    return tuple(found)
