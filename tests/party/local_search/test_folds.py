"""Folds and fits on one party's rows: who is tested where, and what a fit that fails leaves behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pytest

from flora.core.workers import OverProcesses, one_by_one
from flora.errors import DataError
from flora.models.family import Scores
from flora.models.rows import Rows, encode
from flora.models.svm import SupportVectors
from flora.party.local_search.folds import (
    FoldTask,
    Tried,
    fold_count,
    folds_of,
    mean_and_error,
    score_fold,
    try_configs,
)
from flora.party.local_search.race import Leader
from flora.party.tables.table import describe
from flora.problem.path import Path, along
from flora.problem.plan import SearchPlan
from flora.problem.schema import Schema
from flora.problem.space import Config
from flora.randomness import derived_seed
from tests.conftest import SVM_SPACE, two_moons

A = TypeVar("A")
B = TypeVar("B")
PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=12, folds=3)


def rows(count: int = 40) -> Rows:
    table = two_moons(count, 1)
    return encode(table, describe(table, "kind"))


def numbers(count: int) -> Rows:
    return Rows(np.arange(count, dtype=float)[:, None], np.linspace(0, 1, count), Schema("y", "regression", ()))


class TestFolds:
    def test_every_row_is_tested_once_and_never_trained_on_there(self) -> None:
        folds = folds_of(rows(), PLAN, "a", "search")
        assert len(folds) == 3
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(40))
        for train, test in folds:
            assert sorted([*train, *test]) == list(range(40))

    def test_they_are_the_names_and_the_purposes_own(self) -> None:
        def tested(party: str, purpose: str, seed: int = 0) -> list[int]:
            return [int(k) for k in folds_of(rows(), replace(PLAN, seed=seed), party, purpose)[0][1]]

        assert tested("a", "search") == tested("a", "search")
        others = [tested("b", "search"), tested("a", "confirm"), tested("a", "search", seed=1)]
        assert tested("a", "search") not in others

    def test_they_fall_to_the_smallest_class_and_each_has_all_classes(self) -> None:
        table = two_moons(30, 3)
        table = pd.concat([table[table.kind == "lower"], table[table.kind == "upper"].head(4)])
        few = encode(table, describe(table, "kind"))
        assert fold_count(few, 10) == 4
        assert fold_count(few, 3) == 3
        folds = folds_of(few, replace(PLAN, folds=10), "a", "search")
        assert all(len(np.unique(few.y[test])) == 2 for _, test in folds)

    def test_of_numbers_there_are_as_many_as_rows(self) -> None:
        assert (fold_count(numbers(7), 10), fold_count(numbers(70), 10)) == (7, 10)
        assert [len(test) for _, test in folds_of(numbers(7), PLAN, "a", "search")] == [3, 2, 2]

    @pytest.mark.parametrize(
        "one", [Rows(rows().X[:3], np.array([0, 0, 1]), rows().schema), numbers(1)], ids=["a class", "a row"]
    )
    def test_one_row_cannot_be_cross_validated(self, one: Rows) -> None:
        with pytest.raises(DataError, match="2 rows of each, and this party has one row only"):
            fold_count(one, 10)

    def test_nor_can_one_class(self) -> None:
        with pytest.raises(DataError, match="at least 2 classes and 2 rows of each, and this party has one class only"):
            fold_count(Rows(rows().X[:3], np.array([1, 1, 1]), rows().schema), 10)


class TestAlong:
    path = Path("trees", (1, 5, 20))

    def test_without_a_path_it_is_the_config_alone(self) -> None:
        assert along({"C": 1.0}, None) == [{"C": 1.0}]

    def test_the_config_comes_first_and_no_stop_twice(self) -> None:
        assert [config["trees"] for config in along({"C": 1.0, "trees": 5}, self.path)] == [5, 1, 20]
        assert [config["trees"] for config in along({"C": 1.0, "trees": 7}, self.path)] == [7, 1, 5, 20]

    def test_a_config_that_is_nowhere_on_the_path_is_at_its_stops(self) -> None:
        assert along({"C": 1.0}, self.path) == [{"C": 1.0, "trees": stop} for stop in (1, 5, 20)]


@dataclass(frozen=True)
class Scripted(SupportVectors):
    """Has a score for each config and fold, a failure for some, and remembers nothing."""

    fails: float = 99.0
    score_of: Callable[[float, int], float] = lambda value, tested: value - tested / 1000

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        if float(config["C"]) >= self.fails:
            raise MemoryError("patient 4711")
        return [(each, self.score_of(float(each["C"]), len(test))) for each in (config, *path)]


class Inline:
    """Works in this process, as if it were several."""

    map = staticmethod(map)


class TestTryConfigs:
    name = ("a", "trial", 4)

    def tried(self, family: Scripted, configs: Sequence[Config], scoring: str = "accuracy", **more: Any) -> Tried:
        folds = folds_of(rows(), PLAN, "a", "search")
        spread = more.get("spread", lambda function, items: [function(item) for item in items])
        return try_configs(family, configs, rows(), folds, replace(PLAN, scoring=scoring), self.name, spread)

    def test_a_loss_for_each_fold_of_the_config_and_of_its_path(self) -> None:
        found = self.tried(Scripted(), [{"C": 0.5}, {"C": 0.25}])
        assert found.config == {"C": 0.5}
        assert found.fold_losses == pytest.approx((0.514, 0.513, 0.513))
        [(config, losses)] = found.path
        assert config == {"C": 0.25}
        assert losses == pytest.approx((0.764, 0.763, 0.763))
        assert found.failure is None
        assert found.seconds > 0

    def test_what_is_negated_is_a_loss_already(self) -> None:
        assert self.tried(Scripted(), [{"C": -4.0}], "neg_log_loss").fold_losses == pytest.approx((4.014, 4.013, 4.013))

    def test_one_fit_that_fails_is_a_failed_trial(self) -> None:
        found = self.tried(Scripted(fails=0.4), [{"C": 0.5}, {"C": 0.25}])
        assert (found.config, found.fold_losses, found.path) == ({"C": 0.5}, (), ())
        assert found.failure == "MemoryError: patient 4711"

    def test_a_score_that_is_not_finite_is_a_failed_trial(self) -> None:
        undefined = Scripted(score_of=lambda value, tested: float("nan") if tested == 14 else 0.5)
        found = self.tried(undefined, [{"C": 0.5}])
        assert found.failure == "ArithmeticError: accuracy is not always finite"
        assert found.fold_losses == ()

    def test_a_fold_after_the_last_one_needed_is_not_heard(self) -> None:
        later = Scripted(score_of=lambda value, tested: 0.1 if tested == 14 else float("nan"))  # the first has 14 rows
        folds, leader = folds_of(rows(), PLAN, "a", "search"), Leader((0.1, 0.1, 0.1), 0.01)
        for spread in (one_by_one, OverProcesses(Inline(), 2)):
            found = try_configs(later, [{"C": 0.5}], rows(), folds, PLAN, self.name, spread, leader)
            assert (found.failure, found.fold_losses, found.leader) == (None, (0.9,), leader)
        ahead = Leader((0.95, 0.95, 0.95), 0.01)
        assert try_configs(later, [{"C": 0.5}], rows(), folds, PLAN, self.name, one_by_one, ahead).failure

    def test_each_fold_has_its_rows_and_a_seed_of_its_own(self) -> None:
        tasks: list[Any] = []

        def watched(function: Callable[[A], B], items: Sequence[A]) -> list[B]:
            tasks.extend(items)
            return [function(item) for item in items]

        self.tried(Scripted(), [{"C": 0.5}, {"C": 0.25}], spread=watched)
        assert [task.seed for task in tasks] == [derived_seed(0, *self.name, k) for k in range(3)]
        assert len({task.seed for task in tasks}) == 3
        for task, (train, test) in zip(tasks, folds_of(rows(), PLAN, "a", "search"), strict=True):
            assert np.array_equal(task.train.X, rows().X[train])
            assert np.array_equal(task.test.y, rows().y[test])
            assert (task.config, task.path) == ({"C": 0.5}, ({"C": 0.25},))


def test_a_fit_says_why_it_failed_and_a_stop_is_no_failure() -> None:
    task = FoldTask(Scripted(fails=0.0), {"C": 1.0}, rows(), rows(), "accuracy", 0)
    assert score_fold(task) == "MemoryError: patient 4711"

    def stopped(value: float, tested: int) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_fold(replace(task, family=Scripted(score_of=stopped)))


class TestTried:
    path = (({"C": 1.0, "trees": 5}, (0.1, 0.3)), ({"C": 1.0, "trees": 9}, (0.2, 0.2)))
    whole = Tried({"C": 1.0, "trees": 1}, (0.5, 0.5), path, seconds=2.0)

    def test_the_best_of_a_path_leads_and_nothing_is_lost(self) -> None:
        led = self.whole.led_by_its_best()
        assert (led.config, led.fold_losses, led.seconds) == ({"C": 1.0, "trees": 5}, (0.1, 0.3), 2.0)
        assert [config["trees"] for config, _ in led.path] == [1, 9]  # the first of equals leads
        assert led.led_by_its_best() == led
        failed = Tried({"C": 1.0}, (), failure="MemoryError: no")
        assert failed.led_by_its_best() == failed

    def test_apart_each_is_an_outcome_of_its_own(self) -> None:
        apart = self.whole.apart()
        assert [(each.config["trees"], each.fold_losses) for each in apart] == [
            (1, (0.5, 0.5)),
            (5, (0.1, 0.3)),
            (9, (0.2, 0.2)),
        ]
        assert not any(each.path for each in apart)
        assert apart[1].loss_and_error() == pytest.approx((0.2, 0.1))

    def test_the_error_is_of_the_mean(self) -> None:
        assert mean_and_error([1.0, 2.0, 3.0, 4.0]) == pytest.approx((2.5, np.sqrt(5 / 3) / 2))
