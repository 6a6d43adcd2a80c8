"""The second look: on fresh folds, against the default, with all that a fit passes through."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from flora.core.workers import workers
from flora.errors import FloraError
from flora.models.family import Scores
from flora.models.hgb.family import GradientBoosting
from flora.models.rows import Rows, encode
from flora.models.svm import SupportVectors
from flora.party.local_search.search import search_locally
from flora.party.measure import confirm
from flora.party.tables.table import describe
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from tests.conftest import SVM_SPACE, two_moons

SVM, HGB = SupportVectors(), GradientBoosting()
PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=12, folds=3)
TREES = SearchPlan("hgb", "classification", HGB.spaces("classification")["own"], "balanced_accuracy", trials=2, folds=3)


def rows(count: int = 60) -> Rows:
    table = two_moons(count, 1)
    return encode(table, describe(table, "kind"))


def test_gains_are_paired_and_the_folds_are_fresh() -> None:
    better = {"C": 10.0, "gamma": 5.0, "tol": 1e-3}
    default, other = confirm(rows(120), PLAN, SVM, [better], party="a")
    assert (default.gain, default.gain_error) == (0.0, 0.0)
    assert dict(other.config) == better
    assert other.gain == pytest.approx(default.trial.loss - other.trial.loss)
    assert other.gain > 0
    assert other.gain_error > 0
    searched = search_locally(rows(120), replace(PLAN, trials=1), SVM, party="a").trials[0]
    assert searched.loss != default.trial.loss


def test_every_stop_of_a_path_is_measured_by_one_fit() -> None:
    config = {**TREES.space.default, "max_iter": 10, "learning_rate": 0.4, "l2_regularization": 0.1}
    found = confirm(rows(90), TREES, HGB, [config], party="a")
    stops = [10, 16, 27, 45, 74, 100, 121, 200]
    assert [c.config["max_iter"] for c in found] == [100, *(s for s in stops if s != 100), *stops]
    alone = confirm(rows(90), replace(TREES, paths=False), HGB, [{**config, "max_iter": 45}], party="a")
    same = next(c for c in found if c.config == {**config, "max_iter": 45})
    assert same == alone[1]
    assert len({c.trial.loss for c in found}) > 1


@dataclass(frozen=True)
class Fragile(SupportVectors):
    """Fails for a large C."""

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        if float(config["C"]) > self.limit:
            raise MemoryError("too large")
        return super().score(config, train, test, scoring, seed, path)

    limit: float = 5.0


def test_a_config_that_fails_is_left_out_and_the_default_must_not() -> None:
    configs = [{"C": 9.0, "gamma": 0.1, "tol": 1e-3}, {"C": 2.0, "gamma": 0.1, "tol": 1e-3}]
    assert [c.config["C"] for c in confirm(rows(), PLAN, Fragile(), configs, party="a")] == [1.0, 2.0]
    with pytest.raises(FloraError, match="party 'a': the default config failed with MemoryError"):
        confirm(rows(), PLAN, Fragile(limit=0.1), configs, party="a")


def test_the_number_of_jobs_changes_nothing() -> None:
    configs = [{"C": 9.0, "gamma": 0.1, "tol": 1e-3}]
    with workers(2) as spread:
        assert confirm(rows(), PLAN, SVM, configs, party="a") == confirm(
            rows(), PLAN, SVM, configs, party="a", spread=spread
        )


@dataclass(frozen=True)
class Lucky(SupportVectors):
    """Its score is the seed's doing alone."""

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        return [(config, seed % 997 / 997)]


def test_luck_is_the_same_for_all_configs_and_not_that_of_the_search() -> None:
    configs = [{"C": 9.0, "gamma": 0.1, "tol": 1e-3}]
    default, other = confirm(rows(), PLAN, Lucky(), configs, party="a")
    assert default.trial.loss == other.trial.loss
    assert (other.gain, other.gain_error) == (0.0, 0.0)
    assert confirm(rows(), PLAN, Lucky(), configs, party="b")[0].trial.loss != default.trial.loss
    assert search_locally(rows(), replace(PLAN, trials=1), Lucky(), party="a").trials[0].loss != default.trial.loss
