"""The surfaces: one contract for all, known numbers for each, and what may not be put together."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flora.aggregator.certificate.theorem import party_surfaces
from flora.aggregator.surface import SURFACES, LossSurface, SurfaceKind, check_compatible, fit_surface
from flora.aggregator.surfaces.average_of_parties import AverageOfParties
from flora.aggregator.surfaces.global_model import GlobalModel
from flora.aggregator.surfaces.global_model_with_uncertainty import GlobalModelWithUncertainty
from flora.aggregator.surfaces.max_of_parties import MaxOfParties
from flora.aggregator.surfaces.median_of_parties import MedianOfParties
from flora.errors import InputError, TrialsError
from flora.problem.space import Categorical, Integer, Points, Real, SearchSpace, Value
from flora.problem.trials import FailedTrial, PartyTrials, Trial
from flora.surrogate.regressors import REGRESSORS, Losses

SPACE = SearchSpace((Real("rate", 1e-3, 1.0, "log"), Integer("depth", 1, 30), Categorical("kind", ("a", "b"))))
POINTS = SPACE.sample(np.random.default_rng(3), 50)


def trials_of(party: str, middle: float, rows: int | None = 100, count: int = 25) -> PartyTrials:
    """A party whose best rate is at ``middle`` of the cube."""
    points = SPACE.sample(np.random.default_rng(len(party)), count)
    losses = (points[:, 0] - middle) ** 2 + 0.1 * points[:, 2]
    pairs = zip(SPACE.decode(points), losses, strict=True)
    return PartyTrials(party, rows, SPACE, "accuracy", tuple(Trial(config, float(loss)) for config, loss in pairs))


PARTIES = [trials_of("north", 0.2), trials_of("east", 0.8, rows=300), trials_of("west coast", 0.5, count=10)]


@cache
def fitted(name: str, regressor: str) -> SurfaceKind:
    return fit_surface(name, PARTIES, SPACE, 5, regressor=regressor)


@pytest.mark.parametrize("regressor", REGRESSORS)
@pytest.mark.parametrize("name", SURFACES)
class TestEverySurface:
    def test_same_seed_same_surface_whatever_the_order_of_parties(self, name: str, regressor: str) -> None:
        one, other = fitted(name, regressor), fit_surface(name, PARTIES[::-1], SPACE, 5, regressor=regressor)
        assert np.array_equal(one(POINTS), other(POINTS))
        assert np.array_equal(one.error(POINTS), other.error(POINTS))

    def test_finite_everywhere(self, name: str, regressor: str) -> None:
        surface = fitted(name, regressor)
        losses, errors = surface(POINTS), surface.error(POINTS)
        assert losses.shape == errors.shape == (50,)
        assert np.isfinite(losses).all()
        assert np.isfinite(errors).all()
        assert (errors >= 0).all()

    def test_one_trial_of_one_party_is_enough(self, name: str, regressor: str) -> None:
        alone = replace(PARTIES[0], trials=PARTIES[0].trials[:1])
        surface = fit_surface(name, [alone], SPACE, 5, regressor=regressor)
        assert surface(POINTS) == pytest.approx(alone.trials[0].loss)

    def test_the_parties_surfaces_times_their_alpha_are_the_surface(self, name: str, regressor: str) -> None:
        surface = fitted(name, regressor)
        predicted = np.array([of_party(POINTS) for of_party in party_surfaces(surface, len(PARTIES))])
        alpha = surface.alpha_of(predicted, np.random.default_rng(1).random(predicted.shape))
        assert alpha.sum(axis=0) == pytest.approx(1)
        assert (alpha * predicted).sum(axis=0) == pytest.approx(surface(POINTS))

    def test_what_is_left_without_a_party_is_what_the_others_give(self, name: str, regressor: str) -> None:
        ordered = sorted(PARTIES, key=lambda party: party.party)
        for k in range(len(ordered)):
            rest = fitted(name, regressor).without(k)
            others = fit_surface(name, ordered[:k] + ordered[k + 1 :], SPACE, 5, regressor=regressor)
            assert rest is None or np.array_equal(rest(POINTS), others(POINTS))


def test_a_new_party_moves_no_other() -> None:
    small, large = fit_surface("mplm", PARTIES[:2], SPACE, 5), fitted("mplm", "forest")
    assert isinstance(small, MaxOfParties)
    assert isinstance(large, MaxOfParties)
    for k in range(2):  # "east", "north", then "west coast"
        assert np.array_equal(small.parts[k].mean(POINTS), large.parts[k].mean(POINTS))


@dataclass(frozen=True)
class Known:
    """A regressor with known numbers."""

    mean_at: Callable[[Points], Losses]
    deviation_at: float

    def mean(self, points: Points) -> Losses:
        return self.mean_at(points)

    def deviation(self, points: Points) -> Losses:
        return np.full(len(points), self.deviation_at)


UP, DOWN = Known(lambda p: p[:, 0], 0.3), Known(lambda p: 1 - p[:, 0], 0.4)
TWO_POINTS = np.array([[0.2], [0.9]])


def numbers(surface: LossSurface) -> tuple[list[float], list[float]]:
    return surface(TWO_POINTS).round(12).tolist(), surface.error(TWO_POINTS).round(12).tolist()


def test_global_model_is_its_regressor() -> None:
    assert numbers(GlobalModel(UP)) == ([0.2, 0.9], [0.3, 0.3])


def test_global_model_with_uncertainty_adds_alpha_times_u() -> None:
    assert numbers(GlobalModelWithUncertainty(UP, 2.0)) == ([0.8, 1.5], [0.3, 0.3])
    assert numbers(GlobalModelWithUncertainty(UP)) == ([0.5, 1.2], [0.3, 0.3])


def test_max_of_parties_is_the_worst_partys_loss_and_error() -> None:
    assert numbers(MaxOfParties((UP, DOWN))) == ([0.8, 0.9], [0.4, 0.3])


def test_average_of_parties_and_the_error_of_independent_parties() -> None:
    assert numbers(AverageOfParties((UP, DOWN), (1.0, 1.0))) == ([0.5, 0.5], [0.25, 0.25])


def test_average_of_parties_by_weight() -> None:
    losses, errors = numbers(AverageOfParties((UP, DOWN), (300.0, 100.0)))
    assert losses == [0.35, 0.7]
    assert errors == pytest.approx([math.hypot(0.75 * 0.3, 0.25 * 0.4)] * 2)


def test_median_of_parties_forgets_levels_and_one_party_cannot_move_it() -> None:
    higher = Known(lambda p: p[:, 0] + 7, 0.3)  # the same surface at a higher level
    honest = MedianOfParties((UP, higher, UP), (0.5, 7.5, 0.5))
    assert numbers(honest)[0] == [0.2, 0.9]
    assert numbers(honest)[1] == pytest.approx([math.sqrt(math.pi / 6) * 0.3] * 2)
    for lie in (DOWN, Known(lambda p: -1000 * p[:, 0], 0.0)):
        lying = MedianOfParties((UP, higher, lie, UP, UP), (0.5, 7.5, float(lie.mean(np.array([[0.5]]))[0]), 0.5, 0.5))
        assert numbers(lying)[0] == [0.2, 0.9]


def test_the_level_of_a_party_is_its_mean_over_the_space_not_over_its_trials() -> None:
    surface = fitted("median", "forest")
    assert isinstance(surface, MedianOfParties)
    everywhere = SPACE.sample(np.random.default_rng(0), 4_000)
    means = [float(np.mean(party.mean(everywhere))) for party in surface.parties]
    assert surface.levels == pytest.approx(means, rel=0.15)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.floats(0.0, 1.0))
def test_average_never_exceeds_maximum(offsets: list[float], x: float) -> None:
    parties = tuple(Known(partial(np.add.reduce, axis=1, initial=offset), 0.1) for offset in offsets)
    point = np.array([[x]])
    average = AverageOfParties(parties, (1.0,) * len(parties))(point)[0]
    assert average <= MaxOfParties(parties)(point)[0] + 1e-9


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.0), (1.0, -1.0), (1.0, 1.0, 1.0)])
def test_average_needs_a_positive_weight_for_each_party(weights: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="a weight > 0 for each of 2 parties"):
        AverageOfParties((UP, DOWN), weights)


def test_weights_by_rows_are_the_parties_rows() -> None:
    surface = fit_surface("aplm", PARTIES, SPACE, 5, weights="rows")
    assert isinstance(surface, AverageOfParties)
    assert surface.weights == (300.0, 100.0, 100.0)  # east, north, west coast


def test_merged_trials_weigh_by_rows_not_by_their_number() -> None:
    config = SPACE.decode(POINTS[:1])[0]
    many = PartyTrials("many", 100, SPACE, "accuracy", (Trial(config, 0.0),) * 90)
    few = PartyTrials("few", 300, SPACE, "accuracy", (Trial(config, 1.0),) * 10)
    by_rows = fit_surface("sgm", [many, few], SPACE, 0, weights="rows")(POINTS[:1])
    equal = fit_surface("sgm", [many, few], SPACE, 0)(POINTS[:1])
    assert by_rows == pytest.approx([0.75], abs=0.03)
    assert equal == pytest.approx([0.1], abs=0.03)


def test_alpha_reaches_the_surface() -> None:
    plain, cautious = fitted("sgm+u", "forest"), fit_surface("sgm+u", PARTIES, SPACE, 5, alpha=3.0)
    assert cautious(POINTS) - plain(POINTS) == pytest.approx(2 * plain.error(POINTS))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"name": "best"}, r"surface must be one of \['sgm', .*\], got 'best'"),
        ({"regressor": "svm"}, r"regressor must be one of \['forest', 'gp'\], got 'svm'"),
        ({"weights": "size"}, r"weights must be one of \['equal', 'rows'\], got 'size'"),
        ({"alpha": 0.0}, "alpha must be a finite number > 0, got 0.0"),
        ({"alpha": math.nan}, "alpha must be a finite number > 0, got nan"),
        ({"name": "mplm", "weights": "rows"}, "surface 'mplm' has no weights, got weights 'rows'"),
        ({"name": "sgm", "weights": "rows", "regressor": "gp"}, "'gp' cannot weigh merged trials"),
    ],
)
def test_impossible_choices_are_refused(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_surface(**{"name": "aplm", "trials": PARTIES, "space": SPACE, "seed": 0, **choice})


@pytest.mark.parametrize("name", ["sgm", "sgm+u", "aplm"])
def test_weights_by_rows_need_every_partys_rows(name: str) -> None:
    with pytest.raises(TrialsError, match="party 'secret' does not state it"):
        fit_surface(name, [*PARTIES, trials_of("secret", 0.5, rows=None)], SPACE, 0, weights="rows")


def test_surface_is_of_the_space_that_was_searched() -> None:
    narrow = SearchSpace((*SPACE.parameters[:2], Categorical("kind", ("a", "b", "c"))))
    with pytest.raises(TrialsError, match="not the one that party 'east' searched"):
        fit_surface("aplm", PARTIES, narrow, 0)


def test_parties_that_belong_together_pass_in_any_order_of_hps() -> None:
    turned = SearchSpace(SPACE.parameters[::-1])
    check_compatible([PARTIES[0], replace(PARTIES[1], space=turned, family="hgb"), PARTIES[2]])


WIDER = SearchSpace((Real("rate", 1e-3, 2.0, "log"), *SPACE.parameters[1:]))
NUMBERED, TRUTHS = (SearchSpace((*SPACE.parameters[:2], Categorical("kind", v))) for v in ((0, 1), (False, True)))
SHORTER = SearchSpace(SPACE.parameters[:2])
LONE = trials_of("lone", 0.5)


def one_trial(party: str, space: SearchSpace, **more: Value) -> PartyTrials:
    return PartyTrials(party, 9, space, "accuracy", (Trial({"rate": 0.1, "depth": 3, **more}, 0.5),))


@pytest.mark.parametrize(
    ("parties", "message"),
    [
        ([], "at least one party, got none"),
        ([PARTIES[0], PARTIES[1], PARTIES[0]], "party names must differ, 'north' comes twice"),
        (
            [PARTIES[0], replace(LONE, space=WIDER)],
            r"HP 'rate' of the space must be the same.*2\.0\].* at 'lone', .*1\.0\].* at 'north'",
        ),
        (
            [one_trial("a", NUMBERED, kind=0), one_trial("b", TRUTHS, kind=False)],
            "the digest of the space .* at 'a', .* at 'b'",
        ),
        (
            [PARTIES[0], one_trial("lone", SHORTER)],
            "HP 'kind' .* None at 'lone', .*'values': .* at 'north'",
        ),
        ([PARTIES[0], replace(LONE, scoring="r2")], "the scoring .* 'r2' at 'lone', 'accuracy' at 'north'"),
        (
            [replace(PARTIES[0], family="svm"), PARTIES[1], replace(LONE, family="hgb")],
            "the family .* 'hgb' at 'lone', 'svm' at 'north'",
        ),
        (
            [replace(PARTIES[0], task="regression"), replace(LONE, task="classification")],
            "the task .* 'classification' at 'lone', 'regression' at 'north'",
        ),
        (
            [replace(LONE, trials=(), failed=(FailedTrial(LONE.trials[0].config, "MemoryError"),)), PARTIES[0]],
            "party 'lone': need at least one successful trial, all 1 failed",
        ),
    ],
    ids=["none", "twice", "range", "type", "missing HP", "scoring", "family", "task", "all failed"],
)
def test_what_does_not_belong_together_is_refused(parties: list[PartyTrials], message: str) -> None:
    with pytest.raises(TrialsError, match=message):
        check_compatible(parties)
    with pytest.raises(TrialsError, match=message):
        fit_surface("aplm", parties, SPACE, 0)
