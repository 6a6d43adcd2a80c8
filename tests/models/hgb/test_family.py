import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

from flora.core.collective import Alone, Collective, Floats, Reduction
from flora.core.threads import in_step
from flora.errors import InputError, SpaceError
from flora.models import family_of
from flora.models.family import ModelFamily
from flora.models.hgb.edges import agree_on_edges
from flora.models.hgb.family import BoostedTrees, GradientBoosting, _binned, _categories, _on_raw_values, _params
from flora.models.rows import Rows
from flora.problem.schema import Column, Schema, Task
from flora.problem.space import Config, Value
from tests.conftest import PassesOn

HGB = GradientBoosting()
CLASSES = {"binary": (0, 1), "three": (0, 1, 2), "regression": ()}
KINDS = list(CLASSES)


def table(kind: str, rows: int = 900, seed: int = 0) -> Rows:
    """Rows with a categorical column (c3), a column of few values (c4), and missing values (c1, c3)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    X[:, 3], X[:, 4] = rng.integers(0, 7, rows), np.round(3 * X[:, 4])
    z = X[:, 0] + X[:, 1] ** 2 + 1.5 * np.isin(X[:, 3], [1, 4, 6]) + rng.normal(0, 0.3, rows)
    y = {"binary": (z > 1.5).astype(int), "three": np.digitize(z, [0.5, 2.0]), "regression": 10 * z + 100}[kind]
    X[rng.random(rows) < 0.1, 1], X[rng.random(rows) < 0.05, 3] = np.nan, np.nan
    columns = tuple(
        Column(f"c{k}", "categorical" if k == 3 else "numeric", tuple("abcdefg" * (k == 3))) for k in range(6)
    )
    task: Task = "regression" if kind == "regression" else "classification"
    return Rows(X, y, Schema("t", task, columns, CLASSES[kind]))


def skewed(rows: Rows, cuts: Sequence[int]) -> list[Rows]:
    """Parties by the target: each lacks classes, and the last is very small."""
    order = np.lexsort([rows.X[:, 0], rows.y])
    return [rows.take(index) for index in np.split(order, list(cuts))]


Wrap = Callable[[Collective], Collective]


def train(parts: Sequence[Rows], config: Config, wraps: Mapping[int, Wrap] | None = None) -> list[BoostedTrees]:
    def share(rank: int) -> Callable[[Collective], BoostedTrees]:
        wrap: Wrap = (wraps or {}).get(rank, lambda collective: collective)
        return lambda collective: HGB.train(config, parts[rank], wrap(collective), 0).model

    return in_step([share(rank) for rank in range(len(parts))])


def text(model: BoostedTrees) -> str:
    return model.files()["model.txt"].decode()


def raw_scores(model: BoostedTrees, X: Floats, trees: int) -> Floats:
    return np.asarray(model.booster.predict(X, raw_score=True, num_iteration=trees))


def plain_lightgbm(rows: Rows, config: Config) -> tuple[lgb.Booster, Floats]:
    """LightGBM's own serial training on the same bins, and the rows as these bins."""
    edges = agree_on_edges(rows.X, _categories(rows.schema), Alone())
    params = _params(config, rows.schema, 0)
    booster = lgb.Booster(params, _binned(rows, edges, params))
    for _ in range(params["num_iterations"]):
        booster.update()
    return booster, edges.bins(rows.X)


@dataclass(frozen=True)
class Watched(PassesOn):
    """A collective that notes shapes and sizes, may come late, and may break at a call."""

    inner: Collective
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    late: float = 0.0
    breaks_at: int | None = None

    def allreduce(self, values: Floats, reduction: Reduction = "sum") -> Floats:
        self.shapes.append(values.shape)
        self._before()
        return self.inner.allreduce(values, reduction)

    def allgather(self, data: bytes) -> Sequence[bytes]:
        self.sizes.append(len(data))
        self._before()
        return self.inner.allgather(data)

    def _before(self) -> None:
        calls = len(self.shapes) + len(self.sizes)
        if calls == self.breaks_at:
            raise ZeroDivisionError("a fault at one party")
        if calls % 7 == 0:
            time.sleep(self.late)


class TestAgainstPooled:
    def test_a_regression_is_lightgbm_on_the_pooled_rows_tree_by_tree(self) -> None:
        rows, config = table("regression"), {"max_iter": 30}
        model = train(skewed(rows, [550, 895]), config)[0]
        booster, binned = plain_lightgbm(rows, config)
        for trees in (1, 2, 10, 30):
            expected = booster.predict(binned, num_iteration=trees)
            assert raw_scores(model, rows.X, trees) == pytest.approx(expected, rel=1e-6)  # its start is of float32

    @pytest.mark.parametrize("kind", ["binary", "three"])
    def test_a_classifier_is_lightgbm_on_the_pooled_rows_tree_by_tree(self, kind: str) -> None:
        """Where min_samples_leaf does not bind: LightGBM's distributed learner estimates a leaf's rows for it."""
        rows, config = table(kind, 3000), {"max_iter": 30, "num_leaves": 4}
        model = train(skewed(rows, [1500, 2980]), config)[0]
        booster, binned = plain_lightgbm(rows, config)
        for trees in (1, 2, 10, 30):
            expected = booster.predict(binned, raw_score=True, num_iteration=trees)
            assert raw_scores(model, rows.X, trees) == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_does_not_matter_who_holds_which_rows(self, kind: str) -> None:
        rows, config = table(kind), {"max_iter": 15}
        one = train(skewed(rows, [550, 895]), config)[0]
        other = train([rows.take(np.arange(k, 900, 2)) for k in range(2)], config)[0]
        for trees in (2, 15):
            assert raw_scores(one, rows.X, trees) == pytest.approx(raw_scores(other, rows.X, trees), abs=1e-6)

    def test_held_out_accuracy_is_that_of_pooled_gradient_boosting(self) -> None:
        X, y = load_breast_cancer(return_X_y=True)
        columns = tuple(Column(f"c{k:02}", "numeric") for k in range(30))
        rows = Rows(X, y, Schema("t", "classification", columns, (0, 1)))
        held_out, rest = rows.take(np.arange(0, 569, 3)), rows.take(np.setdiff1d(np.arange(569), np.arange(0, 569, 3)))
        model = train(skewed(rest, [60, 200]), {"max_iter": 20})[0]
        pooled = HistGradientBoostingClassifier(max_iter=20).fit(rest.X, rest.y).score(held_out.X, held_out.y)
        assert pooled > 0.93
        assert (model.predict(held_out.X) == held_out.y).mean() >= pooled - 0.02


class TestTheModel:
    @pytest.mark.parametrize("kind", KINDS)
    def test_all_parties_get_the_same_bytes_whoever_comes_first(self, kind: str) -> None:
        parts, config = skewed(table(kind, 300), [150, 295]), {"max_iter": 3}
        lates: list[Mapping[int, Wrap]] = [{k: lambda inner: Watched(inner, late=0.001)} for k in range(3)]
        assert len({text(model) for wraps in lates for model in train(parts, config, wraps)}) == 1

    @pytest.mark.parametrize("kind", KINDS)
    def test_predictions_on_raw_values_are_those_on_bins(self, kind: str) -> None:
        rows = table(kind)
        edges = agree_on_edges(rows.X, _categories(rows.schema), Alone())
        booster, _ = plain_lightgbm(rows, {"max_iter": 20})
        model = BoostedTrees.from_text(_on_raw_values(booster.model_to_string(), edges, np.zeros(1)), rows.schema)
        on_edges = [[column[k % len(column)] if len(column) else 3 for column in edges.columns] for k in range(127)]
        unseen = np.vstack([1.5 * table(kind, seed=1).X, rows.X, on_edges])
        unseen[:, 3] = np.where(unseen[:, 3] % 1 == 0, unseen[:, 3], 99)  # a category that nobody has
        expected = booster.predict(edges.bins(unseen), raw_score=True)
        assert raw_scores(model, unseen, 20) == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("kind", KINDS)
    def test_files_bring_the_model_back(self, kind: str) -> None:
        rows = table(kind, 200)
        model = HGB.train({"max_iter": 5}, rows, Alone(), 0).model
        again = HGB.load(model.files(), rows.schema)
        assert again.files() == model.files()
        assert np.array_equal(again.predict(rows.X), model.predict(rows.X))
        assert np.array_equal(lgb.Booster(model_str=text(model)).predict(rows.X), model.booster.predict(rows.X))

    def test_classes_are_places_and_probabilities_sum_to_one(self) -> None:
        for kind, k in (("binary", 2), ("three", 3)):
            rows = table(kind, 300)
            model = HGB.train({"max_iter": 20}, rows, Alone(), 0).model
            probabilities = model.predict_proba(rows.X)
            assert probabilities is not None
            assert probabilities.shape == (300, k)
            assert probabilities.sum(axis=1) == pytest.approx(1)
            assert np.array_equal(model.predict(rows.X), probabilities.argmax(axis=1))
            assert (model.predict(rows.X) == rows.y).mean() > 0.9
        assert HGB.train({"max_iter": 2}, table("regression", 100), Alone(), 0).model.predict_proba(rows.X) is None

    def test_a_file_that_is_no_model_is_refused(self) -> None:
        schema = table("binary", 50).schema
        with pytest.raises(InputError, match=r"is in model.txt, got \['x'\]"):
            HGB.load({"x": b""}, schema)
        with pytest.raises(InputError, match="not a LightGBM model"):
            HGB.load({"model.txt": b"nonsense"}, schema)
        fewer = Schema("t", "classification", schema.columns[:2], (0, 1))
        with pytest.raises(InputError, match="the schema has 2 columns, the model 6"):
            HGB.load(HGB.train({"max_iter": 2}, table("binary", 50), Alone(), 0).model.files(), fewer)


class TestWhatLeavesAParty:
    def test_no_exchange_has_the_length_of_a_partys_rows(self) -> None:
        parts = skewed(table("three", 211 + 101 + 53), [211, 312])
        watched: list[Watched] = []

        def watch(inner: Collective) -> Collective:
            watched.append(Watched(inner))
            return watched[-1]

        train(parts, {"max_iter": 10}, dict.fromkeys(range(3), watch))
        for line in watched:
            assert line.shapes
            assert line.sizes
            assert not {211, 101, 53} & {length for shape in line.shapes for length in shape}
            assert not {n * width for n in (211, 101, 53) for width in (1, 4, 8)} & set(line.sizes)

    def test_the_model_holds_no_feature_value(self) -> None:
        rows = table("binary")
        numbers = re.findall(
            r"^(?:threshold|feature_infos)=(.*)$", text(train(skewed(rows, [550, 895]), {"max_iter": 20})[0]), re.M
        )
        found = {float(number) for line in numbers for number in re.split(r"[ \[\]:]+", line) if number}
        assert len(found) > 100
        assert not found & set(rows.X[:, [0, 1, 2, 5]].ravel())

    def test_the_model_tells_nothing_of_the_machine(self) -> None:
        found = text(HGB.train({"max_iter": 2}, table("binary", 100), Alone(), 0).model)
        assert "parameters" not in found
        assert "num_machines" not in found


@pytest.mark.parametrize("at", [1, 20, 60, 75, 200])
def test_a_party_that_fails_ends_the_training_for_all(at: int) -> None:
    parts = skewed(table("binary", 300), [100, 250])
    with pytest.raises(ZeroDivisionError, match="a fault at one party"):
        train(parts, {"max_iter": 50}, {1: lambda inner: Watched(inner, breaks_at=at)})


class TestDifficultRows:
    def agree(self, parts: Sequence[Rows], config: Config) -> BoostedTrees:
        models = train(parts, config)
        assert len({text(model) for model in models}) == 1
        assert HGB.load(models[0].files(), parts[0].schema).files() == models[0].files()
        return models[0]

    @pytest.mark.parametrize("kind", KINDS)
    def test_where_nothing_can_be_split_the_pooled_mean_is_predicted(self, kind: str) -> None:
        rows = table(kind, 60)
        model = self.agree(skewed(rows, [20, 55]), {"min_samples_leaf": 40})
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
        model = self.agree([rows.take(np.arange(0, 80, 2)), rows.take(np.arange(1, 80, 2))], {})
        assert np.array_equal(model.predict(X), rows.y)

    def test_fewer_columns_than_parties(self) -> None:
        X = np.random.default_rng(0).normal(size=(90, 1))
        rows = Rows(X, (X[:, 0] > 0.3).astype(int), Schema("t", "classification", (Column("a", "numeric"),), (0, 1)))
        model = self.agree([rows.take(index) for index in np.split(np.arange(90), [5, 40])], {"min_samples_leaf": 1})
        assert (model.predict(X) == rows.y).mean() > 0.95

    @pytest.mark.parametrize("n_categories", [1, 2, 99, 100, 101, 300, 1000])
    def test_every_category_and_every_bin_is_kept(self, n_categories: int) -> None:
        X = np.column_stack([np.zeros(2000), np.random.default_rng(0).normal(size=2000)])
        categories = tuple(f"{k:04}" for k in range(n_categories))
        columns = (Column("a", "categorical", categories), Column("b", "numeric"))
        rows = Rows(X, X[:, 1], Schema("t", "regression", columns))
        edges = agree_on_edges(X, _categories(rows.schema), Alone())
        dataset = _binned(rows, edges, _params({}, rows.schema, 0))
        assert dataset.feature_num_bin(0) == n_categories + 1  # and one for what is missing or unknown
        assert dataset.feature_num_bin(1) == len(edges.columns[1]) + 1 == 128

    def test_a_partys_missing_values_and_categories_may_be_its_own(self) -> None:
        rows = table("binary")
        strange = np.isnan(rows.X).any(axis=1) | (rows.X[:, 3] == 4)
        model = self.agree([rows.take(np.flatnonzero(strange)), rows.take(np.flatnonzero(~strange))], {"max_iter": 20})
        assert (model.predict(rows.X) == rows.y).mean() > 0.9


class TestScore:
    @pytest.mark.parametrize(("kind", "scoring"), [
        ("binary", "balanced_accuracy"), ("binary", "roc_auc"), ("three", "f1_macro"), ("three", "roc_auc_ovr"),
        ("three", "neg_log_loss"), ("regression", "r2"),
    ])  # fmt: skip
    def test_it_learns(self, kind: str, scoring: str) -> None:
        train_rows, test_rows = table(kind, 400), table(kind, 200, seed=1)
        config: Config = {"max_iter": 30}
        [(scored, score)] = HGB.score(config, train_rows, test_rows, scoring, 0)
        assert scored == config
        assert score > (-0.7 if scoring == "neg_log_loss" else 0.65)
        assert HGB.score(config, train_rows, test_rows, scoring, 0)[0][1] == score

    def test_it_is_lightgbms_classifier(self) -> None:
        train_rows, test_rows = table("three", 400), table("three", 200, seed=1)
        config = {"max_iter": 20, "learning_rate": 0.2, "min_samples_leaf": 7, "l2_regularization": 0.5}
        settings = {
            "n_estimators": 20,
            "learning_rate": 0.2,
            "min_child_samples": 7,
            "reg_lambda": 0.5,
            "min_data_per_group": 7,
        }
        same = lgb.LGBMClassifier(**settings, verbosity=-1, n_jobs=1, deterministic=True, force_col_wise=True)
        same.fit(train_rows.X, train_rows.y, categorical_feature=[3])
        expected = (same.booster_.predict(test_rows.X).argmax(axis=1) == test_rows.y).mean()
        assert HGB.score(config, train_rows, test_rows, "accuracy", 0)[0][1] == expected

    def test_a_class_may_be_absent_from_the_fold(self) -> None:
        rows = table("three", 60)
        train_rows = rows.take(np.flatnonzero(rows.y != 1))
        assert np.isfinite(HGB.score({}, train_rows, rows, "neg_log_loss", 0)[0][1])
        one_class = table("binary", 60)
        score = HGB.score({}, one_class.take(np.flatnonzero(one_class.y == 1)), one_class, "balanced_accuracy", 0)
        assert score[0][1] == 0.5


class TestHyperParameters:
    def test_the_space_is_the_papers(self) -> None:
        family: ModelFamily = family_of("hgb")
        space = family.space("classification")
        assert space.names == ("max_iter", "learning_rate", "min_samples_leaf", "l2_regularization")
        assert dict(space.default) == {
            "max_iter": 100, "learning_rate": 0.1, "min_samples_leaf": 20, "l2_regularization": 0,
        }  # fmt: skip

    def test_defaults_are_lightgbms(self) -> None:
        assert HGB.defaults(["num_leaves", "max_depth"], "regression") == {"num_leaves": 31, "max_depth": -1}
        with pytest.raises(SpaceError, match="unheard_of: the family hgb has no such HP"):
            HGB.defaults(["num_leaves", "unheard_of"], "regression")

    @pytest.mark.parametrize(("name", "value"), [
        ("num_leaves", 4), ("max_depth", 2), ("feature_fraction", 0.3), ("max_bins", 8), ("extra_trees", True),
        ("learning_rate", 1), ("max_iter", 3),
    ])  # fmt: skip
    def test_each_moves_the_model(self, name: str, value: Value) -> None:
        rows = table("regression", 200)
        default, moved = (HGB.train(config, rows, Alone(), 0).model for config in ({}, {name: value}))
        assert text(default) != text(moved)

    @pytest.mark.parametrize(("config", "message"), [
        ({"forcedbins_filename": "x"}, "forcedbins_filename: the family hgb has no such HP"),
        ({"max_iter": 10, "num_iterations": 20}, "names num_iterations twice"),
        ({"min_samples_leaf": 2.5}, "min_samples_leaf: must be of the type of its default 20, got 2.5"),
        ({"learning_rate": "fast"}, "learning_rate: must be of the type of its default 0.1, got 'fast'"),
    ])  # fmt: skip
    def test_what_cannot_be_is_refused(self, config: dict[str, Any], message: str) -> None:
        rows = table("binary", 50)
        with pytest.raises(SpaceError, match=message):
            HGB.score(config, rows, rows, "accuracy", 0)


def test_one_fit_scores_its_whole_path_as_fits_of_their_own_would() -> None:
    rows = table("binary", 300)
    train_rows, test_rows = rows.take(np.arange(200)), rows.take(np.arange(200, 300))
    config = {"max_iter": 12, "learning_rate": 0.3}
    path = [{**config, "max_iter": count} for count in (3, 40, 25)]
    scores = HGB.score(config, train_rows, test_rows, "roc_auc", 5, path)
    alone = [HGB.score(each, train_rows, test_rows, "roc_auc", 5)[0] for each in (config, *path)]
    assert list(scores) == alone
    assert len({score for _, score in scores}) > 1
