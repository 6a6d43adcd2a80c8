"""Learning curves: how a party measures one, and what may be read from it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pytest

from flora.aggregator.certificate.extrapolation import extrapolate
from flora.core.codec import to_document
from flora.errors import FloraError, InputError
from flora.models import family_of
from flora.models.family import Scores
from flora.models.rows import Rows, encode
from flora.models.svm import SupportVectors
from flora.party.learning_curve import learning_curve
from flora.party.local_search.folds import folds_of
from flora.party.tables.table import describe
from flora.problem.learning_curve import CurvePoint, LearningCurve
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from tests.conftest import SVM_SPACE, two_moons

PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=1, folds=3)
SVM = family_of("svm")
A = TypeVar("A")
B = TypeVar("B")
CONFIG: Config = {"C": 10.0, "gamma": 5.0, "tol": 1e-3}


def rows(count: int) -> Rows:
    table = two_moons(count, 1)
    return encode(table, describe(table, "kind"))


def curve(losses: Sequence[float], errors: Sequence[float] | float = 0.005, first: int = 100) -> LearningCurve:
    spread = [errors] * len(losses) if isinstance(errors, float) else errors
    points = [CurvePoint(first * 2**k, loss, error) for k, (loss, error) in enumerate(zip(losses, spread, strict=True))]
    return LearningCurve("a", {"C": 1.0}, tuple(points))


def power_law(a: float, b: float, c: float, sizes: int = 3) -> list[float]:
    return [c + a * (100 * 2**k) ** -b for k in range(sizes)]


def test_losses_fall_with_more_rows_on_the_same_folds() -> None:
    found = learning_curve(rows(240), PLAN, SVM, CONFIG, party="a")
    assert [point.rows for point in found.points] == [40, 80, 160]
    assert found.points[0].loss > found.points[-1].loss
    folds = folds_of(rows(240), PLAN, "a", "curve")
    scores = [
        SVM.score(CONFIG, rows(240).take(train), rows(240).take(test), "balanced_accuracy", 0)[0][1]
        for train, test in folds
    ]
    assert found.points[-1].loss == pytest.approx(1 - np.mean(scores))
    assert found.points[-1].error == pytest.approx(np.std(scores, ddof=1) / math.sqrt(3))


@dataclass(frozen=True)
class Recorder(SupportVectors):
    """An SVM that remembers what it was trained and tested on."""

    seen: Any = None

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        self.seen.append((train, test))
        return super().score(config, train, test, scoring, seed, path)


@pytest.mark.parametrize("count", [41, 83, 120, 241])
def test_small_sizes_use_sub_samples_without_a_row_in_common(count: int) -> None:
    seen: list[tuple[Rows, Rows]] = []
    data = rows(count)
    found = learning_curve(data, PLAN, Recorder(seen=seen), CONFIG, party="a", sizes=(0.25, 0.3, 1.0))
    assert len(seen) == 3 * 4 + 3 * 3 + 3
    for pieces, share in ((seen[:4], 0.25), (seen[12:15], 0.3)):
        drawn = np.concatenate([train.X[:, 0] for train, _ in pieces])
        assert len(np.unique(drawn)) == len(drawn)
        for train, test in pieces:
            assert not set(train.X[:, 0]) & set(test.X[:, 0])
            assert len(train) == pytest.approx(share * len(seen[-1][0]), abs=1.5)
            assert train.y.mean() == pytest.approx(data.y.mean(), abs=2 / len(train))
    assert found.points[-1].rows == pytest.approx(count * 2 / 3, abs=1)


def backwards(function: Callable[[A], B], items: Sequence[A]) -> list[B]:
    return [function(item) for item in reversed(items)][::-1]


def test_the_same_curve_in_whatever_order_fits_are_made_and_another_for_another_party() -> None:
    alone = learning_curve(rows(80), PLAN, SVM, CONFIG, party="a")
    assert learning_curve(rows(80), PLAN, SVM, CONFIG, party="a", spread=backwards) == alone
    assert learning_curve(rows(80), PLAN, SVM, CONFIG, party="b") != alone


@dataclass(frozen=True)
class Lenient(SupportVectors):
    """An SVM that is content with rows of one class."""

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        return (
            super().score(config, train, test, scoring, seed, path) if len(np.unique(train.y)) > 1 else [(config, 0.5)]
        )


def test_a_size_that_would_lose_a_class_is_left_out() -> None:
    table = two_moons(60, 3)
    few = pd.concat([table[table.kind == "lower"], table[table.kind == "upper"].head(4)])
    data = encode(few, describe(few, "kind"))
    found = learning_curve(data, PLAN, Lenient(), CONFIG, party="a")
    assert len(found.points) == 2
    read = extrapolate(found, 1000)
    assert (read.change, read.reason) == (None, "needs 3 sizes, got 2")
    assert read.high == found.points[-1].loss


def test_a_regression_has_no_classes_to_lose() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(90)})
    table["y"] = 3 * table.x + rng.normal(0, 0.1, 90)
    family = family_of("sklearn.linear_model:Ridge")
    space = type(SVM_SPACE).from_json({"alpha": {"type": "real", "space": "log", "range": [0.01, 10], "default": 1.0}})
    plan = SearchPlan(family.name, "regression", space, "neg_mean_squared_error", trials=1, folds=3)
    found = learning_curve(encode(table, describe(table, "y")), plan, family, {"alpha": 1.0}, party="a")
    assert [point.rows for point in found.points] == [15, 30, 60]
    assert found.points[0].loss > found.points[-1].loss > 0


@dataclass(frozen=True)
class Hungry(SupportVectors):
    """An SVM that fails on some samples of few rows, or on all."""

    least: int = 30
    some: bool = True

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        if len(train) < self.least and not (self.some and train.X[0, 0] > train.X[1, 0]):
            raise MemoryError("too few")
        return super().score(config, train, test, scoring, seed, path)


def test_a_size_at_which_a_fit_fails_is_left_out_and_none_at_all_is_an_error() -> None:
    assert len(learning_curve(rows(90), PLAN, Hungry(), CONFIG, party="a").points) == 2
    with pytest.raises(FloraError, match=r"party 'a': no learning curve of .*MemoryError: too few"):
        learning_curve(rows(90), PLAN, Hungry(least=1000, some=False), CONFIG, party="a")


@pytest.mark.parametrize("size", [0.0, 1.5, math.nan])
def test_sizes_are_shares(size: float) -> None:
    with pytest.raises(InputError, match="shares of the rows, above 0 and at most 1"):
        learning_curve(rows(40), PLAN, SVM, CONFIG, party="a", sizes=(size, 1.0))


@pytest.mark.parametrize("b", [0.25, 0.5, 1.0])
def test_an_exact_power_law_is_found_again(b: float) -> None:
    found = extrapolate(curve(power_law(1.0, b, 0.1), 1e-5), 4000)
    true = 400**-b - 4000**-b
    assert found.change == pytest.approx(true, rel=0.2)
    assert found.low <= true <= found.high


def test_intervals_hold_the_truth_about_nine_times_in_ten() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(100):
        b, a = rng.uniform(0.1, 1.2), rng.uniform(0.5, 3)
        seen = np.array(power_law(a, b, 0.1)) + rng.normal(0, 0.004, 3)
        found = extrapolate(curve(seen.tolist(), 0.004), 4000)
        inside += found.low <= seen[-1] - 0.1 - a * 4000**-b <= found.high
    assert 84 <= inside <= 98


def test_a_flat_curve_says_no_change_within_its_noise() -> None:
    found = extrapolate(curve([0.301, 0.299, 0.3]), 4000)
    assert found.change == pytest.approx(0, abs=0.005)
    assert -0.03 < found.low < -0.01
    assert 0.01 < found.high < 0.03


def test_more_noise_and_more_reach_widen_the_interval() -> None:
    def width(error: float, rows: int) -> float:
        found = extrapolate(curve(power_law(1.0, 0.5, 0.1), error), rows)
        return found.high - found.low

    assert width(0.001, 800) < width(0.004, 800) < width(0.004, 40_000)


@pytest.mark.parametrize(
    ("losses", "error", "rise", "reason"),
    [
        ([0.2, 0.25, 0.3], 0.005, 0.1, "the loss rises with more rows"),
        ([0.5, 0.49, 0.38], 0.005, 0.01, "no power law fits"),
        ([0.3, 0.2, 0.3], 0.005, 0.1, "no power law fits"),
        ([0.5, 0.5, 0.5], 0.0, 0.0, "the losses do not vary over the folds"),
        ([0.3, 0.2], 0.005, 0.01, "needs 3 sizes, got 2"),
        ([0.3], 0.005, 0.01, "needs 3 sizes, got 1"),
    ],
)
def test_what_is_no_power_law_is_not_identified_and_may_do_anything(
    losses: list[float], error: float, rise: float, reason: str
) -> None:
    found = extrapolate(curve(losses, error), 4000)
    assert found.change is None
    assert found.reason.startswith(reason)
    assert (-found.low, found.high) == pytest.approx((rise, losses[-1]))
    below = extrapolate(curve([loss - 1 for loss in losses], error), 4000)  # a loss that may be below 0 has no floor
    assert below.high == pytest.approx(max(losses) - min(losses))


def test_no_loss_falls_below_zero() -> None:
    steep = extrapolate(curve([0.3, 0.2, 0.1]), 10**6)
    assert steep.high == pytest.approx(0.1)
    assert extrapolate(curve([-0.7, -0.8, -0.9]), 10**6).high > 0.2


def test_one_loss_without_an_error_does_not_decide_alone() -> None:
    mixed = extrapolate(curve([0.3, 0.2, 0.15], [0.0, 0.02, 0.02]), 4000)
    assert mixed.high - mixed.low > 0.02


def test_it_does_not_look_back() -> None:
    with pytest.raises(InputError, match="from 400 rows down to 399"):
        extrapolate(curve([0.3, 0.2, 0.15]), 399)


def test_a_curve_holds_no_more_than_sizes_losses_and_errors() -> None:
    document = to_document(learning_curve(rows(80), replace(PLAN, folds=5), SVM, CONFIG, party="a"))
    assert set(document) == {"party", "config", "points"}
    assert all(set(point) == {"rows", "loss", "error"} for point in document["points"])
    assert 1 <= len(document["points"]) <= 3
