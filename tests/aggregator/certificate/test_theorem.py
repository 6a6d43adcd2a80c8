"""The theorem's terms, and its bound on problems whose constants are known."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from flora.aggregator.certificate.theorem import (
    Continuity,
    by_config,
    corollary,
    distance_matrix,
    distribution_lipschitz,
    epsilon_bound,
    gap_bound,
    iid_gap_bound,
    loss_continuity,
    mixture_distance,
    nearest_trial,
    party_surfaces,
    regret_bound,
    training_error,
)
from flora.aggregator.surfaces.average_of_parties import AverageOfParties
from flora.aggregator.surfaces.global_model import GlobalModel
from flora.aggregator.surfaces.max_of_parties import MaxOfParties
from flora.errors import InputError
from flora.problem.space import Config, Real, SearchSpace
from tests.aggregator.certificate.cases import LINE, Floats, Known, column, interpolated, party

MIXED = SearchSpace.from_json(
    {
        "a": {"type": "real", "space": "log", "range": [0.01, 100]},
        "b": {"type": "int", "space": "linear", "range": [1, 9]},
        "c": {"type": "cat", "values": ["p", "q", "r"]},
        "d": {"type": "bool"},
    }
)


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
    by_hand = [0.3 * 1 + 0.2 * 4, 0.5 * 1 + 0.2 * 2, 0.5 * 4 + 0.3 * 2]
    assert [mixture_distance(weights, own) for own in apart] == pytest.approx(by_hand)
    apart[0, 2] = apart[2, 0] = np.nan
    assert [mixture_distance(weights, own) for own in apart] == pytest.approx([0.3, 0.9, 0.6])


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=6), min_size=2, max_size=4), st.integers(0, 99))
def test_mixture_distance_is_above_the_exact_distance_to_the_mixture(samples: list[list[float]], seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(samples)))
    shares = np.concatenate([np.full(len(s), w / len(s)) for s, w in zip(samples, weights, strict=True)])
    for own in samples:
        apart = np.array([wasserstein_distance(own, other) for other in samples])
        exact = wasserstein_distance(np.concatenate(samples), own, u_weights=shares)
        assert mixture_distance(weights, apart) >= exact - 1e-9


def test_continuity_of_a_straight_line_and_of_a_step() -> None:
    points = column(0.0, 0.1, 0.4, 1.0)
    straight = Continuity.between(LINE, points, 3 * points[:, 0], points, 3 * points[:, 0])
    assert straight.lipschitz == pytest.approx(3)
    assert straight(np.array([0.0, 0.5, 1.0])) == pytest.approx([0, 1.5, 3])
    jump = np.array([0.0, 1.0, 1.0, 1.0])
    step = Continuity.between(LINE, points, jump, points, jump)
    assert step.lipschitz == pytest.approx(10)
    assert step(np.array([0.01, 0.1, 0.5])) == pytest.approx([0.1, 1, 1])


def test_a_difference_at_distance_zero_is_noise_that_the_modulus_keeps() -> None:
    found = loss_continuity(party("a", [0.2, 0.2, 0.7], [0.1, 0.3, 0.2]), LINE)
    assert found.lipschitz == pytest.approx(0.1 / 0.5)
    assert found(np.array([0.0, 0.5, 1.0])) == pytest.approx([0.2, 0.2, 0.2])
    assert loss_continuity(party("a", [0.2, 0.7], [0.1, 0.1]), LINE).lipschitz == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 1)), min_size=2, max_size=12), st.floats(0.001, 1))
def test_the_modulus_is_above_all_pairs_concave_and_the_lowest_such(pairs: list[tuple[int, float]], at: float) -> None:
    x, y = np.array(pairs).T / [[100], [1]]
    modulus = Continuity.between(LINE, x[:, None], y, x[:, None], y)
    apart, differ = np.abs(x[:, None] - x).ravel(), np.abs(y[:, None] - y).ravel()
    assert (modulus(apart) >= differ - 1e-9).all()
    grid = modulus(np.linspace(0, 1, 101))
    assert (np.diff(grid) >= -1e-9).all()
    assert (np.diff(grid, 2) <= 1e-9).all()
    # the lowest line above all pairs, at one distance, is the lowest concave function there
    best = linprog([at, 1], A_ub=-np.column_stack([apart, np.ones(len(apart))]), b_ub=-differ).fun
    assert modulus(np.array([at]))[0] == pytest.approx(best, abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 1)), min_size=2, unique_by=lambda pair: pair[0]))
def test_the_lipschitz_constant_is_the_largest_ratio(pairs: list[tuple[int, float]]) -> None:
    x, y = np.array(pairs).T / [[100], [1]]
    upper = np.triu_indices(len(x), 1)
    ratios = np.abs(np.subtract.outer(y, y)[upper] / np.subtract.outer(x, x)[upper])
    assert Continuity.between(LINE, x[:, None], y, x[:, None], y).lipschitz == pytest.approx(ratios.max(), rel=1e-6)


def test_beta_is_the_largest_ratio_over_configs_that_two_parties_tried() -> None:
    a, b, c = (
        by_config(each)
        for each in (party("a", [0.5, 0.1], [0.2, 0.9]), party("b", [0.5, 0.3], [0.3, 0.1]), party("c", [0.3], [0.4]))
    )
    assert distribution_lipschitz(b, [a, c], np.array([2, 0.5])) == pytest.approx(max(0.1 / 2, 0.3 / 0.5))
    assert distribution_lipschitz(b, [a, c], np.array([2, np.nan])) == pytest.approx(0.05)
    assert distribution_lipschitz(b, [a, c], np.zeros(2)) is None
    assert distribution_lipschitz(b, [], np.zeros(0)) is None


LOW, HIGH = Known(lambda x: x), Known(lambda x: 1 - x)


def test_alpha_of_each_surface() -> None:
    predicted = np.array([[0.2, 0.9], [0.8, 0.1]])
    brace = np.array([[5.0, 1.0], [4.0, 2.0]])
    average = AverageOfParties((LOW, HIGH), (30.0, 10.0))
    assert average.alpha_of(predicted, brace).tolist() == [[0.75, 0.75], [0.25, 0.25]]
    assert MaxOfParties((LOW, HIGH)).alpha_of(predicted, brace).tolist() == [[0, 1], [1, 0]]
    assert GlobalModel(LOW).alpha_of(predicted, brace).tolist() == [[0, 1], [1, 0]]


def test_a_surface_of_other_parties_is_refused() -> None:
    with pytest.raises(InputError, match="of the same 3 parties, got 2"):
        party_surfaces(MaxOfParties((LOW, HIGH)), 3)


def test_two_parties_by_hand() -> None:
    """At the first config: 2 [1/2 (2*0.1 + 3*0.1 + 0.01) + 1/2 (2*0.3 + 4*0.2 + 0.05)] = 1.96; at the second less."""
    weights = np.full((2, 2), 0.5)
    weighted = np.array([0.75, 0.25])
    shift = np.array([mixture_distance(weighted, np.array(apart)) for apart in ([0, 0.4], [0.4, 0])])
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
    places = np.array(problem.places)
    shift = np.array([mixture_distance(weights, np.abs(places - own)) for own in places])
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


def test_the_corollary_needs_a_default_above_the_best() -> None:
    assert corollary(0.1, default=0.5, best=0.3) == pytest.approx(0.5)
    assert corollary(0.1, default=0.3, best=0.3) is None


def test_the_regret_is_the_gap_beside_gap_and_gain_together() -> None:
    """A gap of 0.1 and a gain of 0.3 are a regret of 0.1 / 0.4; less of a gap or more of a gain make it smaller."""
    assert regret_bound(0.1, gain=0.3) == pytest.approx(0.25)
    assert regret_bound(0.1, gain=0.0) == 1.0
    assert regret_bound(0.0, gain=0.0) is None  # nothing is to be gained, and nothing is lost
    assert regret_bound(0.1, gain=-0.01) is None  # where the default may be better there is no bound


@given(st.floats(0.01, 1), st.floats(0.01, 2), st.floats(0, 1), st.floats(-1, 1))
def test_a_gain_known_to_within_the_bound_proves_the_bound_over_the_gain(
    bound: float, predicted: float, share: float, error: float
) -> None:
    gap, gain = share * bound, predicted + error * bound  # whatever the truth is, within the bound
    if predicted > bound:
        proved = regret_bound(bound, predicted - bound)
        assert proved == pytest.approx(bound / predicted)
        assert gap / (gain + gap) <= bound / predicted + 1e-9
