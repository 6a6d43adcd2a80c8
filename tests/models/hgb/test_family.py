import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from flora.core.collective import Alone, Collective, Integers, PassesOn
from flora.core.threads import in_step
from flora.core.workers import one_thread
from flora.errors import SpaceError
from flora.models import family_of
from flora.models.family import Held, ModelFamily
from flora.models.hgb.family import GradientBoosting
from flora.models.hgb.model import BoostedTrees
from flora.models.rows import Rows
from flora.problem.schema import Column, Schema
from flora.problem.space import Config, Value
from tests.models.hgb.tables import table, uneven

HGB = GradientBoosting()
CLASSES = pytest.mark.parametrize("classes", [2, 3, 0], ids=["binary", "three classes", "regression"])
Wrap = Callable[[Collective], Collective]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


def train(parts: Sequence[Rows], config: Config, wraps: Mapping[int, Wrap] | None = None) -> list[BoostedTrees]:
    def share(rank: int) -> Callable[[Collective], BoostedTrees]:
        wrap: Wrap = (wraps or {}).get(rank, lambda collective: collective)
        return lambda collective: HGB.train(config, parts[rank], wrap(collective), 0).model

    return in_step([share(rank) for rank in range(len(parts))])


@dataclass(frozen=True)
class Watched(PassesOn):
    """A collective that notes what is said, may come late, and may break at a call. It carries integers alone."""

    inner: Collective
    said: list[Integers] = field(default_factory=list)
    late: float = 0.0
    breaks_at: int | None = None

    def add_integers(self, values: Integers) -> Integers:
        self.said.append(values)
        if len(self.said) == self.breaks_at:
            raise ZeroDivisionError("a fault at one party")
        if len(self.said) % 7 == 0:
            time.sleep(self.late)
        return self.inner.add_integers(values)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        raise AssertionError("hgb gathers nothing")


class TestTogetherAndApart:
    @CLASSES
    def test_all_parties_get_the_same_bytes_whoever_comes_first(self, classes: int) -> None:
        parts, config = uneven(table("categories", classes, 300)), {"max_iter": 2}
        lates: list[Mapping[int, Wrap]] = [{k: lambda inner: Watched(inner, late=0.001)} for k in range(2)]
        found = [model.files() for wraps in lates for model in train(parts, config, wraps)]
        assert all(files == found[0] for files in found)

    @CLASSES
    def test_rows_in_one_process_give_the_same_bytes(self, classes: int) -> None:
        rows = table("missing values", classes, 400)
        parts, config = uneven(rows), {"max_iter": 4, "learning_rate": 0.4}
        together = HGB.train_together(config, parts, 0)
        assert train(parts, config)[0].files() == together.model.files()
        assert together.config == config
        assert HGB.train_together(config, [rows], 0).model.files() == together.model.files()

    def test_rows_held_out_choose_the_same_number_of_trees(self) -> None:
        parts, config = uneven(table("numbers", 2, 400)), {"max_iter": 10, "learning_rate": 0.5}
        held = [Held(rows, "balanced_accuracy") for rows in uneven(table("numbers", 2, 200, seed=1))]

        def share(rank: int) -> Callable[[Collective], tuple[object, object]]:
            def run(collective: Collective) -> tuple[object, object]:
                done = HGB.train(config, parts[rank], collective, 0, held[rank])
                return done.model.files(), done.config

            return run

        together = HGB.train_together(config, parts, 0, held)
        assert in_step([share(k) for k in range(5)]) == [(together.model.files(), together.config)] * 5
        assert together.config["max_iter"] == len(together.model.trees)


class TestPrivacy:
    def test_only_sums_of_integers_leave_in_shapes_that_know_no_party(self) -> None:
        rows = table("categories", 3, 365)
        order = np.argsort(rows.X[:, 3])
        parts = [rows.take(index) for index in np.split(order, [211, 312])]
        watched = [Watched(Alone()) for _ in parts]

        def watch(k: int) -> Wrap:
            def wrap(inner: Collective) -> Collective:
                watched[k] = Watched(inner)
                return watched[k]

            return wrap

        train(parts, {"max_iter": 3}, {k: watch(k) for k in range(3)})
        assert len(watched[0].said) > 20
        for line in watched:
            assert [said.shape for said in line.said] == [said.shape for said in watched[0].said]
            assert not {211, 101, 53} & {length for said in line.said for length in said.shape}


@pytest.mark.parametrize("at", [1, 20, 60, 75, 200])
def test_a_party_that_fails_ends_the_training_for_all(at: int) -> None:
    parts = uneven(table("numbers", 2, 300))[-2:]
    with pytest.raises(ZeroDivisionError, match="a fault at one party"):
        train(parts, {"max_iter": 50}, {1: lambda inner: Watched(inner, breaks_at=at)})


def test_held_out_accuracy_is_that_of_pooled_gradient_boosting() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    columns = tuple(Column(f"c{k:02}", "numeric") for k in range(30))
    rows = Rows(X, y, Schema("t", "classification", columns, (0, 1)))
    held_out, rest = rows.take(np.arange(0, 569, 3)), rows.take(np.setdiff1d(np.arange(569), np.arange(0, 569, 3)))
    model = HGB.train_together({"max_iter": 20}, [rest], 0).model
    pooled = HistGradientBoostingClassifier(max_iter=20).fit(rest.X, rest.y).score(held_out.X, held_out.y)
    assert pooled > 0.93
    assert (model.predict(held_out.X) == held_out.y).mean() >= pooled - 0.02


def zero_inflated(seed: int) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(seed)
    amounts = np.where(rng.random((24_000, 2)) < 0.92, 0.0, np.exp(2 * rng.normal(size=(24_000, 2))))
    waves = np.where(amounts > 0, np.sin(2 * np.log(np.where(amounts > 0, amounts, 1.0))), -0.4).max(axis=1)
    y = (waves + rng.normal(0, 0.2, 24_000) > 0).astype(int)
    rows = Rows(amounts, y, Schema("t", "classification", (Column("a", "numeric"), Column("b", "numeric")), (0, 1)))
    return rows.take(np.arange(16_000)), rows.take(np.arange(16_000, 24_000))


def auc_lost(config: Config, seed: int) -> float:
    """How much worse a training is than pooled scikit-learn with bins of its own."""
    kept, held = zero_inflated(seed)
    model = HGB.train_together(config, [kept], 0).model
    pooled = HistGradientBoostingClassifier(max_iter=30, early_stopping=False).fit(kept.X, kept.y)
    ours, theirs = model.scores(held.X)[:, 0], pooled.decision_function(held.X)
    return float(roc_auc_score(held.y, theirs) - roc_auc_score(held.y, ours))


def test_columns_that_are_mostly_zero_are_as_good_as_pooled() -> None:
    assert abs(np.mean([auc_lost({"max_iter": 30}, seed) for seed in range(4)])) < 0.002
    assert auc_lost({"max_iter": 30, "max_bins": 8}, 0) > 0.006  # so bins matter here


class TestDifficultRows:
    def agree(self, parts: Sequence[Rows], config: Config) -> BoostedTrees:
        models = train(parts, config)
        assert all(model.files() == models[0].files() for model in models)
        assert HGB.load(models[0].files(), parts[0].schema).files() == models[0].files()
        return models[0]

    @CLASSES
    def test_where_nothing_can_be_split_the_pooled_mean_is_predicted(self, classes: int) -> None:
        rows = table("numbers", classes, 60)
        model = self.agree(uneven(rows), {"min_samples_leaf": 40})
        probabilities = model.predict_proba(rows.X)
        if probabilities is None:
            assert model.predict(rows.X) == pytest.approx(np.full(60, rows.y.mean()))
        else:
            assert probabilities == pytest.approx(np.tile(np.bincount(rows.y) / 60, (60, 1)))

    def test_columns_without_information(self) -> None:
        columns = (Column("a", "empty"), Column("b", "numeric"), Column("c", "categorical", ("x",)))
        X = np.column_stack([np.full(40, np.nan), np.full(40, 2.0), np.zeros(40)])
        rows = Rows(X, np.arange(40) % 2, Schema("t", "classification", columns, (0, 1)))
        assert self.agree([rows.take(np.arange(15)), rows.take(np.arange(15, 40))], {}).predict(X).shape == (40,)
        assert HGB.score({}, rows, rows, "balanced_accuracy", 0)[0][1] == 0.5

    def test_missing_or_not_may_be_all_that_a_column_says(self) -> None:
        X = np.where(np.arange(80) % 2, 3.0, np.nan).reshape(-1, 1)
        rows = Rows(X, np.arange(80) % 2, Schema("t", "classification", (Column("a", "numeric"),), (0, 1)))
        model = self.agree([rows.take(np.arange(0, 80, 2)), rows.take(np.arange(1, 80, 2))], {"max_iter": 3})
        assert np.array_equal(model.predict(X), rows.y)

    @pytest.mark.parametrize("n_categories", [1, 2, 254, 255, 256, 1000])
    def test_categories_are_learned_however_many_they_are(self, n_categories: int) -> None:
        codes = np.arange(5000) % n_categories
        columns = (Column("a", "categorical", tuple(f"{k:04}" for k in range(n_categories))), Column("b", "numeric"))
        y = np.where(codes < n_categories / 2, 1.0, -1.0)
        rows = Rows(np.column_stack([codes, np.zeros(5000)]).astype(float), y, Schema("t", "regression", columns))
        model = HGB.train({"max_iter": 40, "learning_rate": 0.3}, rows, Alone(), 0).model
        assert np.abs(model.predict(rows.X) - rows.y).mean() < 0.02
        assert np.array_equal(HGB.load(model.files(), rows.schema).predict(rows.X), model.predict(rows.X))

    def test_a_partys_missing_values_and_categories_may_be_its_own(self) -> None:
        rows = table("categories", 2, 900)
        strange = np.isnan(rows.X[:, 0]) | (rows.X[:, 0] == 1)
        model = self.agree([rows.take(np.flatnonzero(strange)), rows.take(np.flatnonzero(~strange))], {"max_iter": 20})
        assert (model.predict(rows.X) == rows.y).mean() > 0.85


class TestScore:
    @pytest.mark.parametrize(("classes", "scoring"), [
        (2, "balanced_accuracy"), (2, "roc_auc"), (3, "f1_macro"), (3, "roc_auc_ovr"), (3, "neg_log_loss"), (0, "r2"),
    ])  # fmt: skip
    def test_it_learns(self, classes: int, scoring: str) -> None:
        train_rows, test_rows = table("numbers", classes, 600), table("numbers", classes, 300, seed=1)
        config: Config = {"max_iter": 30}
        [(scored, score)] = HGB.score(config, train_rows, test_rows, scoring, 0)
        assert scored == config
        assert score > (-0.9 if scoring == "neg_log_loss" else 0.6)
        assert HGB.score(config, train_rows, test_rows, scoring, 0)[0][1] == score

    @CLASSES
    def test_it_is_the_score_of_the_model_that_is_trained(self, classes: int) -> None:
        rows = table("categories", classes, 600)
        kept, held = rows.take(np.arange(400)), rows.take(np.arange(400, 600))
        config = {"max_iter": 9, "learning_rate": 0.3, "min_samples_leaf": 7, "l2_regularization": 0.5}
        model = HGB.train(config, kept, Alone(), 5).model
        scoring = "accuracy" if classes else "r2"
        expected = model.to_sklearn().score(held.X, held.y)
        assert HGB.score(config, kept, held, scoring, 5)[0][1] == expected

    def test_one_fit_scores_its_whole_path_as_fits_of_their_own_would(self) -> None:
        rows = table("missing values", 2, 300)
        train_rows, test_rows = rows.take(np.arange(200)), rows.take(np.arange(200, 300))
        config = {"max_iter": 12, "learning_rate": 0.3}
        path = [{**config, "max_iter": count} for count in (3, 40, 25)]
        scores = HGB.score(config, train_rows, test_rows, "roc_auc", 5, path)
        alone = [HGB.score(each, train_rows, test_rows, "roc_auc", 5)[0] for each in (config, *path)]
        assert list(scores) == alone
        assert len({score for _, score in scores}) > 1

    def test_a_class_may_be_absent_from_the_fold(self) -> None:
        rows = table("numbers", 3, 60)
        train_rows = rows.take(np.flatnonzero(rows.y != 1))
        assert np.isfinite(HGB.score({}, train_rows, rows, "neg_log_loss", 0)[0][1])
        two = table("numbers", 2, 60)
        score = HGB.score({}, two.take(np.flatnonzero(two.y == 1)), two, "balanced_accuracy", 0)
        assert score[0][1] == 0.5


class TestHyperParameters:
    def test_the_space_is_the_papers(self) -> None:
        family: ModelFamily = family_of("hgb")
        space, own = family.spaces("classification")["paper"], family.spaces("classification")["own"]
        assert space.names == ("max_iter", "learning_rate", "min_samples_leaf", "l2_regularization")
        assert own.names == (*space.names, "class_balance")  # and the paper's alone for a regression
        assert family.spaces("regression")["own"] == family.spaces("regression")["paper"]
        assert own.default["class_balance"] == 0
        assert dict(space.default) == {
            "max_iter": 100, "learning_rate": 0.1, "min_samples_leaf": 20, "l2_regularization": 0,
        }  # fmt: skip

    def test_defaults_are_given_by_name(self) -> None:
        found = HGB.defaults(["max_leaf_nodes", "max_depth"], "regression")
        assert found == {"max_leaf_nodes": 31, "max_depth": -1}
        with pytest.raises(SpaceError, match=r"unheard_of: the family hgb has no such HP, it has .*max_leaf_nodes"):
            HGB.defaults(["max_leaf_nodes", "unheard_of"], "regression")

    @pytest.mark.parametrize(("name", "value"), [
        ("max_leaf_nodes", 4), ("max_depth", 2), ("max_features", 0.3), ("max_bins", 8), ("learning_rate", 1),
        ("max_iter", 3), ("min_samples_leaf", 40), ("l2_regularization", 9.0),
    ])  # fmt: skip
    def test_each_moves_the_model(self, name: str, value: Value) -> None:
        rows = table("numbers", 0, 200)
        default, moved = (HGB.train({"max_iter": 5, **more}, rows, Alone(), 0).model for more in ({}, {name: value}))
        assert default.files() != moved.files()

    def test_the_seed_draws_columns_and_nothing_else(self) -> None:
        rows = table("numbers", 2, 200)
        for share, same in ((1.0, True), (0.3, False)):
            one, other = (HGB.train({"max_features": share}, rows, Alone(), seed).model.files() for seed in (0, 1))
            assert (one == other) == same

    def test_what_cannot_be_is_refused(self) -> None:
        rows = table("numbers", 2, 50)
        with pytest.raises(SpaceError, match="lambda_l1: the family hgb has no such HP"):
            HGB.score({"lambda_l1": 1.0}, rows, rows, "accuracy", 0)
        with pytest.raises(SpaceError, match="max_iter: must be at least 1"):
            HGB.train({"max_iter": 0}, rows, Alone(), 0)
