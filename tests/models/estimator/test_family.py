from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora.core.workers import one_thread
from flora.errors import DataError, InputError, SpaceError
from flora.models import family_of
from flora.models.encoding import fit_encoding
from flora.models.estimator.family import AnyEstimator, SoftVote
from flora.models.family import ModelFamily
from flora.models.rows import Rows
from flora.problem.family import space_of
from flora.problem.schema import Column, Schema, Task
from flora.randomness import derived_seed, stream

LOGISTIC = "sklearn.linear_model:LogisticRegression"
FOREST = "sklearn.ensemble:RandomForestClassifier"
TREE = "sklearn.tree:DecisionTreeClassifier"
RIDGE = "sklearn.linear_model:Ridge"


class Nested(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator with a part: HPs of the part go by part__name."""

    def __init__(self, part: Any = DecisionTreeClassifier(max_leaf_nodes=7)) -> None:  # noqa: B008
        self.part = part

    def fit(self, X: Any, y: Any) -> "Nested":
        self.part_ = self.part.fit(X, y)
        self.classes_ = self.part_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.part_.predict(X)


def made(n: int, *, task: Task = "classification", width: int = 4, classes: int = 2, seed: int = 0) -> Rows:
    """Rows whose first column decides the target, up to some noise."""
    rng = stream(seed, "rows")
    X = rng.random((n, width))
    signal = X[:, 0] + 0.3 * rng.random(n)
    columns = tuple(Column(f"x{k:02d}", "numeric") for k in range(width))
    if task == "regression":
        return Rows(X, signal, Schema("y", task, columns))
    y = (np.argsort(np.argsort(signal)) * classes // n).astype(np.int64)
    return Rows(X, y, Schema("y", task, columns, tuple(f"c{k}" for k in range(classes))))


def with_x(rows: Rows, X: Any) -> Rows:
    columns = tuple(Column(f"x{k:02d}", "numeric") for k in range(np.shape(X)[1]))
    return Rows(np.asarray(X, dtype=float), rows.y, Schema("y", rows.schema.task, columns, rows.schema.classes))


def together(name: str, parties: Sequence[Rows], config: Mapping[str, Any], seed: int = 0) -> list[SoftVote]:
    family = AnyEstimator.named(name)

    def share(rows: Rows) -> Any:
        def run(collective: Collective) -> SoftVote:
            with one_thread():  # as a party does: OpenMP's sums hang on the number of threads
                return family.train(config, rows, collective, seed).model

        return run

    with one_thread():
        return in_step([share(rows) for rows in parties])


def alone(name: str, rows: Rows, **config: Any) -> SoftVote:
    return AnyEstimator.named(name).train(config, rows, Alone(), 0).model


class TestNamed:
    def test_the_table_of_families_finds_it(self) -> None:
        family: ModelFamily = family_of(LOGISTIC)
        assert family.name == LOGISTIC
        assert family.tasks == {"classification"}
        assert AnyEstimator.named(RIDGE).tasks == {"regression"}

    @pytest.mark.parametrize(
        ("name", "part"),
        [
            ("sklearn.linear_model:", "package.module:Estimator"),
            (":Ridge", "package.module:Estimator"),
            ("sklearn.nowhere:Ridge", "cannot be imported"),
            ("..up:Ridge", "cannot be imported"),
            ("sklearn.linear_model:Rigde", "has no 'Rigde'"),
            ("sklearn.base:clone", "fit, predict and get_params"),
            ("sklearn.preprocessing:StandardScaler", "fit, predict and get_params"),
            ("sklearn.cluster:KMeans", "neither"),
            ("sklearn.multiclass:OneVsRestClassifier", "without arguments"),
            ("sklearn.semi_supervised:SelfTrainingClassifier", "without arguments"),
        ],
    )
    def test_what_is_no_estimator_is_refused(self, name: str, part: str) -> None:
        with pytest.raises(InputError) as caught:
            AnyEstimator.named(name)
        assert part in str(caught.value)
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_it_has_no_space_of_its_own_and_says_how_to_give_one(self) -> None:
        with pytest.raises(InputError, match=r"needs a search space \(--space FILE\)"):
            space_of(AnyEstimator.named(LOGISTIC), "classification")

    def test_the_note_says_that_it_is_a_vote(self) -> None:
        note = AnyEstimator.named(FOREST).note
        assert "soft vote" in note
        assert "not one model trained on all rows" in note


class TestDefaults:
    def test_are_the_constructors(self) -> None:
        found = AnyEstimator.named(FOREST).defaults(["n_estimators", "bootstrap", "criterion"], "classification")
        assert found == {"n_estimators": 100, "bootstrap": True, "criterion": "gini"}

    def test_reach_into_parts(self) -> None:
        found = AnyEstimator.named(f"{__name__}:Nested").defaults(["part__max_leaf_nodes"], "classification")
        assert found == {"part__max_leaf_nodes": 7}

    def test_an_unknown_name_is_refused_with_the_names_there_are(self) -> None:
        with pytest.raises(SpaceError, match=r"n_trees: is no parameter of .*RandomForest.*'n_estimators'"):
            AnyEstimator.named(FOREST).defaults(["n_trees"], "classification")

    def test_none_is_no_value_of_a_space(self) -> None:
        assert AnyEstimator.named(FOREST).defaults(["max_depth", "criterion"], "classification") == {
            "criterion": "gini"
        }


class TestScore:
    def test_is_scikit_learns_on_the_test_rows(self) -> None:
        rows, config = made(90), {"C": 0.5}
        train, test = rows.take(np.arange(60)), rows.take(np.arange(60, 90))
        [(asked, score)] = AnyEstimator.named(LOGISTIC).score(config, train, test, "balanced_accuracy", 3)
        encoding = fit_encoding(train, Alone())
        model = LogisticRegression(C=0.5).fit(encoding(train.X), train.y)
        assert asked == config
        assert score == balanced_accuracy_score(test.y, model.predict(encoding(test.X)))
        assert 0.5 < score < 1

    def test_the_seed_decides(self) -> None:
        rows, family = made(80, seed=1), AnyEstimator.named(FOREST)
        train, test = rows.take(np.arange(50)), rows.take(np.arange(50, 80))
        config = {"n_estimators": 3, "max_features": 1}
        scores = [family.score(config, train, test, "neg_log_loss", seed)[0][1] for seed in (0, 0, 1)]
        assert scores[0] == scores[1]
        assert scores[0] != scores[2]

    def test_a_fit_that_does_not_converge_is_no_warning(self) -> None:
        rows, config = made(80), {"max_iter": 1, "C": 1e6}
        AnyEstimator.named(LOGISTIC).score(config, rows, rows, "accuracy", 0)  # warnings are errors here

    def test_a_metric_without_a_value_is_no_warning(self) -> None:
        rows, config = made(80), {"strategy": "most_frequent"}
        AnyEstimator.named("sklearn.dummy:DummyClassifier").score(config, rows, rows, "precision_macro", 0)

    def test_a_config_that_the_estimator_refuses_fails_the_trial(self) -> None:
        with pytest.raises(ValueError, match="'C' parameter"):
            AnyEstimator.named(LOGISTIC).score({"C": -1.0}, made(40), made(40), "accuracy", 0)

    def test_parts_are_configured_and_the_shared_default_stays(self) -> None:
        family, rows = AnyEstimator.named(f"{__name__}:Nested"), made(80)
        one = family.score({"part__max_leaf_nodes": 2}, rows, rows, "accuracy", 0)[0][1]
        many = family.score({"part__max_leaf_nodes": 60}, rows, rows, "accuracy", 0)[0][1]
        assert one < many == 1.0
        assert Nested().part.max_leaf_nodes == 7
        assert not hasattr(Nested().part, "tree_")


class TestTrain:
    PARTIES = (made(47, classes=3), made(61, classes=3, seed=1), made(30, classes=3, seed=2))

    @pytest.mark.parametrize("name", [LOGISTIC, FOREST, "sklearn.ensemble:HistGradientBoostingClassifier"])
    def test_all_parties_have_the_same_bytes_also_in_a_second_run(self, name: str) -> None:
        config = {"n_estimators": 3} if "Forest" in name else {"max_iter": 3 if "Hist" in name else 100}
        runs = [together(name, self.PARTIES, config) for _ in range(2)]
        files = [dict(model.files()) for run in runs for model in run]
        assert all(found == files[0] for found in files)
        names = {"weights.json", "encoding.json", "party-000.skops", "party-001.skops", "party-002.skops"}
        assert set(files[0]) == names

    def test_the_seed_reaches_every_party(self) -> None:
        config = {"n_estimators": 2}
        one, other = (together(FOREST, self.PARTIES, config, seed)[0].files() for seed in (0, 1))
        assert all(one[f"party-00{k}.skops"] != other[f"party-00{k}.skops"] for k in range(3))

    def test_parties_with_equal_rows_draw_different_forests(self) -> None:
        rows = self.PARTIES[0]
        files = together(FOREST, [rows, rows], {"n_estimators": 2})[0].files()
        assert files["party-000.skops"] != files["party-001.skops"]

    def test_probabilities_are_the_weighted_mean(self) -> None:
        model = together(LOGISTIC, self.PARTIES, {"C": 2.0})[0]
        new = made(20, classes=3, seed=9)
        encoding = model.encoding
        own = [LogisticRegression(C=2.0).fit(encoding(p.X), p.y).predict_proba(encoding(new.X)) for p in self.PARTIES]
        expected = (47 * own[0] + 61 * own[1] + 30 * own[2]) / 138
        found = model.predict_proba(new.X)
        assert found is not None
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert model.predict(new.X).tolist() == expected.argmax(axis=1).tolist()
        assert np.mean(model.predict(new.X) == new.y) > 0.6

    def test_without_probabilities_the_heavier_side_wins(self) -> None:
        small, large = made(30), made(71)
        opposite = Rows(small.X, 1 - small.y, small.schema)
        model = together("sklearn.svm:LinearSVC", [opposite, large], {})[0]
        assert model.predict_proba(large.X) is None
        assert np.mean(model.predict(large.X) == large.y) > 0.85

    def test_numbers_are_averaged_by_rows(self) -> None:
        parties = [made(40, task="regression"), made(80, task="regression", seed=1)]
        model = together(RIDGE, parties, {"alpha": 0.3})[0]
        new, encoding = made(15, task="regression", seed=2), model.encoding
        own = [Ridge(alpha=0.3).fit(encoding(p.X), p.y).predict(encoding(new.X)) for p in parties]
        np.testing.assert_allclose(model.predict(new.X), (40 * own[0] + 80 * own[1]) / 120, atol=1e-12)
        assert model.predict_proba(new.X) is None

    def test_a_party_that_lacks_a_class_votes_zero_for_it(self) -> None:
        full = made(60, classes=3)
        partial = full.take(np.flatnonzero(full.y != 1))
        model = together("sklearn.naive_bayes:GaussianNB", [full, partial], {})[0]
        encoding = model.encoding
        first = GaussianNB().fit(encoding(full.X), full.y).predict_proba(encoding(full.X))
        second = GaussianNB().fit(encoding(partial.X), partial.y).predict_proba(encoding(full.X))
        found = model.predict_proba(full.X)
        assert found is not None
        np.testing.assert_allclose(found[:, 1], first[:, 1] * 0.6, atol=1e-12)
        np.testing.assert_allclose(found[:, 2], first[:, 2] * 0.6 + second[:, 1] * 0.4, atol=1e-12)

    def test_a_party_with_one_class_has_no_vote(self) -> None:
        rows = made(40)
        calm = rows.take(np.flatnonzero(rows.y == 0))
        model = together(LOGISTIC, [rows, calm], {})[0]
        assert model.rows == (40,)
        with pytest.raises(DataError, match="each party has one class only, and none has a model to vote with"):
            together(LOGISTIC, [calm, calm], {})

    def test_a_party_that_cannot_train_says_so(self) -> None:
        with pytest.raises(DataError, match=r"LogisticRegression: 40 rows of this party give no model: .*C"):
            together(LOGISTIC, [made(40)], {"C": -1.0})

    def test_an_unknown_parameter_is_the_spaces_error(self) -> None:
        with pytest.raises(SpaceError, match="depth: is no parameter"):
            alone(TREE, made(40), depth=3)

    def test_another_package_that_the_user_named_is_trusted(self) -> None:
        parties = [made(47), made(61, seed=1)]
        model = together("lightgbm.sklearn:LGBMClassifier", parties, {"n_estimators": 3})[0]
        again = AnyEstimator.named("lightgbm.sklearn:LGBMClassifier").load(model.files(), parties[0].schema)
        first, second = model.predict_proba(parties[0].X), again.predict_proba(parties[0].X)
        assert first is not None
        assert second is not None
        assert np.array_equal(first, second)


def test_the_seed_of_a_party_is_its_ranks() -> None:
    model = alone(FOREST, made(47), n_estimators=2).models[0]
    assert model.random_state == derived_seed(0, "fit", 0)
