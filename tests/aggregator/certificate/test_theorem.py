"""The theorem's terms, its bound on problems whose constants are known, and the certificate."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from flora.aggregator.certificate.bounds import certify, finite_set
from flora.aggregator.certificate.record import TERMS, Certificate
from flora.aggregator.certificate.theorem import (
    Continuity,
    Line,
    distance_matrix,
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
)
from flora.aggregator.propose import Recommendation
from flora.aggregator.surface import SurfaceKind, fit_surface
from flora.aggregator.surfaces.average_of_parties import AverageOfParties
from flora.aggregator.surfaces.global_model import GlobalModel
from flora.aggregator.surfaces.max_of_parties import MaxOfParties
from flora.errors import InputError
from flora.party.sketch import sketch_of
from flora.problem.learning_curve import CurvePoint, LearningCurve
from flora.problem.sketch import Sketch
from flora.problem.space import Config, Points, Real, SearchSpace
from flora.problem.trials import PartyTrials, Trial

Floats = NDArray[np.float64]
LINE = SearchSpace.from_json({"x": {"type": "real", "space": "linear", "range": [0, 1], "default": 0.5}})
MIXED = SearchSpace.from_json(
    {
        "a": {"type": "real", "space": "log", "range": [0.01, 100]},
        "b": {"type": "int", "space": "linear", "range": [1, 9]},
        "c": {"type": "cat", "values": ["p", "q", "r"]},
        "d": {"type": "bool"},
    }
)


@dataclass(frozen=True)
class Known:
    """A regressor, and a surface, that is a given function of the one HP."""

    function: Callable[[Floats], Floats]

    def mean(self, points: Points) -> Floats:
        return self.function(points[:, 0])

    def deviation(self, points: Points) -> Floats:
        return np.zeros(len(points))

    def __call__(self, points: Points) -> Floats:
        return self.mean(points)

    def error(self, points: Points) -> Floats:
        return self.deviation(points)


def party(name: str, x: Sequence[float], losses: Sequence[float], rows: int | None = 100) -> PartyTrials:
    tried = tuple(Trial({"x": float(a)}, float(b)) for a, b in zip(x, losses, strict=True))
    return PartyTrials(name, rows, LINE, "accuracy", tried)


def interpolated(x: Floats, losses: Floats) -> Known:
    order = np.argsort(x)
    return Known(lambda at: np.interp(at, x[order], losses[order]))


def column(*values: float) -> Points:
    return np.array(values)[:, None]


def appendix_distance(a: Config, b: Config) -> float:
    """The distance of appendix A.1, HP by HP: numbers in the unit cube, and how many categories differ."""
    numbers = [p for p in MIXED.parameters if isinstance(p, Real)]
    apart = [float(p.encode([a[p.name]])[0, 0] - p.encode([b[p.name]])[0, 0]) for p in numbers]
    return math.hypot(*apart) + sum(a[p.name] != b[p.name] for p in MIXED.parameters if p not in numbers)


def test_the_distance_matrix_is_the_spaces_distance() -> None:
    rng = np.random.default_rng(0)
    a, b = MIXED.sample(rng, 7), MIXED.sample(rng, 5)
    expected = [[appendix_distance(one, other) for other in MIXED.decode(b)] for one in MIXED.decode(a)]
    assert distance_matrix(MIXED, a, b) == pytest.approx(np.array(expected), abs=1e-12)


def test_the_nearest_trial_of_many_points() -> None:
    rng = np.random.default_rng(1)
    points, tried = MIXED.sample(rng, 450), MIXED.sample(rng, 6)
    assert np.array_equal(nearest_trial(MIXED, points, tried), distance_matrix(MIXED, points, tried).min(axis=1))


def test_the_training_error_is_the_largest() -> None:
    assert training_error(np.array([0.1, 0.5, 0.3]), np.array([0.2, 0.1, 0.3])) == pytest.approx(0.4)


def test_mixture_distance_by_hand_and_what_is_not_measured_counts_nothing() -> None:
    apart = np.array([[0, 1, 4], [1, 0, 2], [4, 2, 0]], dtype=float)
    weights = np.array([0.5, 0.3, 0.2])
    assert mixture_distance(weights, apart) == pytest.approx([0.3 * 1 + 0.2 * 4, 0.5 * 1 + 0.2 * 2, 0.5 * 4 + 0.3 * 2])
    apart[0, 2] = apart[2, 0] = np.nan
    assert mixture_distance(weights, apart) == pytest.approx([0.3, 0.9, 0.6])


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=6), min_size=2, max_size=4), st.integers(0, 99))
def test_mixture_distance_is_above_the_exact_distance_to_the_mixture(samples: list[list[float]], seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(samples)))
    apart = np.array([[wasserstein_distance(a, b) for b in samples] for a in samples])
    shares = np.concatenate([np.full(len(s), w / len(s)) for s, w in zip(samples, weights, strict=True)])
    exact = [wasserstein_distance(np.concatenate(samples), own, u_weights=shares) for own in samples]
    assert (mixture_distance(weights, apart) >= np.array(exact) - 1e-9).all()


def test_continuity_of_a_straight_line_and_of_a_step() -> None:
    points = column(0.0, 0.1, 0.4, 1.0)
    straight = Continuity.between(LINE, points, 3 * points[:, 0], points, 3 * points[:, 0])
    assert straight.lipschitz == pytest.approx(3)
    assert straight.line(0.2)(np.array([0.5]))[0] == pytest.approx(1.5)
    jump = np.array([0.0, 1.0, 1.0, 1.0])
    step = Continuity.between(LINE, points, jump, points, jump)
    assert step.lipschitz == pytest.approx(10)
    assert astuple(step.line(0.5)) == pytest.approx((0, 1), abs=1e-9)
    assert step.line(0.01)(np.array([0.01]))[0] == pytest.approx(0.1)


def test_a_difference_at_distance_zero_is_noise_that_the_modulus_keeps() -> None:
    found = loss_continuity(party("a", [0.2, 0.2, 0.7], [0.1, 0.3, 0.2]), LINE)
    assert found.lipschitz == pytest.approx(0.1 / 0.5)
    assert astuple(found.line(0.5)) == pytest.approx((0, 0.2), abs=1e-9)
    assert loss_continuity(party("a", [0.2, 0.7], [0.1, 0.1]), LINE).lipschitz == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 1)), min_size=2, max_size=12), st.floats(0, 1))
def test_the_line_is_above_all_pairs_and_the_lowest_such(pairs: list[tuple[int, float]], at: float) -> None:
    x, y = np.array(pairs).T / [[100], [1]]
    found = Continuity.between(LINE, x[:, None], y, x[:, None], y)
    apart, differ = np.abs(x[:, None] - x).ravel(), np.abs(y[:, None] - y).ravel()
    line = found.line(at)
    assert min(line.A, line.B) >= 0
    assert (line(apart) >= differ - 1e-9).all()
    best = linprog([at, 1], A_ub=-np.column_stack([apart, np.ones(len(apart))]), b_ub=-differ).fun
    assert line.A * at + line.B == pytest.approx(best, abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 1)), min_size=2, unique_by=lambda pair: pair[0]))
def test_the_lipschitz_constant_is_the_largest_ratio(pairs: list[tuple[int, float]]) -> None:
    x, y = np.array(pairs).T / [[100], [1]]
    upper = np.triu_indices(len(x), 1)
    ratios = np.abs(np.subtract.outer(y, y)[upper] / np.subtract.outer(x, x)[upper])
    assert Continuity.between(LINE, x[:, None], y, x[:, None], y).lipschitz == pytest.approx(ratios.max(), rel=1e-6)


def test_beta_is_the_largest_ratio_over_configs_that_two_parties_tried() -> None:
    trials = [party("a", [0.5, 0.1], [0.2, 0.9]), party("b", [0.5, 0.3], [0.3, 0.1]), party("c", [0.3], [0.4])]
    apart = np.array([[0, 2, 1], [2, 0, 0.5], [1, 0.5, 0]], dtype=float)
    assert distribution_lipschitz(trials, apart) == pytest.approx(max(0.1 / 2, 0.3 / 0.5))
    apart[1, 2] = apart[2, 1] = np.nan
    assert distribution_lipschitz(trials, apart) == pytest.approx(0.05)
    assert distribution_lipschitz(trials, np.zeros((3, 3))) is None
    assert distribution_lipschitz(trials[:1], np.zeros((1, 1))) is None


LOW, HIGH = Known(lambda x: x), Known(lambda x: 1 - x)


def test_alpha_of_each_surface() -> None:
    predicted = np.array([[0.2, 0.9], [0.8, 0.1]])
    brace = np.array([[5.0, 1.0], [4.0, 2.0]])
    average = AverageOfParties((LOW, HIGH), (30.0, 10.0))
    assert average.alpha_of(predicted, brace).tolist() == [[0.75, 0.75], [0.25, 0.25]]
    assert MaxOfParties((LOW, HIGH)).alpha_of(predicted, brace).tolist() == [[0, 1], [1, 0]]
    assert GlobalModel(LOW).alpha_of(predicted, brace).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "surface", [AverageOfParties((LOW, HIGH), (3.0, 1.0)), MaxOfParties((LOW, HIGH)), GlobalModel(LOW)]
)
def test_weighted_party_surfaces_are_the_surface(surface: SurfaceKind) -> None:
    points = LINE.sample(np.random.default_rng(0), 20)
    predicted = np.array([hat(points) for hat in party_surfaces(surface, 2)])
    weights = surface.alpha_of(predicted, np.random.default_rng(1).random(predicted.shape))
    assert weights.sum(axis=0) == pytest.approx(1)
    assert (weights * predicted).sum(axis=0) == pytest.approx(surface(points))


def test_a_surface_of_other_parties_is_refused() -> None:
    with pytest.raises(InputError, match="of the same 3 parties, got 2"):
        party_surfaces(MaxOfParties((LOW, HIGH)), 3)


def test_two_parties_by_hand() -> None:
    """At the first config: 2 [1/2 (2*0.1 + 3*0.1 + 0.01) + 1/2 (2*0.3 + 4*0.2 + 0.05)] = 1.96; at the second less."""
    weights = np.full((2, 2), 0.5)
    shift = mixture_distance(np.array([0.75, 0.25]), np.array([[0, 0.4], [0.4, 0]]))
    assert shift == pytest.approx([0.1, 0.3])
    epsilon = np.array(
        [
            epsilon_bound(1.0, 2.0, np.array([0.1, 0.0]), 0.01),
            epsilon_bound(1.5, 2.5, np.array([0.2, 0.1]), 0.05),
        ]
    )
    assert gap_bound(weights, 2.0, shift, epsilon) == pytest.approx(0.51 + 1.45)
    assert iid_gap_bound(weights, epsilon) == pytest.approx(0.31 + 0.85)
    worst_off = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert gap_bound(worst_off, 2.0, shift, epsilon) == pytest.approx(2 * max(0.51, 2 * 0.3 + 0.4 + 0.05))


terms_of_a_party = st.tuples(st.floats(0, 3), st.floats(0, 3), st.floats(0, 1))


@given(st.lists(terms_of_a_party, min_size=1, max_size=4), st.integers(0, 99))
def test_the_modulus_form_with_a_lipschitz_modulus_is_the_lipschitz_form(
    parties: list[tuple[float, float, float]], seed: int
) -> None:
    nearest = np.random.default_rng(seed).random(5)
    for loss, surface, delta in parties:
        plain = epsilon_bound(loss, surface, nearest, delta)
        assert epsilon_bound_by_modulus(Line(loss), Line(surface), nearest, delta) == pytest.approx(plain)
        raised = epsilon_bound_by_modulus(Line(loss, 0.1), Line(surface, 0.2), nearest, delta)
        assert raised == pytest.approx(plain + 0.3)


@given(st.integers(1, 4), st.integers(0, 999))
def test_the_iid_form_is_the_limit_as_the_distances_vanish(parties: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, epsilon = rng.dirichlet(np.ones(parties), 6).T, rng.random((parties, 6))
    shift, iid = rng.random(parties), iid_gap_bound(weights, epsilon)
    bounds = [gap_bound(weights, 2.0, scale * shift, epsilon) for scale in (1.0, 0.1, 1e-3, 1e-9)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == pytest.approx(iid, abs=1e-7)
    assert bounds[-1] >= iid


@dataclass(frozen=True)
class Problem:
    """Losses |theta - centre| * slope + beta * m_i, of which everything is known, and surfaces that err."""

    slope: float
    centre: float
    beta: float
    places: tuple[float, ...]  # D_i is at m_i, and D is the mixture
    seed: int

    def loss(self, x: Floats, place: float) -> Floats:
        return self.slope * np.abs(x - self.centre) + self.beta * place


problems = st.builds(
    Problem,
    st.floats(0, 3),
    st.floats(0, 1),
    st.floats(0, 2),
    st.lists(st.floats(-1, 1), min_size=1, max_size=4).map(tuple),
    st.integers(0, 10_000),
)


@settings(max_examples=80, deadline=None)
@given(problems, st.sampled_from(["aplm", "mplm", "sgm"]))
def test_the_bound_holds_where_all_constants_are_known(problem: Problem, kind: str) -> None:
    rng = np.random.default_rng(problem.seed)
    count = len(problem.places)
    tried = [np.sort(rng.random(4)) for _ in range(count)]
    measured = [problem.loss(x, place) for x, place in zip(tried, problem.places, strict=True)]
    hats = [interpolated(x, y + rng.normal(0, 0.1, 4)) for x, y in zip(tried, measured, strict=True)]
    if kind == "sgm":
        merged = interpolated(np.concatenate(tried), np.concatenate(measured) + 0.05)
        hats = [merged] * count
    surfaces: dict[str, Any] = {
        "aplm": lambda: AverageOfParties(tuple(hats), (1.0,) * count),
        "mplm": lambda: MaxOfParties(tuple(hats)),
        "sgm": lambda: GlobalModel(hats[0]),
    }
    surface = surfaces[kind]()
    bar = np.linspace(0, 1, 101)[:, None]
    weights = rng.dirichlet(np.ones(count))
    shift = mixture_distance(weights, np.abs(np.subtract.outer(problem.places, problem.places)))
    epsilon = np.array(
        [
            epsilon_bound(
                problem.slope,
                Continuity.between(LINE, bar, hat(bar), x[:, None], hat(x[:, None])).lipschitz,
                nearest_trial(LINE, bar, x[:, None]),
                training_error(y, hat(x[:, None])),
            )
            for hat, x, y in zip(hats, tried, measured, strict=True)
        ]
    )
    predicted = np.array([hat(bar) for hat in hats])
    alphas = surface.alpha_of(predicted, problem.beta * shift[:, None] + epsilon)
    true = problem.loss(bar[:, 0], float(weights @ problem.places))
    gap = true[np.argmin(surface(bar))] - true.min()
    assert gap <= gap_bound(alphas, problem.beta, shift, epsilon) + 1e-9


def test_relative_regret_in_the_papers_form_and_with_a_proved_denominator() -> None:
    assert relative_regret_bound(0.1, default=0.5, best=0.3) == pytest.approx(0.5)
    assert relative_regret_bound(0.1, default=0.5, best=0.3, margin=0.1) == pytest.approx(1.0)
    assert relative_regret_bound(0.1, default=0.5, best=0.3, margin=0.3) is None
    assert relative_regret_bound(0.1, default=0.3, best=0.3) is None


def curve(name: str, x: float, losses: Sequence[float], rows: int = 100, error: float = 1e-4) -> LearningCurve:
    sizes = [rows // 4, rows // 2, rows]
    points = [CurvePoint(size, loss, error) for size, loss in zip(sizes, losses, strict=True)]
    return LearningCurve(name, {"x": x}, tuple(points))


def test_without_the_size_term_the_bound_can_be_wrong() -> None:
    """A party of 100 rows prefers x = 0; with 400 rows x = 0.5, whose loss halves with each doubling, is better."""
    x = np.linspace(0, 1, 401)
    at_party = 0.2 + 0.2 * np.minimum(x, 0.5)  # 0.2 at x = 0, 0.3 at the default 0.5
    trials = [party("a", x.tolist(), at_party.tolist(), 100), party("b", x.tolist(), at_party.tolist(), 300)]
    surface = AverageOfParties((interpolated(x, at_party),) * 2, (1.0, 1.0))
    best = Recommendation({"x": 0.0}, {"x": 0.0}, 0.2, 0.0)
    flat = [curve(name, 0.0, [0.2, 0.2, 0.2], rows) for name, rows in (("a", 100), ("b", 300))]
    falling = [curve("a", 0.5, [1.2, 0.6, 0.3]), curve("b", 0.5, [0.9, 0.45, 0.225], 300)]
    gap = 0.2 - 0.3 / 4  # 0.3 * (100 / 400) at all 400 rows
    paper = certify(trials, LINE, surface, best, seed=0)
    ours = certify(trials, LINE, surface, best, seed=0, curves=[*flat, *falling])
    assert paper.bound.value < gap < ours.bound.value
    assert ours.dominant == "size"
    assert paper.parties["a"]["size"].status == "assumed"
    assert ours.parties["a"]["size"].value == pytest.approx(0.25, abs=0.05)  # 0.225, and its interval
    assert ours.forms["paper"] == paper.forms["paper"]


def bowls(rows: int | None = 100) -> list[PartyTrials]:
    x = np.append(np.linspace(0, 1, 40), 0.5)
    return [party(name, x.tolist(), (0.2 + (x - c) ** 2).tolist(), rows) for name, c in (("a", 0.3), ("b", 0.4))]


def sketches() -> list[Sketch]:
    rng = np.random.default_rng(3)
    made = [sketch_of(rng.normal(place, 1, (200, 1)), party=name, seed=0) for name, place in (("a", 0.0), ("b", 2.0))]
    return [sketch for sketch in made if sketch is not None]


def certificate(trials: Sequence[PartyTrials], kind: str | None = None, **evidence: Any) -> Certificate:
    surface: SurfaceKind = AverageOfParties((HIGH,) * len(trials), (1.0,) * len(trials))
    if kind is not None:
        surface = fit_surface(kind, trials, LINE, 0, regressor="gp")
    recommended = Recommendation({"x": 0.35}, {"x": 0.35}, float(surface(column(0.35))[0]), 0.0)
    return certify(trials, LINE, surface, recommended, **evidence)


@pytest.mark.parametrize("kind", ["aplm", "mplm", "sgm", "sgm+u"])
def test_a_certificate_of_each_surface_adds_up(kind: str) -> None:
    curves = [curve(name, x, [0.4, 0.3, 0.25]) for name in "ab" for x in (0.35, 0.5)]
    found = certificate(bowls(), kind, seed=0, sketches=sketches(), curves=curves)
    assert sum(found.contributions.values()) == pytest.approx(found.bound.value)
    assert set(found.contributions) == set(TERMS)
    ours = min(found.forms["lipschitz"].value, found.forms["modulus"].value)
    assert found.bound.value == pytest.approx(ours + found.contributions["minimiser"])
    assert found.forms["iid"].value < found.forms["paper"].value < found.forms["lipschitz"].value
    assert found.bound.status == "estimated"
    document = found.to_json()
    assert json.loads(json.dumps(document, allow_nan=False))["dominant"] == found.dominant
    assert document["parties"]["a"]["delta"]["status"] == "proved"
    assert len(found.growth) == 4
    assert found.parties["a"]["W1"].value == pytest.approx(1.0, abs=0.1)  # half of a shift by 2
    assert found.parties["a"]["W1_by_chance"].value < 0.1
    shift = 0.5 * found.parties["a"]["W1"].value + 0.5 * found.parties["b"]["W1"].value
    if kind == "aplm":
        assert found.contributions["shift"] == pytest.approx(2 * found.beta.value * shift)


def test_what_nobody_measured_is_assumed_and_said() -> None:
    found = certificate(bowls(), seed=0)
    assert found.bound.status == "assumed"
    assert (found.contributions["shift"], found.contributions["size"]) == (0.0, 0.0)
    assert "Assumed and not measured at every party: W1, W1_by_chance, beta, size." in found.summary
    partly = certificate(bowls(), seed=0, sketches=sketches()[:1])
    assert partly.parties["a"]["W1"].status == partly.beta.status == "assumed"
    assert certificate(bowls(rows=None), seed=0).parties["a"]["w"].status == "assumed"
    alone = certificate(bowls()[:1], seed=0)
    assert (alone.parties["a"]["W1"].value, alone.parties["a"]["W1"].status) == (0.0, "proved")


@pytest.mark.parametrize(("x", "vacuous"), [(np.linspace(0, 1, 401), False), (np.array([0.1, 0.5]), True)])
def test_dense_trials_of_a_smooth_loss_are_not_vacuous_and_few_trials_are(x: Floats, vacuous: bool) -> None:
    losses = 0.2 + 0.5 * x
    surface = AverageOfParties((interpolated(x, losses),), (1.0,))
    trials = [party("a", x.tolist(), losses.tolist())]
    found = certify(trials, LINE, surface, Recommendation({"x": 0.1}, {"x": 0.1}, 0.25, 0.0), seed=0)
    assert found.vacuous is vacuous
    assert found.to_json()["vacuous_because"] == (found.dominant if vacuous else None)
    assert any("vacuous" in sentence for sentence in found.summary) is vacuous


def test_a_recommendation_above_the_surfaces_minimum_pays_for_it() -> None:
    trials = bowls()[:1]
    surface = AverageOfParties((Known(lambda x: 0.2 + (x - 0.3) ** 2),), (1.0,))
    at = [Recommendation({"x": x}, {"x": x}, 0.0, 0.0) for x in (0.3, 0.8)]
    good, bad = (certify(trials, LINE, surface, recommendation, seed=0) for recommendation in at)
    assert bad.contributions["minimiser"] == pytest.approx(0.25, abs=1e-4)
    assert good.contributions["minimiser"] == pytest.approx(0, abs=1e-9)
    assert bad.bound.value > good.bound.value + 0.24


def test_the_order_of_parties_does_not_matter_and_the_seed_decides() -> None:
    first = certificate(bowls(), "mplm", seed=0, sketches=sketches())
    assert certificate(bowls()[::-1], "mplm", seed=0, sketches=sketches()[::-1]).to_json() == first.to_json()
    assert certificate(bowls(), "mplm", seed=1, sketches=sketches()).to_json() != first.to_json()


def test_the_finite_set_has_the_recommendation_the_default_all_trials_and_random_configs() -> None:
    points = finite_set(bowls(), LINE, Recommendation({"x": 0.123}, {"x": 0.123}, 0.0, 0.0), 0)
    assert points[:2, 0].tolist() == [0.123, 0.5]
    assert set(np.linspace(0, 1, 40)) <= set(points[:, 0])
    assert len(points) == 2 + 41 + 256
    many = party("a", np.random.default_rng(0).random(2_500).tolist(), [0.1] * 2_500)
    assert len(finite_set([many], LINE, Recommendation({"x": 0.1}, {"x": 0.1}, 0.0, 0.0), 0)) == 2 + 2_000 + 256


def test_weights_are_shares_of_rows_or_given() -> None:
    trials = [replace(bowls()[0], rows=300), bowls()[1]]
    assert [certificate(trials, seed=0).parties[name]["w"].value for name in "ab"] == [0.75, 0.25]
    given_weights = certificate(trials, seed=0, weights={"b": 0.9, "a": 0.1})
    assert [given_weights.parties[name]["w"].value for name in "ab"] == [0.1, 0.9]
    for wrong in ({"a": 1.0}, {"a": 0.5, "b": 0.6}, {"a": -0.5, "b": 1.5}):
        with pytest.raises(InputError, match="need a weight >= 0 for each of"):
            certificate(trials, seed=0, weights=wrong)


def test_evidence_of_others_is_refused() -> None:
    stranger = replace(sketches()[0], party="z")
    with pytest.raises(InputError, match=r"a sketch must be of one of the parties .*'z'"):
        certificate(bowls(), seed=0, sketches=[stranger])
    with pytest.raises(InputError, match="a learning curve must be of one of the parties, got 'z'"):
        certificate(bowls(), seed=0, curves=[curve("z", 0.5, [0.3, 0.2, 0.1])])
    with pytest.raises(InputError, match="neither of the recommendation nor"):
        certificate(bowls(), seed=0, curves=[curve("a", 0.77, [0.3, 0.2, 0.1])])
    with pytest.raises(InputError, match="number of rows of every party"):
        certificate(bowls(rows=None), seed=0, curves=[curve("a", 0.5, [0.3, 0.2, 0.1])])
