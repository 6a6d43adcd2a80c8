"""From one run to its certificate: every term of the theorem, over a finite set of configs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.certificate.distance import distance, sampling_noise
from flora.aggregator.certificate.extrapolation import extrapolate
from flora.aggregator.certificate.record import PAPERS, STATUSES, Certificate, Growth, Number, Status
from flora.aggregator.certificate.theorem import (
    Continuity,
    Line,
    distribution_lipschitz,
    epsilon_bound,
    epsilon_bound_by_modulus,
    gap_bound,
    iid_gap_bound,
    loss_continuity,
    mixture_distance,
    nearest_trial,
    party_surfaces,
    relative_regret_bound,
    training_error,
    tried_points,
)
from flora.aggregator.propose import Recommendation
from flora.aggregator.surface import SurfaceKind, check_compatible
from flora.errors import InputError
from flora.problem.learning_curve import LearningCurve
from flora.problem.sketch import Sketch
from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.randomness import stream
from flora.surrogate.regressors import Losses

Floats = NDArray[np.float64]
RANDOM_CONFIGS, MOST_TRIED = 256, 2_000  # in the finite set


def certify(
    trials: Sequence[PartyTrials],
    space: SearchSpace,
    surface: SurfaceKind,
    recommendation: Recommendation,
    *,
    seed: int,
    sketches: Sequence[Sketch] = (),
    curves: Sequence[LearningCurve] = (),
    weights: Mapping[str, float] | None = None,
) -> Certificate:
    r"""Return the certificate of a recommendation.

    Args:
        trials: What each party tried.
        space: The space of the surface.
        surface: What was learnt from the trials.
        recommendation: Its minimum.
        seed: Decides the random configs of the finite set.
        sketches: The parties' sketches; a party without one is assumed to have everybody's distribution.
        curves: Learning curves of the recommended and the default config; a party without one is assumed, as the
            paper does, to lose the same whether it trains on its own rows or on all.
        weights: :math:`w_i` of the distribution that matters; each party's share of rows where they are not given.
    """
    check_compatible(trials)
    ordered = sorted(trials, key=lambda party: party.party)
    bar = finite_set(ordered, space, recommendation, seed)
    w = _weights(ordered, weights)
    growth = _growth(ordered, space, recommendation, curves)
    terms = [
        _party_terms(party, hat, space, bar, [g.expected.most for g in growth if g.party == party.party])
        for party, hat in zip(ordered, party_surfaces(surface, len(ordered)), strict=True)
    ]
    evidence = _Evidence(ordered, bar, w, *_beta_and_shift(ordered, sketches, w), growth, terms)
    return _certificate(space, surface, evidence)


@dataclass(frozen=True, eq=False)
class _PartyTerms:
    nearest: Floats  # (n,), as is the next
    predicted: Floats
    loss: Continuity
    surface: Continuity
    delta: float
    size: Number


@dataclass(frozen=True, eq=False)
class _Evidence:
    trials: Sequence[PartyTrials]  # a party each, as what follows
    bar: Points
    w: Sequence[Number]
    beta: Number
    shift: Sequence[Number]
    chance: Sequence[Number]
    growth: tuple[Growth, ...]
    terms: Sequence[_PartyTerms]


def _certificate(space: SearchSpace, surface: SurfaceKind, known: _Evidence) -> Certificate:
    forms, chosen = _forms(surface, known.terms, known.beta, known.shift)
    parties = {
        party.party: {"w": w, "W1": shift, "W1_by_chance": chance, **_party_numbers(term, chosen, k)}
        for k, (party, w, shift, chance, term) in enumerate(
            zip(known.trials, known.w, known.shift, known.chance, known.terms, strict=True)
        )
    }
    numbers = [known.beta, *(number for party in parties.values() for number in party.values())]
    status = max((number.status for number in numbers), key=STATUSES.index)
    predicted = surface(known.bar)
    slack = float(predicted[0] - predicted.min())
    bound = Number(min(forms["lipschitz"], forms["modulus"]) + slack, status)
    spread = [w.value * np.ptp([t.loss for t in party.trials]) for w, party in zip(known.w, known.trials, strict=True)]
    return Certificate(
        bound=bound,
        forms={name: Number(value, "assumed" if name in PAPERS else status) for name, value in forms.items()},
        contributions={**_contributions(known.terms, chosen, known.beta, known.shift), "minimiser": slack},
        spread=Number(float(sum(spread)), "estimated"),
        beta=known.beta,
        parties=parties,
        growth=known.growth,
        regret=_regret(bound, surface, space, predicted),
        configs=len(known.bar),
        worst=space.decode(known.bar[[chosen.worst]])[0],
    )


def finite_set(trials: Sequence[PartyTrials], space: SearchSpace, recommendation: Recommendation, seed: int) -> Points:
    r"""Return :math:`\bar\Theta`: the recommendation first, the default, what was tried, and random configs.

    Of more than 2,000 trials, that many are drawn.
    """
    rng = stream(seed, "certificate")
    tried = np.unique(np.vstack([tried_points(party, space)[0] for party in trials]), axis=0)
    tried = tried[np.sort(rng.permutation(len(tried))[:MOST_TRIED])]
    named = [recommendation.measured, *([space.default] if space.default else [])]
    return np.vstack([space.encode(named), tried, space.sample(rng, RANDOM_CONFIGS)])


@dataclass(frozen=True, eq=False)
class _Chosen:
    lines: Sequence[tuple[Line, Line]]  # each party's moduli, of the losses and of the surface
    alpha: Floats  # (p,), at the worst config
    worst: int


def _party_terms(
    party: PartyTrials, hat: Callable[[Points], Losses], space: SearchSpace, bar: Points, grown: Sequence[float]
) -> _PartyTerms:
    tried, losses = tried_points(party, space)
    predicted, at_trials = hat(bar), hat(tried)
    return _PartyTerms(
        nearest_trial(space, bar, tried),
        predicted,
        loss_continuity(party, space),
        Continuity.between(space, bar, predicted, tried, at_trials),
        training_error(losses, at_trials),
        Number(max(grown), "estimated") if grown else Number(0.0, "assumed"),
    )


def _forms(
    surface: SurfaceKind, terms: Sequence[_PartyTerms], beta: Number, shift: Sequence[Number]
) -> tuple[dict[str, float], _Chosen]:
    """Return the bound in its four forms, and what decides the smaller of ours."""
    predicted = np.array([term.predicted for term in terms])
    size = np.array([[term.size.value] for term in terms])
    apart = np.array([number.value for number in shift])
    paper = np.array([epsilon_bound(t.loss.lipschitz, t.surface.lipschitz, t.nearest, t.delta) for t in terms])
    weights = surface.alpha_of(predicted, beta.value * apart[:, None] + paper)
    forms = {"paper": gap_bound(weights, beta.value, apart, paper), "iid": iid_gap_bound(weights, paper)}
    found: dict[str, _Chosen] = {}
    for name, lines in {
        "lipschitz": [(Line(t.loss.lipschitz), Line(t.surface.lipschitz)) for t in terms],
        "modulus": [(t.loss.line(t.nearest.max()), t.surface.line(t.nearest.max())) for t in terms],
    }.items():
        epsilon = size + np.array(
            [epsilon_bound_by_modulus(*pair, t.nearest, t.delta) for pair, t in zip(lines, terms, strict=True)]
        )
        brace = beta.value * apart[:, None] + epsilon
        weights = surface.alpha_of(predicted, brace)
        worst = int((weights * brace).sum(axis=0).argmax())
        forms[name] = gap_bound(weights, beta.value, apart, epsilon)
        found[name] = _Chosen(lines, weights[:, worst], worst)
    return forms, min(found.items(), key=lambda item: forms[item[0]])[1]


def _contributions(
    terms: Sequence[_PartyTerms], chosen: _Chosen, beta: Number, shift: Sequence[Number]
) -> dict[str, float]:
    """Return what each term adds to the bound, at the worst config."""
    nearest = np.array([term.nearest[chosen.worst] for term in terms])
    parts = {
        "shift": [beta.value * number.value for number in shift],
        "loss": [line(t) for (line, _), t in zip(chosen.lines, nearest, strict=True)],
        "surface": [line(t) for (_, line), t in zip(chosen.lines, nearest, strict=True)],
        "training": [term.delta for term in terms],
        "size": [term.size.value for term in terms],
    }
    return {name: float(2 * chosen.alpha @ np.array(values)) for name, values in parts.items()}


def _party_numbers(term: _PartyTerms, chosen: _Chosen, k: int) -> dict[str, Number]:
    loss, hat = chosen.lines[k]
    return {
        "alpha": Number(float(chosen.alpha[k]), "proved"),
        "L_tilde": Number(term.loss.lipschitz, "estimated"),
        "L_hat": Number(term.surface.lipschitz, "estimated"),
        "A_tilde": Number(loss.A, "estimated"),
        "B_tilde": Number(loss.B, "estimated"),
        "A_hat": Number(hat.A, "estimated"),
        "B_hat": Number(hat.B, "estimated"),
        "distance": Number(float(term.nearest[chosen.worst]), "proved"),
        "delta": Number(term.delta, "proved"),
        "size": term.size,
    }


def _weights(trials: Sequence[PartyTrials], given: Mapping[str, float] | None) -> list[Number]:
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


def _beta_and_shift(
    trials: Sequence[PartyTrials], sketches: Sequence[Sketch], w: Sequence[Number]
) -> tuple[Number, list[Number], list[Number]]:
    """Return beta, each party's distance from the mixture, and what that would be by chance alone."""
    wasserstein = _between(trials, sketches, distance)
    beta = distribution_lipschitz(trials, wasserstein)
    unknown: Status = "proved" if len(trials) == 1 else "assumed"  # one party's data does not differ from all
    lacking = np.asarray(np.isnan(wasserstein).any(axis=0) | (len(trials) == 1))
    statuses: list[Status] = [unknown if none else "estimated" for none in lacking]
    shares = np.array([number.value for number in w])
    shift, noise = (
        [Number(float(v), status) for v, status in zip(mixture_distance(shares, apart), statuses, strict=True)]
        for apart in (wasserstein, _between(trials, sketches, sampling_noise))
    )
    return Number(0.0, unknown) if beta is None else Number(beta, "estimated"), shift, noise


def _between(
    trials: Sequence[PartyTrials], sketches: Sequence[Sketch], measure: Callable[[Sketch, Sketch], float]
) -> Floats:
    """Return the measure between parties, in their order, 0 for a party and itself, NaN without a sketch: (p, p)."""
    by_party = {sketch.party: sketch for sketch in sketches}
    names = [party.party for party in trials]
    if unknown := sorted(set(by_party) - set(names)):
        raise InputError(f"a sketch must be of one of the parties {names}, got {unknown[0]!r}")
    pairs = [[(by_party.get(one), by_party.get(other)) for other in names] for one in names]
    found = np.array([[measure(a, b) if a and b else np.nan for a, b in line] for line in pairs])
    np.fill_diagonal(found, 0.0)
    return found


def _growth(
    trials: Sequence[PartyTrials], space: SearchSpace, recommendation: Recommendation, curves: Sequence[LearningCurve]
) -> tuple[Growth, ...]:
    rows = [party.rows for party in trials if party.rows is not None]
    if curves and len(rows) < len(trials):
        raise InputError("learning curves need the number of rows of every party, and one does not state it")
    found = []
    for curve in sorted(curves, key=lambda curve: curve.party):
        if curve.party not in [party.party for party in trials]:
            raise InputError(f"a learning curve must be of one of the parties, got {curve.party!r}")
        ours = dict(curve.config) == dict(recommendation.measured)
        if not ours and not space.is_default(curve.config):
            raise InputError(f"party {curve.party!r}: its learning curve is neither of the recommendation nor default")
        found.append(Growth(curve.party, "recommended" if ours else "default", extrapolate(curve, sum(rows))))
    return tuple(found)


def _regret(bound: Number, surface: SurfaceKind, space: SearchSpace, predicted: Losses) -> dict[str, Number | None]:
    if not space.default:
        return {"paper": None, "ours": None}
    default, best = float(surface(space.encode([space.default]))[0]), float(predicted[0])
    paper = relative_regret_bound(bound.value, default, best)
    ours = relative_regret_bound(bound.value, default, best, margin=bound.value)
    return {
        "paper": None if paper is None else Number(paper, "assumed"),
        "ours": None if ours is None else Number(ours, bound.status),
    }
